import type { Resources } from '../../core/resources.ts'
import type { Quantity } from '../../core/values/quantity.ts'
import { labelPairs, labelText } from './gauge-family.ts'

/** Returns an amount in the unit of metrics: cores of CPU, bytes, pieces. */
export function amountOf({ nano }: Quantity): number {
  return Number(nano) / 1e9
}

const names = new Map<string, string>()

/** Returns a resource's label pair, such as `resource_type="ephemeral_storage"`. */
function resourceType(name: string): string {
  const known = names.get(name)
  if (known !== undefined) return known
  const text = labelPairs({ resource_type: name.toLowerCase().replaceAll('-', '_') })
  names.set(name, text)
  return text
}

/** Yields a sample for each resource of one object, whose other labels are `pairs`. */
export function* resourceSamples(pairs: string, amounts: Resources): Generator<readonly [string, number]> {
  for (const name in amounts) yield [labelText(pairs, resourceType(name)), amountOf(amounts[name] as Quantity)] as const
}
