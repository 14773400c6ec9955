import { Gauge, type Registry } from 'prom-client'
import type { NodeClass } from '../../../api/objects.ts'
import { capacityTypeOf, type InstanceType, zoneOf } from '../../../core/instance-type.ts'
import type { Quantity } from '../../../core/values/quantity.ts'
import { nextTurn } from '../../next-turn.ts'
import type { Catalogue } from './catalogue.ts'

type Observed = Pick<Catalogue, 'sizes' | 'prices' | 'instanceTypesFor'>

/** Metrics of what the region sells, by upstream's names, and of the age of that data. Computed on each scrape. */
export function observeCatalogue(
  {
    catalogue,
    nodeClasses,
    now,
  }: { readonly catalogue: Observed; readonly nodeClasses: () => Iterable<NodeClass>; readonly now: () => number },
  registry: Registry,
): void {
  observeTypes(() => [...nodeClasses()].map((nodeClass) => catalogue.instanceTypesFor(nodeClass)), registry)
  observePrices(catalogue, now, [registry])
  observeSizes(catalogue, now, [registry])
}

/**
 * Publishes types and offerings. There are thousands, and a list changes only when something about it does: until then nothing is set again. Each
 * of several node classes has its types; an offering that one of them can have is available.
 */
function observeTypes(lists: () => readonly (readonly InstanceType[])[], registry: Registry): void {
  let gauges = 0
  const gauge = (name: string, help: string, ...more: readonly string[]) => {
    const turns = gauges++
    return new Gauge({
      name: `karpenter_cloudprovider_instance_type_${name}`,
      help,
      labelNames: ['instance_type', ...more],
      registers: [registry],
      // Each is written out in a turn of the event loop of its own: together they would delay a launch for too long.
      async collect() {
        for (let turn = 0; turn < turns; turn++) await nextTurn()
        refresh()
      },
    })
  }
  let shown: readonly (readonly InstanceType[])[] = []
  function refresh(): void {
    const current = lists()
    if (current.length === shown.length && current.every((list, at) => list === shown[at])) return
    shown = current
    for (const one of [cores, memory, price, available]) one.reset()
    for (const type of current.flat()) {
      cores.set({ instance_type: type.name }, Number((type.capacity['cpu'] as Quantity).nano) / 1e9)
      memory.set({ instance_type: type.name }, Number((type.capacity['memory'] as Quantity).nano) / 1e9)
    }
    for (const { labels, offering } of offeringsOf(current.flat())) {
      price.set(labels, offering.price)
      available.set(labels, Number(offering.available))
    }
  }
  const cores = gauge('cpu_cores', 'vCPUs of an instance type.')
  const memory = gauge(
    'memory_bytes',
    'Memory of an instance type without what hypervisor and firmware keep, in bytes.',
  )
  const price = gauge('offering_price_estimate', 'Price of an offering in USD an hour.', 'capacity_type', 'zone')
  const available = gauge(
    'offering_available',
    'Whether an offering can be launched now: it is sold, was not refused of late, and there is quota.',
    'capacity_type',
    'zone',
  )
}

function offeringsOf(types: readonly InstanceType[]) {
  const found = new Map<string, { labels: Record<string, string>; offering: InstanceType['offerings'][number] }>()
  for (const { name, offerings } of types) {
    for (const offering of offerings) {
      const labels = { instance_type: name, capacity_type: capacityTypeOf(offering), zone: zoneOf(offering) }
      const key = `${name}/${labels.capacity_type}/${labels.zone}`
      if (found.get(key)?.offering.available !== true) found.set(key, { labels, offering })
    }
  }
  return found.values()
}

function observePrices({ prices }: Observed, now: () => number, registers: Registry[]): Gauge {
  const startedAt = now()
  return new Gauge({
    name: 'joiner_prices_age_seconds',
    help:
      'Age of the prices in use. Source list: this process read them; durable: they were kept from another or an earlier one; modelled: ' +
      'no price list was ever read, for so long. Region: whose prices they are.',
    labelNames: ['source', 'region'],
    registers,
    collect() {
      this.reset()
      const { answer } = prices
      if (answer === undefined) this.set({ source: 'modelled', region: '' }, (now() - startedAt) / 1000)
      else this.set({ source: answer.source, region: answer.value.region }, (now() - answer.readAtMs) / 1000)
    },
  })
}

function observeSizes({ sizes }: Observed, now: () => number, registers: Registry[]): Gauge {
  return new Gauge({
    name: 'joiner_catalogue_age_seconds',
    help: 'Age of the list of VM sizes in use; absent while there is none. Sources as for prices.',
    labelNames: ['source'],
    registers,
    collect() {
      this.reset()
      const { answer } = sizes
      if (answer !== undefined) this.set({ source: answer.source }, (now() - answer.readAtMs) / 1000)
    },
  })
}
