import { Gauge, type Registry } from 'prom-client'
import type { Marks } from './mark.ts'
import type { Quota } from './quota.ts'
import type { Usage } from './quota-accounting.ts'

/** Returns whether a usage is of vCPUs: others are of virtual networks, for example. */
const isOfVCpus = (pool: string) => /cores$|family$/.test(pool)

/** Gauges of quota by family, in lower case, and of marks, which make offerings unavailable. Computed on each scrape. */
export function observeCapacity(
  { quota, unavailable }: { readonly quota: Quota; readonly unavailable: { readonly marks: Marks } },
  registry: Registry,
): void {
  const observe = (
    name: string,
    about: { readonly help: string; readonly labelNames: string[] },
    collect: (gauge: Gauge) => void,
  ) =>
    new Gauge({
      name,
      ...about,
      registers: [registry],
      collect() {
        this.reset()
        collect(this)
      },
    })
  const ofFamilies = (name: string, help: string, values: () => Iterable<readonly [string, number]>) =>
    observe(`joiner_quota_${name}_vcpus`, { help, labelNames: ['family'] }, (gauge) => {
      for (const [family, value] of values()) if (isOfVCpus(family)) gauge.set({ family }, value)
    })
  const counted = (pick: (usage: Usage) => number) => () =>
    [...quota.usages].map(([pool, usage]) => [pool, pick(usage)] as const)
  ofFamilies(
    'limit',
    'vCPUs that the subscription may have, by family and of the region.',
    counted(({ limit }) => limit),
  )
  ofFamilies(
    'used',
    'vCPUs that the subscription has, by the last count of Azure.',
    counted(({ current }) => current),
  )
  ofFamilies('in_flight', 'vCPUs that NodeClaims took or gave back since that count.', () => quota.inFlight)
  const help = 'Sizes that Azure refused and that are left out, by zone and capacity type; all spot counts as one.'
  observe('joiner_unavailable_offerings', { help, labelNames: ['capacity_type', 'reason'] }, (gauge) => {
    for (const mark of unavailable.marks.values()) {
      if (mark.kind === 'family' || mark.kind === 'image' || mark.kind === 'class') continue
      const types =
        mark.kind === 'size' ? ['on-demand', 'spot'] : [mark.kind === 'allSpot' ? 'spot' : mark.capacityType]
      for (const type of types) gauge.inc({ capacity_type: type, reason: mark.reason })
    }
  })
}
