import { createHash } from 'node:crypto'
import { serialize } from 'node:v8'
import type { CachedObject } from '../kubernetes/cache/cached-kinds.ts'
import { podFingerprint } from './pod-fingerprint.ts'

/** Returns a short text that is the same as long as the spec of an object is; for pods also the same for all of one shape. */
export function objectFingerprint(object: CachedObject): string {
  if (object.kind === 'Pod') return podFingerprint(object)
  const { metadata, ...rest } = object
  const { uid, labels, annotations } = metadata
  const spec = Object.entries(rest).filter(([field]) => field !== 'status' && field !== 'conditions')
  return createHash('sha256')
    .update(serialize([uid, labels, annotations, spec]))
    .digest('hex')
    .slice(0, 16)
}
