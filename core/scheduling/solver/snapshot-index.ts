import { minValues } from '../../instance-type.ts'
import type { Taint } from '../../objects.ts'
import { labels, wellKnownLabels } from '../../requirements/labels.ts'
import { merge, requirements } from '../../requirements/requirements.ts'
import { entryOf } from '../../values/records.ts'
import { compareText } from '../../values/texts.ts'
import { keep, membersOf } from '../offerings/bits.ts'
import { type PoolContext, PoolFacts } from '../offerings/pool-facts.ts'
import { type RequirementSets, withoutHostname } from '../offerings/requirement-sets.ts'
import { Reservations } from '../reservations.ts'
import type { NodeFacts, SchedulableNode, SchedulingOptions, SchedulingSnapshot } from '../snapshot.ts'
import type { CountedNode } from '../topology/label-facts.ts'
import { TopologyBase } from '../topology/topology-base.ts'
import type { SolverMemory } from './memory.ts'
import type { NodePlace } from './places.ts'

/** Returns every pool, in the order of attempts. */
export function indexPools(
  { nodePools, daemonSets }: SchedulingSnapshot,
  { minValuesPolicy }: SchedulingOptions,
  context: Omit<PoolContext, 'daemonSets'>,
): readonly PoolFacts[] {
  const relaxed = minValuesPolicy === 'BestEffort'
  return [...nodePools]
    .sort(
      (a, b) =>
        b.nodePool.weight - a.nodePool.weight || compareText(b.nodePool.metadata.name, a.nodePool.metadata.name),
    )
    .map(
      (option) =>
        new PoolFacts(
          option,
          (index, set) => {
            const slots = index.matching(set).slice()
            keep(slots, index.sound)
            const types = index.typesOf(slots).slice()
            const found = membersOf(types).map((type) => index.types[type] as (typeof index.types)[number])
            const short = set.hasMinValues && minValues(found, set.map).unsatisfied.size > 0
            return short && !relaxed ? types.fill(0) : types
          },
          { ...context, daemonSets },
        ),
    )
}

/** Returns topology with the running pods. */
export function indexTopology(
  { nodes, occupied = [], namespaceLabels = new Map() }: SchedulingSnapshot,
  { preferencePolicy }: SchedulingOptions,
  {
    sets,
    memory,
    pools,
  }: { readonly sets: RequirementSets; readonly memory: SolverMemory; readonly pools: readonly PoolFacts[] },
): IndexedTopology {
  const counted = (one: Omit<CountedNode, 'name' | 'set' | 'labels' | 'taints'> & { readonly facts: NodeFacts }) => {
    const { facts, ...rest } = one
    return { ...facts, ...rest, set: sets.ofLabels(facts.labels) }
  }
  const places = new Map(
    nodes.map((node) => {
      const { joined, name, taints, pods } = node
      const { repelling } = memory.place(node)
      const facts = joined ?? { name, labels: node.labels, taints }
      const asPlace = joined === undefined ? {} : { placeLabels: node.labels }
      return [node, counted({ facts, pods, repelling, isTracked: true, ...asPlace })]
    }),
  )
  const others = occupied.map(({ facts, pods, isTracked }) =>
    counted({
      facts,
      isTracked,
      pods,
      repelling: pods.filter(({ affinity }) => affinity?.podAntiAffinity !== undefined),
    }),
  )
  const topology = new TopologyBase({
    sets,
    running: memory.running,
    nodes: [...places.values(), ...others].sort((a, b) => compareText(a.name, b.name)),
    pools,
    namespaceLabels,
    ignorePreferences: preferencePolicy === 'Ignore',
  })
  return { topology, places }
}

/** Topology, and the places as it counts them. */
interface IndexedTopology {
  readonly topology: TopologyBase
  readonly places: ReadonlyMap<SchedulableNode, CountedNode>
}

export interface NodeContext {
  readonly sets: RequirementSets
  readonly memory: SolverMemory
  readonly topology: TopologyBase
  readonly taintList: (taints: readonly Taint[]) => number
}

/** Returns a node of the snapshot as a place, which no pass may fill. */
export function nodePlace(node: SchedulableNode, { sets, memory, topology, taintList }: NodeContext): NodePlace {
  const own = sets.ofLabels(node.labels)
  const open = [...withoutHostname(requirements(node.requirements ?? [])).values()].filter(
    ({ key }) => !own.map.has(key),
  )
  const free = memory.free(node)
  const { ports } = memory.place(node)
  return {
    number: -1,
    hostname: node.hostname,
    host: topology.domains.id(labels.hostname, node.hostname),
    isClaim: false,
    taints: node.taints,
    taintList: taintList(node.taints),
    set: open.length === 0 ? own : sets.intern(merge(own.map, open)),
    open,
    pods: [],
    ports: [...ports],
    volumes: new Map(Object.entries(node.volumes ?? {}).map(([driver, ids]) => [driver, new Set(ids)])),
    node,
    reported: node.reported && sets.ofLabels(node.reported),
    free,
    overused: node.isClosed === true || free.some((amount) => amount < 0) || hasTooMany(node),
  }
}

/** Returns a copy of a node's place for a pass to fill. */
export function filling(place: NodePlace, number: number): NodePlace {
  return {
    ...place,
    number,
    pods: [],
    ports: [...place.ports],
    volumes: new Map([...place.volumes].map(([driver, ids]) => [driver, new Set(ids)])),
  }
}

/** Whether more volumes of a driver are attached than its limit: as upstream, that keeps away pods without volumes too. */
function hasTooMany({ volumes = {}, volumeLimits = {} }: SchedulableNode): boolean {
  return Object.entries(volumes).some(
    ([driver, ids]) => ids.length > (entryOf(volumeLimits, driver) ?? Number.POSITIVE_INFINITY),
  )
}

/** Undefined when there is none to hold. */
export function reservationsOf(
  { nodePools }: SchedulingSnapshot,
  options: SchedulingOptions,
  pools: readonly PoolFacts[],
): Reservations | undefined {
  if (options.reservedCapacity === false || !pools.some(({ hasReserved }) => hasReserved)) return undefined
  return new Reservations(
    nodePools.flatMap(({ instanceTypes }) => instanceTypes),
    {
      isEnabled: true,
      mode: options.reservedOfferings ?? 'Strict',
      idLabel: options.reservationIdLabel ?? labels.reservationId,
      wellKnown: options.wellKnownLabels ?? wellKnownLabels,
    },
  )
}
