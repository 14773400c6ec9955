import type { CapacityGroups } from '../reservations/capacity-groups.ts'
import { ArmError } from '../server/arm-error.ts'
import type { SimulatorConfig } from '../server/config.ts'
import type { VmUsage } from '../virtual-machines/vm-usage.ts'
import type { SkuCatalogue, VmSize } from './sku-catalogue.ts'

const regional = 'cores'
/** The quota that spot VMs count against, instead of their family's and the region's. */
const spot = 'lowPriorityCores'
const vmCount = 'virtualMachines'
const defaults: Readonly<Record<string, number>> = { [regional]: 100_000, [spot]: 100_000, [vmCount]: 25_000 }
const familyDefault = 50_000

const called: Readonly<Record<string, string>> = {
  [regional]: 'Total Regional vCPUs',
  [spot]: 'Total Regional Spot vCPUs',
  [vmCount]: 'Virtual Machines',
}

/** `standardDSv5Family` as the portal calls it: `Standard DSv5 Family vCPUs`. */
function familyName(value: string): string {
  const [, family] = /^standard(.+)Family$/i.exec(value) ?? []
  return family === undefined ? value : `Standard ${family.trim()} Family vCPUs`
}

interface QuotaDeps {
  readonly config: Pick<SimulatorConfig, 'quotas' | 'location'>
  readonly catalogue: SkuCatalogue
  readonly usage: VmUsage
  readonly capacityGroups: Pick<CapacityGroups, 'unused'>
}

/** vCPU quotas of the subscription in its region. A VM counts from its PUT to its end, deallocated or failed as it may be. */
export class Quotas {
  readonly #deps: QuotaDeps

  constructor(deps: QuotaDeps) {
    this.#deps = deps
  }

  /** Errors: 409 OperationNotAllowed with the words by which clients tell the quotas apart. */
  check(size: VmSize, isSpot: boolean): void {
    const quotas = isSpot
      ? [{ name: spot, called: 'LowPriorityCores' }]
      : [
          { name: size.family, called: `${size.family} Cores` },
          { name: regional, called: 'Total Regional Cores' },
        ]
    const used = this.#used()
    for (const { name, called } of quotas) {
      const [limit, current] = [this.#limit(name), used.get(name.toLowerCase()) ?? 0]
      if (current + size.vCpus > limit) throw this.#exceeded(called, { limit, current, more: size.vCpus })
    }
  }

  /** As `GET .../usages` lists them. */
  get items(): readonly Record<string, unknown>[] {
    const used = this.#used()
    return [regional, spot, vmCount, ...this.#deps.catalogue.families].map((value) => ({
      unit: 'Count',
      limit: this.#limit(value),
      currentValue: used.get(value.toLowerCase()) ?? 0,
      name: { value, localizedValue: called[value] ?? familyName(value) },
    }))
  }

  #limit(name: string): number {
    const wanted = name.toLowerCase()
    const set = Object.entries(this.#deps.config.quotas ?? {}).find(([quota]) => quota.toLowerCase() === wanted)
    return set?.[1] ?? defaults[name] ?? familyDefault
  }

  /** By quota in lower case. */
  #used(): ReadonlyMap<string, number> {
    const used = new Map<string, number>()
    const add = (name: string, count: number) =>
      used.set(name.toLowerCase(), (used.get(name.toLowerCase()) ?? 0) + count)
    for (const { sku, capacityType, existing } of this.#deps.usage.entries) {
      const size = this.#deps.catalogue.size(sku)
      if (size === undefined) continue
      add(vmCount, existing)
      for (const name of capacityType === 'spot' ? [spot] : [size.family, regional]) add(name, existing * size.vCpus)
    }
    // A capacity reservation counts as a whole, used or not.
    for (const { sku, free } of this.#deps.capacityGroups.unused) {
      const size = this.#deps.catalogue.size(sku)
      if (size !== undefined) for (const name of [size.family, regional]) add(name, free * size.vCpus)
    }
    return used
  }

  /** All in vCPUs. */
  #exceeded(
    called: string,
    { limit, current, more }: Readonly<Record<'limit' | 'current' | 'more', number>>,
  ): ArmError {
    return new ArmError(
      409,
      'OperationNotAllowed',
      `Operation could not be completed as it results in exceeding approved ${called} quota. Additional details - Deployment Model: Resource Manager, Location: ${this.#deps.config.location}, Current Limit: ${limit}, Current Usage: ${current}, Additional Required: ${more}, (Minimum) New Limit Required: ${current + more}. Submit a request for Quota increase at https://aka.ms/ProdportalCRP by specifying parameters listed in the 'Details' section for deployment to succeed.`,
    )
  }
}
