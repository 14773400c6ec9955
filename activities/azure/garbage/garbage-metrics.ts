import { Counter, Gauge, type Registry } from 'prom-client'

/** Kinds of garbage, as the metric names them. */
const garbageKinds = ['virtualMachine', 'networkInterface', 'disk', 'nodeClaim', 'node', 'aksMachine'] as const
export type GarbageKind = (typeof garbageKinds)[number]

/** Counts what garbage collection deleted. All kinds start at zero, so that an alert sees the first one. */
export function garbageCounter(registry: Registry): Counter<'resource'> {
  const name = 'joiner_garbage_collected_total'
  const existing = registry.getSingleMetric(name)
  if (existing !== undefined) return existing as Counter<'resource'>
  const counter = new Counter({
    name,
    help: 'Things that no lifecycle had cleaned up and garbage collection deleted: an alarm, should it rise.',
    labelNames: ['resource'],
    registers: [registry],
  })
  for (const resource of garbageKinds) counter.inc({ resource }, 0)
  return counter
}

/** Counts what the last pass left alone because its name does not prove that this cluster made it. */
export function unprovenGauge(registry: Registry): Gauge<'resource' | 'cause'> {
  const name = 'joiner_garbage_unproven'
  const existing = registry.getSingleMetric(name)
  if (existing !== undefined) return existing as Gauge<'resource' | 'cause'>
  return new Gauge({
    name,
    help: 'Unattached OS disks that look like those of a Joiner and are not proven to be of this cluster, by cause (otherCluster, malformed).',
    labelNames: ['resource', 'cause'],
    registers: [registry],
  })
}

/** Machines without a NodeClaim that the last pass kept since pods run there, and what each costs. */
export function withheldGauges(registry: Registry) {
  const gauge = (name: string, help: string) => {
    const existing = registry.getSingleMetric(name)
    if (existing !== undefined) return existing as Gauge<'kind' | 'name'>
    return new Gauge({ name, help, labelNames: ['kind', 'name'], registers: [registry] })
  }
  return {
    kept: gauge(
      'joiner_garbage_withheld',
      'Machines without a NodeClaim that the last pass of garbage collection kept since pods run on their Ready Nodes: 1 each.',
    ),
    costs: gauge(
      'joiner_garbage_withheld_usd_per_day',
      'What each machine that garbage collection keeps costs a day in USD; those without a known price are left out.',
    ),
  }
}
