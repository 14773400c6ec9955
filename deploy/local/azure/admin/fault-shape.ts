import type { z } from 'zod'
import { judged, numberFrom, problemOf, strictRecord, text } from '../../../../api/shapes/shape.ts'
import { matchFields } from '../catalogue/capacity-settings.ts'
import type { Fault } from './faults.ts'

type Shapes = Readonly<Record<string, z.ZodType>>

/** What a fault of any kind may say; the compiler sees that it is all of it. */
const common: Readonly<Record<keyof Fault, z.ZodType>> = {
  kind: text,
  match: strictRecord({ ...matchFields, image: text }),
  count: numberFrom(1),
  forMs: numberFrom(0),
  probability: numberFrom(0, 1),
  seed: numberFrom(0),
}

const coded = { code: text, message: text }

/** What each kind of fault says besides what all say; those named second are needed. */
const kinds: Readonly<Record<Fault['kind'], readonly [Shapes, readonly string[]]>> = {
  failSync: [{ ...coded, target: text, operation: text, status: numberFrom(400, 599) }, ['code']],
  throttle: [{ operation: text, retryAfterSeconds: numberFrom(0) }, ['retryAfterSeconds']],
  latency: [{ operation: text, ms: numberFrom(0) }, ['ms']],
  stallBody: [{ operation: text }, []],
  emptyList: [{ operation: text }, ['operation']],
  failAsync: [coded, ['code']],
  failExtension: [coded, ['code']],
  resetAfterCommit: [{}, []],
  neverJoins: [{}, []],
  evict: [{ afterMs: numberFrom(0) }, ['afterMs']],
  keepsNics: [{}, []],
}

/** A fault, as the admin endpoint and scenarios take it. */
export const faultShape = judged<Fault>((value) => {
  const kind = typeof value === 'object' && value !== null && 'kind' in value ? String(value.kind) : ''
  if (!Object.hasOwn(kinds, kind))
    return { path: ['kind'], value: kind, remedy: `use one of ${Object.keys(kinds).join(', ')}` }
  const [fields, needed] = kinds[kind as Fault['kind']]
  return problemOf(strictRecord<Shapes, string>({ ...common, ...fields }, needed), value)
})
