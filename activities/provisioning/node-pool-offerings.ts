import { Gauge, type Registry } from 'prom-client'
import { compatibleOfferings, type InstanceType, isLaunchable, typeMatches } from '../../core/instance-type.ts'
import { templateRequirements } from '../../core/node-pool/node-claim-template.ts'
import type { NodePool } from '../../core/objects.ts'
import { nextTurn } from '../next-turn.ts'

/** NodePools and what each can buy. */
interface OfferingsOfPools {
  readonly nodePools: () => Iterable<NodePool>
  /** By NodePool; the same arrays until something changes. */
  readonly instanceTypes: () => ReadonlyMap<string, readonly InstanceType[]>
}

interface Counted {
  readonly types: readonly InstanceType[]
  readonly launchable: number
}

/**
 * Publishes how many offerings (a size in a zone with a capacity type) each NodePool could launch now: sold, allowed by the pool, not refused of
 * late and with quota. 0: its pods get no node. Computed on a scrape after something changed, each pool in a turn of the event loop of its own.
 */
export function observePoolOfferings({ nodePools, instanceTypes }: OfferingsOfPools, registry: Registry): Gauge {
  const counted = new WeakMap<NodePool, Counted>()
  return new Gauge({
    name: 'joiner_nodepools_launchable_offerings',
    help: 'Offerings (size, zone, capacity type) that a NodePool allows and that can be launched now.',
    labelNames: ['nodepool'],
    registers: [registry],
    async collect() {
      const values = new Map<string, number>()
      for (const [name, types] of instanceTypes()) {
        const pool = [...nodePools()].find(({ metadata }) => metadata.name === name)
        if (pool === undefined) continue
        let count = counted.get(pool)
        if (count?.types !== types) {
          await nextTurn()
          count = { types, launchable: launchableOfferings(pool, types) }
          counted.set(pool, count)
        }
        values.set(name, count.launchable)
      }
      this.reset()
      for (const [nodepool, launchable] of values) this.set({ nodepool }, launchable)
    },
  })
}

function launchableOfferings({ metadata, template }: NodePool, types: readonly InstanceType[]): number {
  const wanted = templateRequirements({
    nodePool: metadata.name,
    labels: template.labels,
    nodeClassRef: template.spec.nodeClassRef,
    requirements: template.spec.requirements,
  })
  let count = 0
  for (const type of types)
    if (typeMatches(type, wanted)) count += compatibleOfferings(type, wanted).filter(isLaunchable).length
  return count
}
