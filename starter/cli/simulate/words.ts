import { isUnknownPrice } from '../../../activities/azure/catalogue/pricing.ts'
import type { Pod, RequirementSpec } from '../../../core/objects.ts'
import { podName } from '../../../core/pods/pod-rules.ts'
import { printable } from '../../../core/values/printable.ts'

/** Hours of a month, as clouds count them in their price lists. */
export const hoursOfMonth = 730

/** `1,234.50`. */
export function monthly(pricePerHour: number): string {
  return (pricePerHour * hoursOfMonth).toFixed(2).replace(/\B(?=(\d{3})+(?!\d))/g, ',')
}

/** Whether it is the price of what it stands for, and not one for a price that is not known. */
export const isPriced = (pricePerHour: number) => !isUnknownPrice(pricePerHour)

export function counted(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? '' : 's'}`
}

/** A few of many names, which anybody may have chosen. */
export function few(names: readonly string[], most: number): string {
  const shown = names.slice(0, most).map(printable).join(', ')
  return names.length <= most ? shown : `${shown} and ${names.length - most} more`
}

export const podNames = (pods: readonly Pod[]) => pods.map(podName).sort()

/** The values that a claim leaves open for a label; empty: it says nothing of it. */
export function valuesFor(requirements: readonly RequirementSpec[], key: string): readonly string[] {
  return requirements.find((one) => one.key === key && one.operator === 'In')?.values ?? []
}
