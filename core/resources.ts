import {
  addQuantity,
  decimalText,
  formatQuantity,
  parseQuantity,
  type Quantity,
  subtractQuantity,
  zero,
} from './values/quantity.ts'
import { emptyRecord, entryOf } from './values/records.ts'

/** Amounts by resource name. A missing resource counts as zero. */
export type Resources = Readonly<Record<string, Quantity>>

export const noResources: Resources = {}

/** Parses amounts of an object. Errors: throws when an amount is not a quantity, naming it. */
export function parseResources(amounts: Readonly<Record<string, string | number>> | null | undefined): Resources {
  return Object.fromEntries(
    Object.entries(amounts ?? {}).map(([name, amount]) => {
      const parsed = parseQuantity(String(amount))
      if (parsed.kind === 'error') throw new Error(`resource "${name}": quantity "${amount}": ${parsed.message}`)
      return [name, parsed.quantity]
    }),
  )
}

/** Returns amounts in the form that objects hold. */
export function formatResources(amounts: Resources): Record<string, string> {
  return Object.fromEntries(Object.entries(amounts).map(([name, amount]) => [name, formatQuantity(amount)]))
}

/** Returns the sum, per resource. */
export function mergeResources(...lists: readonly Resources[]): Resources {
  const sum = emptyRecord<Quantity>()
  for (const list of lists) {
    for (const name in list) {
      const amount = list[name] as Quantity
      const before = sum[name]
      sum[name] = before === undefined ? amount : addQuantity(before, amount)
    }
  }
  return sum
}

/** Returns first - others, for the resources of the first. */
export function subtractResources(first: Resources, ...others: readonly Resources[]): Resources {
  const result = emptyRecord<Quantity>()
  for (const name in first) {
    let amount = first[name] as Quantity
    for (const other of others) {
      const part = entryOf(other, name)
      if (part !== undefined) amount = subtractQuantity(amount, part)
    }
    result[name] = amount
  }
  return result
}

/** Returns the larger amount, per resource. */
export function maxResources(...lists: readonly Resources[]): Resources {
  const result = emptyRecord<Quantity>()
  for (const list of lists) {
    for (const name in list) {
      const amount = list[name] as Quantity
      const before = result[name]
      if (before === undefined || amount.nano > before.nano) result[name] = amount
    }
  }
  return result
}

/** Returns the smaller amount, for the resources that every list has. */
export function minResources(...lists: readonly Resources[]): Resources {
  const [first, ...rest] = lists
  const result = emptyRecord<Quantity>()
  for (const name in first ?? {}) {
    let least = (first as Resources)[name] as Quantity
    const everywhere = rest.every((list) => {
      const amount = entryOf(list, name)
      if (amount !== undefined && amount.nano < least.nano) least = amount
      return amount !== undefined
    })
    if (everywhere) result[name] = least
  }
  return result
}

/** Whether `wanted` fits into `available`. Nothing fits into an amount below zero (reference/karpenter-core.md 3.11). */
export function fits(wanted: Resources, available: Resources): boolean {
  for (const name in available) if ((available[name] as Quantity).nano < 0n) return false
  for (const name in wanted) if ((wanted[name] as Quantity).nano > (entryOf(available, name) ?? zero).nano) return false
  return true
}

/** Returns why `usage` exceeds `limits`, for the first such resource by name; an unlimited resource never does (reference/karpenter-core.md 3.6). */
export function limitExcess(limits: Resources, usage: Resources): string | undefined {
  for (const name of Object.keys(usage).sort()) {
    const limit = entryOf(limits, name)
    const used = usage[name] as Quantity
    if (limit === undefined || used.nano <= limit.nano) continue
    return `resource usage exceeds limit (limit=${decimalText(limit)}, resource-name=${name}, usage=${decimalText(used)})`
  }
  return undefined
}
