import type { Json } from '../../../activities/kubernetes/client/answers.ts'
import { coreWellKnownLabels } from '../../../core/requirements/labels.ts'

/** An object of a case, as the API would return it without its defaults. */
export interface ObjectInput {
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string } & Readonly<Record<string, unknown>>
  readonly spec?: Readonly<Record<string, unknown>>
  readonly status?: Readonly<Record<string, unknown>>
}

/** Adds what the API server would: UID and creation time. */
export function withDefaults(object: ObjectInput, now: string): Json {
  const { kind, metadata } = object
  const uid = `${kind}/${metadata.namespace ?? ''}/${metadata.name}`
  return { ...object, metadata: { uid, creationTimestamp: now, ...metadata } }
}

/** The label that names a reservation in the cases. */
const reservationIdLabel = 'karpenter.test.sh/reservation-id'

/** Returns the well-known labels of a case. */
export function featureLabels({
  wellKnownLabels = [],
}: {
  readonly wellKnownLabels?: readonly string[]
}): ReadonlySet<string> {
  return new Set([...coreWellKnownLabels, reservationIdLabel, ...wellKnownLabels])
}
