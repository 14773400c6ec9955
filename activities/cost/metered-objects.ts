import { conditionOf, isTrue } from '../../core/conditions.ts'
import type { MeteredNode, MeteredPod } from '../../core/cost/meter.ts'
import { weightOf } from '../../core/cost/slice.ts'
import { nodePrice } from '../../core/disruption/costs.ts'
import { priceOfClaim } from '../../core/history/claim-facts.ts'
import { type InstanceType, typeNamed } from '../../core/instance-type.ts'
import type { Node, NodeClaim, Pod } from '../../core/objects.ts'
import { isTerminal, workloadOf } from '../../core/pods/pod-rules.ts'
import { annotations, labels } from '../../core/requirements/labels.ts'
import type { Resources } from '../../core/resources.ts'
import { entryOf } from '../../core/values/records.ts'
import { isUnknownPrice } from '../azure/catalogue/pricing.ts'
import { amountOf } from '../telemetry/resource-samples.ts'

/** Conditions have times in whole seconds. */
const secondMs = 1000
const gib = 2 ** 30
const gpuResources = ['nvidia.com/gpu', 'amd.com/gpu']

/** By NodePool. */
export type TypesOfPools = ReadonlyMap<string, readonly InstanceType[]>

/** Returns what a NodeClaim costs while it has a VM: the price of its launch, else that of now. Undefined when it has none. */
export function meteredNode(claim: NodeClaim, node: Node | undefined, types: TypesOfPools): MeteredNode | undefined {
  if (!isTrue(claim.status.conditions, 'Launched')) return undefined
  const own = claim.metadata.labels
  const nodePool = own[labels.nodePool] ?? ''
  const listed = nodePrice(own, typeNamed(types.get(nodePool) ?? [], own[labels.instanceType]))
  const price = priceOfClaim(claim).pricePerHour ?? listed
  const { nodeName } = claim.status
  return {
    ...(nodeName === undefined ? {} : { nodeName }),
    nodePool,
    capacityType: own[labels.capacityType] ?? '',
    ...(price > 0 && !isUnknownPrice(price) ? { pricePerHour: price } : {}),
    weight: weightOfResources(node?.allocatable ?? claim.status.allocatable),
  }
}

/** Returns since when a NodeClaim's VM costs, in epoch ms: by its annotation, else by its condition, which is later. */
export function launchedMs({ metadata, status }: NodeClaim, now: number): number {
  const acceptedMs = Date.parse(metadata.annotations[annotations.acceptedAt] ?? '')
  if (acceptedMs >= Date.parse(metadata.creationTimestamp) && acceptedMs <= now) return acceptedMs
  return timeOf(conditionOf(status.conditions, 'Launched')?.lastTransitionTime, now)
}

/** Returns when Azure accepted the deletion of a NodeClaim's VM, in epoch ms, by its condition, which is written later; undefined when it did not. */
export function deletionMs({ status }: NodeClaim, now: number): number | undefined {
  const terminating = conditionOf(status.conditions, 'InstanceTerminating')
  return terminating?.status === 'True' ? timeOf(terminating.lastTransitionTime, now) : undefined
}

/** Returns since when a pod is on its node. A change that is seen within a second is later than its condition says; of an older one the middle of its second is taken. */
export function boundMs(pod: Pod, now: number): number {
  const scheduled = conditionOf(pod.conditions, 'PodScheduled')
  return timeOf(scheduled?.status === 'True' ? scheduled.lastTransitionTime : pod.metadata.creationTimestamp, now)
}

function timeOf(text: string | undefined, now: number): number {
  const second = Date.parse(text ?? '')
  return Number.isNaN(second) || now - second < secondMs ? now : second + secondMs / 2
}

/** Returns what a pod holds of its node; undefined when it holds nothing. Requests hold until the pod has ended, also while it terminates. */
export function meteredPod(pod: Pod): MeteredPod | undefined {
  if (pod.nodeName === undefined || isTerminal(pod)) return undefined
  return { nodeName: pod.nodeName, workload: workloadOf(pod), weight: weightOfResources(pod.requests) }
}

function weightOfResources(amounts: Resources): number {
  const amount = (name: string) => Math.max(0, amountOf(entryOf(amounts, name) ?? none))
  return weightOf({
    cpu: amount('cpu'),
    memoryGib: amount('memory') / gib,
    gpus: gpuResources.reduce((sum, name) => sum + amount(name), 0),
  })
}

const none = { nano: 0n, format: 'DecimalSI' } as const
