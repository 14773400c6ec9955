import { isUnknownPrice } from '../../../activities/azure/catalogue/pricing.ts'
import type { Pod, RequirementSpec } from '../../../core/objects.ts'
import { podName } from '../../../core/pods/pod-rules.ts'

/** Whether it is the price of what it stands for, and not one for a price that is not known. */
export const isPriced = (pricePerHour: number) => !isUnknownPrice(pricePerHour)

export const podNames = (pods: readonly Pod[]) => pods.map(podName).sort()

/** The values that a claim leaves open for a label; empty: it says nothing of it. */
export function valuesFor(requirements: readonly RequirementSpec[], key: string): readonly string[] {
  return requirements.find((one) => one.key === key && one.operator === 'In')?.values ?? []
}
