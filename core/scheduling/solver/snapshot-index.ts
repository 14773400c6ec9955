import { minValues } from '../../instance-type.ts'
import { wellKnownLabels } from '../../labels.ts'
import type { Taint } from '../../objects.ts'
import { merge, requirements } from '../../requirements.ts'
import { Reservations } from '../reservations.ts'
import type { SchedulableNode, SchedulingOptions, SchedulingSnapshot } from '../snapshot.ts'
import { keep, membersOf } from './bits.ts'
import type { SolverMemory } from './memory.ts'
import type { NodePlace } from './places.ts'
import { type PoolContext, PoolIndex } from './pool-index.ts'
import { type RequirementSets, withoutHostname } from './requirement-sets.ts'
import { TopologyIndex } from './topology-index.ts'
import { compareText } from './waiting-pods.ts'

const reservationId = 'karpenter.azure.com/capacity-reservation-id'

/** Every pool, in the order in which they are tried. */
export function indexPools(
  { nodePools, daemonSets }: SchedulingSnapshot,
  { minValuesPolicy }: SchedulingOptions,
  context: Omit<PoolContext, 'daemonSets'>,
): readonly PoolIndex[] {
  const relaxed = minValuesPolicy === 'BestEffort'
  return [...nodePools]
    .sort(
      (a, b) =>
        b.nodePool.weight - a.nodePool.weight || compareText(b.nodePool.metadata.name, a.nodePool.metadata.name),
    )
    .map(
      (option) =>
        new PoolIndex(
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

/** Topology as the running pods make it. */
export function indexTopology(
  { nodes, occupied = [], namespaceLabels = new Map() }: SchedulingSnapshot,
  { preferencePolicy }: SchedulingOptions,
  {
    sets,
    memory,
    pools,
  }: { readonly sets: RequirementSets; readonly memory: SolverMemory; readonly pools: readonly PoolIndex[] },
): TopologyIndex {
  const places = nodes.map((node) => {
    const { joined, name, labels, taints } = node
    const { repelling } = memory.place(node)
    const facts = joined ?? { name, labels, taints }
    return {
      facts,
      pods: node.pods,
      repelling,
      isTracked: true,
      ...(joined === undefined ? {} : { placeLabels: labels }),
    }
  })
  const others = occupied.map((node) => ({
    facts: node.facts,
    isTracked: node.isTracked,
    pods: node.pods,
    repelling: node.pods.filter(({ affinity }) => affinity?.podAntiAffinity !== undefined),
  }))
  return new TopologyIndex({
    sets,
    memory,
    nodes: [...places, ...others]
      .sort((a, b) => compareText(a.facts.name, b.facts.name))
      .map(({ facts, ...rest }) => ({
        ...facts,
        ...rest,
        set: sets.ofLabels(facts.labels),
      })),
    pools,
    namespaceLabels,
    ignorePreferences: preferencePolicy === 'Ignore',
  })
}

export interface NodeContext {
  readonly sets: RequirementSets
  readonly memory: SolverMemory
  readonly topology: TopologyIndex
  readonly taintList: (taints: readonly Taint[]) => number
}

/** A node of the snapshot as a place that fills. */
export function nodePlace(
  node: SchedulableNode,
  number: number,
  { sets, memory, topology, taintList }: NodeContext,
): NodePlace {
  const own = sets.ofLabels(node.labels)
  const open = [...withoutHostname(requirements(node.requirements ?? [])).values()].filter(
    ({ key }) => !own.map.has(key),
  )
  const free = memory.free(node)
  const { ports } = memory.place(node)
  return {
    number,
    hostname: node.hostname,
    host: topology.host(node.hostname),
    isClaim: false,
    taints: node.taints,
    taintList: taintList(node.taints),
    set: open.length === 0 ? own : sets.intern(merge(own.map, open)),
    open,
    pods: [],
    ports: ports.length === 0 ? [] : [...ports],
    volumes: new Map(Object.entries(node.volumes ?? {}).map(([driver, ids]) => [driver, new Set(ids)])),
    node,
    free,
    overused: free.some((amount) => amount < 0) || hasTooMany(node),
  }
}

/** Whether more volumes are attached of a driver than it may have: as upstream, that keeps away pods without volumes too. */
function hasTooMany({ volumes = {}, volumeLimits = {} }: SchedulableNode): boolean {
  return Object.entries(volumes).some(
    ([driver, ids]) => ids.length > (volumeLimits[driver] ?? Number.POSITIVE_INFINITY),
  )
}

/** Undefined: there is none to hold. */
export function reservationsOf(
  { nodePools }: SchedulingSnapshot,
  options: SchedulingOptions,
  pools: readonly PoolIndex[],
): Reservations | undefined {
  if (options.reservedCapacity === false || !pools.some(({ hasReserved }) => hasReserved)) return undefined
  return new Reservations(
    nodePools.flatMap(({ instanceTypes }) => instanceTypes),
    {
      isEnabled: true,
      mode: options.reservedOfferings ?? 'Strict',
      idLabel: options.reservationIdLabel ?? reservationId,
      wellKnown: options.wellKnownLabels ?? wellKnownLabels,
    },
  )
}
