/** Used and allowed vCPUs of one family, from the region's compute usages. */
export interface FamilyUsage {
  readonly limit: number
  readonly current: number
}

interface UsageItem {
  readonly name?: { readonly value?: string }
  readonly limit: number
  readonly currentValue: number
}

/** The usages by family, in lower case. */
export function usagesByFamily(items: Iterable<UsageItem>): ReadonlyMap<string, FamilyUsage> {
  const usages = new Map<string, FamilyUsage>()
  for (const { name, limit, currentValue } of items) {
    if (name?.value !== undefined) usages.set(name.value.toLowerCase(), { limit, current: currentValue })
  }
  return usages
}

/** Whether a family's quota leaves room for so many vCPUs. A family without a usage has room (reference/azure-provider.md 3.9). */
export function hasQuota(usages: ReadonlyMap<string, FamilyUsage>, family: string, vCpus: number): boolean {
  const usage = usages.get(family.toLowerCase())
  return usage === undefined || vCpus <= usage.limit - usage.current
}
