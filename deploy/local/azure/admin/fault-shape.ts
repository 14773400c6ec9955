import { type Checked, judged, numberFrom, problemOf, strictRecord, text } from '../../../../api/shapes/shape.ts'
import { matchFields } from '../catalogue/capacity-settings.ts'

/** Which VMs a fault hits. A request that names no VM size matches nothing of it. `image`: version of the node image. */
const match = strictRecord({ ...matchFields, image: text })

const common = {
  kind: text,
  match,
  /** How often it hits. Default 1; with a probability or a time, without end. */
  count: numberFrom(1),
  /** How long it hits, from when it was added. Default: until its count is used up. */
  forMs: numberFrom(0),
  /** How likely it hits what it matches, from 0 to 1. Default 1. */
  probability: numberFrom(0, 1),
  /** What the chances follow from: the same seed and the same requests give the same hits. Default 1. */
  seed: numberFrom(0),
} as const
const coded = { ...common, code: text, message: text } as const
/** Of faults that hit requests. Default: creates, and for `throttle` any request. */
const operation = text

const kinds = {
  /** The request is refused, by default with 409. `target`: field or resource that the refusal names beside its message. */
  failSync: strictRecord({ ...coded, target: text, operation, status: numberFrom(400, 599) }, ['code']),
  /** The request is answered with 429. */
  throttle: strictRecord({ ...common, operation, retryAfterSeconds: numberFrom(0) }, ['retryAfterSeconds']),
  /** The request is worked on so much later. */
  latency: strictRecord({ ...common, operation, ms: numberFrom(0) }, ['ms']),
  /** The request is worked on, and its answer stops in the middle of its body. */
  stallBody: strictRecord({ ...common, operation }),
  /** The list is answered with nothing in it; requests for a single resource pass. Its operation is such as `GET virtualMachines`. */
  emptyList: strictRecord({ ...common, operation }, ['operation']),
  /** The VM is accepted and then fails to be created. */
  failAsync: strictRecord(coded, ['code']),
  /** The deletion of the VM is accepted and then fails: the VM stays, and is off. */
  failDelete: strictRecord(coded, ['code']),
  /** The extension is accepted and then fails. */
  failExtension: strictRecord(coded, ['code']),
  /** The answer is lost after the VM was stored. */
  resetAfterCommit: strictRecord(common),
  /** The VM is created, and its kubelet never starts. */
  neverJoins: strictRecord(common),
  /** Azure takes the spot VM back so long after it was created. */
  evict: strictRecord({ ...common, afterMs: numberFrom(0) }, ['afterMs']),
  /** The VM's NICs stay when it goes. */
  keepsNics: strictRecord(common),
} as const

type Kinds = typeof kinds

export type Match = Checked<typeof match>
export type Fault = { [Kind in keyof Kinds]: Checked<Kinds[Kind]> & { readonly kind: Kind } }[keyof Kinds]

/** A fault, as the admin endpoint and scenarios take it. */
export const faultShape = judged<Fault>((value) => {
  const kind = typeof value === 'object' && value !== null && 'kind' in value ? String(value.kind) : ''
  if (!Object.hasOwn(kinds, kind))
    return { path: ['kind'], value: kind, remedy: `use one of ${Object.keys(kinds).join(', ')}` }
  return problemOf(kinds[kind as keyof Kinds], value)
})
