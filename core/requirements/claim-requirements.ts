import { refusedKey } from '../node-claim/claim-keys.ts'
import { shortened } from '../values/texts.ts'
import { labelValueErrors, qualifiedNameErrors } from './label-syntax.ts'
import { labels } from './labels.ts'
import { describe, type Requirement } from './requirement.ts'
import type { Requirements } from './requirements.ts'

/** Most entries in `spec.requirements` that a NodeClaim's CRD accepts. */
const maxEntries = 100
/** Bytes of all keys and values. etcd takes objects of 1.5 MiB, and a NodeClaim holds more than its requirements. */
const maxBytes = 700_000

/** Requirements of planning that are never written into a NodeClaim. */
export const neverWritten: ReadonlySet<string> = new Set([labels.hostname, labels.registered, labels.initialized])

/** Why no NodeClaim can be created with requirements. `why`: the error of the one requirement. */
export type Unclaimable =
  | { readonly kind: 'requirement'; readonly requirement: Requirement; readonly why: string }
  | { readonly kind: 'entries' | 'bytes'; readonly count: number }

/** Returns why no NodeClaim can be created, with the remedy. */
export function unclaimableText(found: Unclaimable): string {
  switch (found.kind) {
    case 'requirement':
      return `requirement ${shortened(describe(found.requirement))}: ${found.why}`
    case 'entries':
      return `${found.count} requirements, and a NodeClaim holds at most ${maxEntries}; ask for fewer labels`
    case 'bytes':
      return `requirements of ${found.count} bytes, and a NodeClaim holds at most ${maxBytes}; list fewer values`
  }
}

/**
 * Returns why no NodeClaim can be created with these requirements, though an existing node may fulfil each of them; undefined when one can. The CRD
 * refuses a key, a value is no label value, or there are too many of them. A pod's requirements reach a NodeClaim through its node selector, its node
 * affinity and its volumes.
 */
export function unclaimable(sets: Requirements): Unclaimable | undefined {
  const written = [...sets.values()].filter(({ key }) => !neverWritten.has(key))
  for (const requirement of written) {
    const why = unclaimableBecause(requirement)
    if (why !== undefined) return { kind: 'requirement', requirement, why }
  }
  // The planner adds these two where they are missing.
  const added = [labels.instanceType, labels.capacityType].filter((key) => !sets.has(key)).length
  const entries = written.reduce((sum, set) => sum + entriesOf(set), added)
  if (entries > maxEntries) return { kind: 'entries', count: entries }
  const bytes = written.reduce((sum, set) => sum + bytesOf(set), 0)
  return bytes > maxBytes ? { kind: 'bytes', count: bytes } : undefined
}

function unclaimableBecause({ key, values, gte, lte }: Requirement): string | undefined {
  const refused = refusedKey(key)
  if (refused !== undefined) return `${refused}, so no NodeClaim can ask for it; select nodes by another label`
  const keyError = qualifiedNameErrors(key)[0]
  if (keyError !== undefined) return `the key is no label key, ${keyError}`
  if ((gte ?? 0n) < 0n || (lte ?? 0n) < 0n) return 'no label value is below 0; ask for a number from 0 on'
  for (const value of values) {
    const error = labelValueErrors(value)[0]
    if (error !== undefined) return `${JSON.stringify(shortened(value))} is no label value, ${error}`
  }
  return undefined
}

/** Counts entries as `serialize` writes them: each bound is an entry. */
function entriesOf({ gte, lte }: Requirement): number {
  return Math.max(1, Number(gte !== undefined) + Number(lte !== undefined))
}

function bytesOf({ key, values }: Requirement): number {
  let bytes = key.length
  // Adds a value's quotes and a comma.
  for (const value of values) bytes += value.length + 3
  return bytes
}
