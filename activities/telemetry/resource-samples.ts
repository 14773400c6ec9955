import type { Resources } from '../../core/resources.ts'
import type { Quantity } from '../../core/values/quantity.ts'
import { labelPairs, labelText } from './gauge-family.ts'

/** Returns an amount in the unit of metrics: cores of CPU, bytes, pieces. */
export function amountOf({ nano }: Quantity): number {
  return Number(nano) / 1e9
}

/** Yields a sample for each resource of one object, whose other labels are `pairs`. */
export type ResourceSamples = (pairs: string, amounts: Resources) => Generator<readonly [string, number]>

/** Makes the samples of one scrape: a hundred thousand in a large cluster, with the names of some ten resources, which are written once. */
export function resourceSamples(): ResourceSamples {
  const types = new Map<string, string>()
  /** Returns a resource's label pair, such as `resource_type="ephemeral_storage"`. */
  const typeOf = (name: string) => {
    const known = types.get(name)
    if (known !== undefined) return known
    const text = labelPairs({ resource_type: name.toLowerCase().replaceAll('-', '_') })
    types.set(name, text)
    return text
  }
  return function* (pairs, amounts) {
    for (const name in amounts) yield [labelText(pairs, typeOf(name)), amountOf(amounts[name] as Quantity)] as const
  }
}
