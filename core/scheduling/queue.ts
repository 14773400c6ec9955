import type { Pod } from '../objects.ts'
import { compareQuantity, type Quantity, zero } from '../quantity.ts'

/** The order in which pods are placed: more cpu, more memory, older, lower UID (reference/karpenter-core.md 3.3). */
export function inQueueOrder(pods: readonly Pod[]): Pod[] {
  const amount = (pod: Pod, name: string): Quantity => pod.requests[name] ?? zero
  return pods
    .map((pod) => ({ pod, created: Date.parse(pod.metadata.creationTimestamp) }))
    .sort(
      (a, b) =>
        compareQuantity(amount(b.pod, 'cpu'), amount(a.pod, 'cpu')) ||
        compareQuantity(amount(b.pod, 'memory'), amount(a.pod, 'memory')) ||
        a.created - b.created ||
        (a.pod.metadata.uid < b.pod.metadata.uid ? -1 : a.pod.metadata.uid > b.pod.metadata.uid ? 1 : 0),
    )
    .map(({ pod }) => pod)
}
