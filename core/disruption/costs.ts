import { capacityTypeOf, type InstanceType, typeNamed, zoneOf } from '../instance-type.ts'
import type { Pod } from '../objects.ts'
import { labels } from '../requirements/labels.ts'

/** Cost of disrupting a node before its pods are counted. */
const baseDisruptionCost = 1

const disruptionCostAnnotation = 'karpenter.sh/disruption-cost'
const podDeletionCostAnnotation = 'controller.kubernetes.io/pod-deletion-cost'
const greatest = 10

/**
 * Returns the cost of evicting a pod, from -10 to 10, 1 by default. Annotations that are no 32-bit integer count as zero; the first one decides even
 * then (reference/karpenter-core.md 4.3, reference/karpenter-1.15.md 4.3). `deletionCosts`: whether the cost that ReplicaSets use counts as well,
 * which is so unless another party manages it.
 */
export function evictionCost({ metadata, priority = 0 }: Pod, deletionCosts = true): number {
  const own = metadata.annotations[disruptionCostAnnotation]
  const text = own ?? (deletionCosts ? metadata.annotations[podDeletionCostAnnotation] : undefined)
  const cost = 1 + (int32(text) ?? 0) / 2 ** 27 + priority / 2 ** 25
  return Math.min(greatest, Math.max(-greatest, cost))
}

function int32(text: string | undefined): number | undefined {
  if (text === undefined || !/^[+-]?[0-9]+$/.test(text)) return undefined
  const value = Number(text)
  return value >= -(2 ** 31) && value < 2 ** 31 ? value : undefined
}

/** Returns the cost of moving a node's pods: at least 1, since pods with a negative cost do not reduce it (reference/karpenter-core.md 4.3). */
export function rescheduleCost(pods: readonly Pod[], deletionCosts = true): number {
  return pods.reduce((sum, pod) => sum + Math.max(0, evictionCost(pod, deletionCosts)), baseDisruptionCost)
}

type NodeLabels = Readonly<Record<string, string>>

/** Returns a node's price by what its NodePool can buy now, in USD an hour; 0 when unknown. `instanceTypes`: by NodePool. */
export function priceNow(own: NodeLabels, instanceTypes: ReadonlyMap<string, readonly InstanceType[]>): number {
  const types = instanceTypes.get(own[labels.nodePool] ?? '') ?? []
  return nodePrice(own, typeNamed(types, own[labels.instanceType]))
}

/** Returns a node's price in USD an hour: that of its type in its zone and capacity type, sold out or not; 0 when unknown. */
export function nodePrice(own: NodeLabels, type: InstanceType | undefined): number {
  const [zone, capacityType] = [own[labels.zone] ?? '', own[labels.capacityType] ?? '']
  const found = type?.offerings.find((one) => zoneOf(one) === zone && capacityTypeOf(one) === capacityType)
  return found === undefined || Number.isNaN(found.price) ? 0 : found.price
}
