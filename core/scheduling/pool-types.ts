import { allocatable, type InstanceType, typeMatches } from '../instance-type.ts'
import { labels, wellKnownLabels } from '../labels.ts'
import { type TemplateInput, templateRequirements } from '../node-claim-template.ts'
import type { ContainerPort, DaemonSet, Pod, Taint } from '../objects.ts'
import { integerQuantity, type Quantity } from '../quantity.ts'
import { inValues, operatorOf } from '../requirement.ts'
import { describeAll, isCompatible, merge, type Requirements, sharedKeysIntersect } from '../requirements.ts'
import {
  formatResources,
  maxResources,
  mergeResources,
  minResources,
  noResources,
  type Resources,
  subtractResources,
} from '../resources.ts'
import { daemonsOf, requiredAlternatives } from './daemon-overhead.ts'
import type { NodePoolOption } from './snapshot.ts'
import { requirementsKey } from './topology-groups.ts'

/** An instance type as one pool would use it. */
export interface PoolType {
  readonly type: InstanceType
  /** What its daemons take. */
  readonly overhead: Resources
  /** What pods can have: allocatable less the daemons. */
  readonly free: Resources
}

/** A NodePool prepared for a pass: what its nodes look like, what they may be and how many more there may be. */
export class PoolTypes {
  readonly template: TemplateInput
  readonly taints: readonly Taint[]
  /** Of every node of the pool, as while it is planned (reference/karpenter-core.md 3.2). */
  readonly requirements: Requirements
  readonly types: readonly PoolType[]
  readonly daemonPorts: readonly ContainerPort[]
  #remaining: Readonly<Record<string, Quantity>> | undefined
  readonly #matching = new Map<string, readonly PoolType[]>()

  constructor(option: NodePoolOption, daemonSets: readonly DaemonSet[]) {
    const { nodePool, instanceTypes, usage } = option
    const { template } = nodePool
    this.template = {
      nodePool: nodePool.metadata.name,
      labels: template.labels,
      nodeClassRef: template.spec.nodeClassRef,
      requirements: template.spec.requirements,
    }
    this.taints = template.spec.taints
    this.requirements = merge(templateRequirements(this.template), [
      inValues(labels.registered, ['true']),
      inValues(labels.initialized, ['true']),
    ])
    const daemons = daemonsOf(daemonSets, this.requirements, this.taints)
    this.daemonPorts = daemons.flatMap((pod) => pod.hostPorts)
    const healthy = instanceTypes.filter(({ offerings }) => offerings.some(({ available }) => available))
    this.types = matching(
      healthy.map((type) => withDaemons(type, daemons)),
      this.requirements,
    )
    this.#remaining = Object.keys(nodePool.limits).length === 0 ? undefined : subtractResources(nodePool.limits, usage)
  }

  /** The types that have the labels and an offering for a request, whatever they can hold. Remembered per request. */
  matching(wanted: Requirements): readonly PoolType[] {
    const key = requirementsKey(wanted)
    let found = this.#matching.get(key)
    if (found === undefined) {
      found = matching(this.types, wanted)
      this.#matching.set(key, found)
    }
    return found
  }

  /** Why the pool's limits admit no further node; undefined when they do. */
  limitsError(): string | undefined {
    const nodes = this.#remaining?.['nodes']
    if (nodes !== undefined && nodes.nano <= 0n)
      return `node limits have been exhausted for nodepool (NodePool=${this.template.nodePool})`
    if (this.types.some(this.withinLimits)) return undefined
    return `all available instance types exceed limits for nodepool (NodePool=${this.template.nodePool})`
  }

  /** Whether one more node of this type keeps the pool within its limits. */
  readonly withinLimits = ({ type }: PoolType): boolean => {
    const remaining = this.#remaining
    if (remaining === undefined) return true
    for (const name in remaining) {
      if (name !== 'nodes' && (type.capacity[name]?.nano ?? 0n) > (remaining[name] as Quantity).nano) return false
    }
    return true
  }

  /** Takes a planned node off what the limits leave: the most that it may become (reference/karpenter-core.md 3.6). */
  spend(types: readonly PoolType[]): void {
    if (this.#remaining === undefined) return
    const most = maxResources(...types.map(({ type }) => type.capacity))
    this.#remaining = subtractResources(this.#remaining, { ...most, nodes: integerQuantity(1) })
  }

  /** Whether some template of the run would rather have no pods that do not tolerate it. */
  get prefersNoSchedule(): boolean {
    return this.taints.some(({ effect }) => effect === 'PreferNoSchedule')
  }

  /** The values that labels of the pool's nodes may have, by key. */
  domains(): ReadonlyMap<string, ReadonlySet<string>> {
    const found = new Map<string, Set<string>>()
    const add = (sets: Requirements) => {
      for (const [key, set] of sets) {
        if (operatorOf(set) !== 'In') continue
        const values = found.get(key) ?? new Set<string>()
        for (const value of set.values) values.add(value)
        found.set(key, values)
      }
    }
    for (const { type } of this.types) {
      add(
        new Map(
          [...merge(type.requirements, this.requirements.values())].filter(([key]) => type.requirements.has(key)),
        ),
      )
    }
    add(this.requirements)
    return found
  }
}

function withDaemons(type: InstanceType, daemons: readonly Pod[]): PoolType {
  const own = daemons.filter((pod) =>
    requiredAlternatives(pod).some((wanted) => sharedKeysIntersect(type.requirements, wanted)),
  )
  const overhead = own.length === 0 ? noResources : mergeResources(...own.map(({ requests }) => requests))
  return { type, overhead, free: subtractResources(allocatable(type), overhead) }
}

/** Whether a type has a healthy offering for a request. */
function hasOffering({ type }: PoolType, wanted: Requirements): boolean {
  return type.offerings.some(
    ({ available, requirements }) => available && isCompatible(wanted, requirements, wellKnownLabels),
  )
}

function matching(types: readonly PoolType[], wanted: Requirements): readonly PoolType[] {
  return types.filter((one) => typeMatches(one.type, wanted) && hasOffering(one, wanted))
}

/** Whether the pods that are asked for fit beside the daemons. */
export function holds({ free }: PoolType, requests: Resources): boolean {
  for (const name in requests) if ((requests[name] as Quantity).nano > (free[name]?.nano ?? 0n)) return false
  return true
}

/** What pods and the daemons of every one of the types ask for. */
export function requestsWithDaemons(types: readonly PoolType[], requests: Resources): Resources {
  return mergeResources(requests, minResources(...types.map(({ overhead }) => overhead)))
}

/** Why none of the types takes these pods, and what was asked (reference/karpenter-core.md 3.5). */
export function typesError(types: readonly PoolType[], wanted: Requirements, requests: Resources): string {
  const reason = typesReason(types, wanted, requests)
  const hint = reason === noResourcesReason ? cpuHint(requests) : ''
  return `${reason}, requirements=${describeRequirements(wanted)}, resources=${describeRequests(types, requests)}${hint}`
}

const noResourcesReason = 'no instance type has enough resources'

function typesReason(types: readonly PoolType[], wanted: Requirements, requests: Resources): string {
  const seen = types.map((one) => {
    const offering = hasOffering(one, wanted)
    return { labels: typeMatches(one.type, wanted), offering, fits: offering && holds(one, requests) }
  })
  const labelsMet = seen.some((one) => one.labels)
  const fits = seen.some((one) => one.fits)
  const offered = seen.some((one) => one.offering)
  if (!labelsMet && !fits && !offered) {
    return 'no instance type met the scheduling requirements or had enough resources or had a required offering'
  }
  if (!labelsMet && !fits) return 'no instance type met the scheduling requirements or had enough resources'
  if (!fits && !offered) return 'no instance type had enough resources or had a required offering'
  if (!labelsMet) return 'no instance type met all requirements'
  if (!fits) return noResourcesReason
  return 'no instance type which had enough resources and the required offering met the scheduling requirements'
}

const millionUnits = 1_000_000n * 1_000_000_000n

function cpuHint(requests: Resources): string {
  return (requests['cpu']?.nano ?? 0n) >= millionUnits ? ' (CPU request >= 1 Million, m vs M typo?)' : ''
}

/** All but the hostname, which is made up. */
export function describeRequirements(wanted: Requirements): string {
  return describeAll(new Map([...wanted].filter(([key]) => key !== labels.hostname)))
}

/** What was asked for, daemons included; their least and most where they differ between types. */
export function describeRequests(types: readonly PoolType[], requests: Resources): string {
  const withDaemon = types.filter(({ overhead }) => Object.keys(overhead).length > 0)
  if (withDaemon.length === 0) return describeResources(requests)
  const least = describeResources(mergeResources(requests, minResources(...withDaemon.map(({ overhead }) => overhead))))
  const most = describeResources(mergeResources(requests, maxResources(...withDaemon.map(({ overhead }) => overhead))))
  return least === most ? least : `min=${least}, max=${most}`
}

function describeResources(amounts: Resources): string {
  return JSON.stringify(
    Object.fromEntries(Object.entries(formatResources(amounts)).sort(([a], [b]) => (a < b ? -1 : 1))),
  )
}
