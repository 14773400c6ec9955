import type { Json } from '../../../../activities/kubernetes/client/answers.ts'
import type { LabelSelector } from '../../../../core/objects.ts'
import { timeText } from '../../../../core/values/time.ts'
import { metaOf, type OwnerReference } from '../api/objects.ts'

/** Objects as controllers look at them. */

export interface PodTemplate {
  readonly metadata?: { readonly labels?: Readonly<Record<string, string>>; readonly annotations?: Json }
  readonly spec?: Json
}

export interface ConditionJson {
  readonly type: string
  readonly status: string
  readonly reason?: string
  readonly message?: string
  readonly lastTransitionTime?: string
  readonly lastHeartbeatTime?: string
}

export interface TaintJson {
  readonly key: string
  readonly value?: string
  readonly effect: string
  readonly timeAdded?: string
}

export interface WorkloadSpec {
  readonly replicas?: number
  readonly selector?: LabelSelector
  readonly template: PodTemplate
}

export const specOf = (object: Json) => (object['spec'] ?? {}) as Json
export const statusOf = (object: Json) => (object['status'] ?? {}) as Json
export const conditionsOf = (object: Json) =>
  (statusOf(object) as { readonly conditions?: readonly ConditionJson[] }).conditions ?? []
export const conditionOf = (object: Json, type: string) => conditionsOf(object).find((one) => one.type === type)
export const isReady = (object: Json) => conditionOf(object, 'Ready')?.status === 'True'
export const isDeleting = (object: Json) => metaOf(object).deletionTimestamp !== undefined
export const phaseOf = (pod: Json) => (statusOf(pod) as { readonly phase?: string }).phase ?? 'Pending'
export const hasEnded = (pod: Json) => ['Succeeded', 'Failed'].includes(phaseOf(pod))
export const isActive = (pod: Json) => !hasEnded(pod) && !isDeleting(pod)
export const nodeNameOf = (pod: Json) => (specOf(pod) as { readonly nodeName?: string }).nodeName

/** The reference by which an object controls others. */
export const ownerRef = ({ apiVersion, kind, ...object }: Json): OwnerReference => ({
  apiVersion: String(apiVersion),
  kind: String(kind),
  name: metaOf(object).name,
  uid: metaOf(object).uid,
  controller: true,
  blockOwnerDeletion: true,
})

export const controllerOf = (object: Json) =>
  metaOf(object).ownerReferences?.find(({ controller }) => controller === true)

/** Objects by the UID of their controller of a kind. */
export function byController(objects: readonly Json[], kind: string): ReadonlyMap<string, readonly Json[]> {
  const found = new Map<string, Json[]>()
  for (const object of objects) {
    const owner = controllerOf(object)
    if (owner?.kind !== kind) continue
    const key = `${metaOf(object).namespace ?? ''}/${owner.uid}`
    const own = found.get(key) ?? []
    found.set(key, own)
    own.push(object)
  }
  return found
}

export const ownKey = (object: Json) => `${metaOf(object).namespace ?? ''}/${metaOf(object).uid}`

/** Conditions with this one in place of that of its type. The time of its transition moves with its status alone. */
export function withCondition(all: readonly ConditionJson[], condition: ConditionJson): readonly ConditionJson[] {
  const before = all.find(({ type }) => type === condition.type)
  const time = before?.status === condition.status ? before.lastTransitionTime : undefined
  const own = { ...condition, lastTransitionTime: time ?? condition.lastTransitionTime ?? now() }
  return before === undefined ? [...all, own] : all.map((one) => (one === before ? own : one))
}

export const now = () => timeText(Date.now())
