import type { InstanceType } from '../../core/instance-type.ts'
import { type TemplateInput, templateRequirements } from '../../core/node-pool/node-claim-template.ts'
import type { NodePool, Pod, Taint } from '../../core/objects.ts'
import type { DaemonSet } from '../../core/pods/related-objects.ts'
import { labels } from '../../core/requirements/labels.ts'
import { inValues } from '../../core/requirements/requirement.ts'
import { isCompatible, merge, type Requirements, sharedKeysIntersect } from '../../core/requirements/requirements.ts'
import { maxResources, mergeResources, noResources, type Resources, subtractResources } from '../../core/resources.ts'
import { type DaemonGroup, requiredAlternatives, toleratesHard } from '../../core/scheduling/daemon-overhead.ts'
import type { NodePoolOption } from '../../core/scheduling/snapshot.ts'
import { filterTypes } from '../../core/scheduling/type-filter.ts'
import type { PoolRefusal } from '../../core/scheduling/unschedulable.ts'
import type { Quantity } from '../../core/values/quantity.ts'
import { entryOf } from '../../core/values/records.ts'

export interface PoolSettings {
  readonly daemonSets: readonly DaemonSet[]
  readonly relaxMinValues: boolean
  readonly wellKnown: ReadonlySet<string>
}

/** A NodePool prepared for a pass: what its nodes look like, what they may be and how many more there may be. */
export class PoolTemplate {
  readonly nodePool: NodePool
  readonly template: TemplateInput
  readonly taints: readonly Taint[]
  /** Of every node of the pool, as while it is planned (reference/karpenter-core.md 3.2). */
  readonly requirements: Requirements
  /** What its nodes may be at all; none: the pool takes no part. */
  readonly types: readonly InstanceType[]
  readonly groups: readonly DaemonGroup[]
  /**
   * Whether the claim that was opened last needed its minValues lowered. As upstream, whose claims of one pool share their annotations, it
   * is told of all of them.
   */
  minValuesRelaxed = false
  #remaining: Resources

  constructor({ nodePool, instanceTypes, usage }: NodePoolOption, settings: PoolSettings) {
    const { template } = nodePool
    this.nodePool = nodePool
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
    this.types = usableTypes(instanceTypes, this.requirements, settings)
    this.groups = daemonGroups(this.types, this, settings)
    this.#remaining = subtractResources(nodePool.limits, usage)
  }

  /** The types that one more node may be of, or why the limits admit none. */
  withinLimits(): { readonly types: readonly InstanceType[] } | PoolRefusal {
    const { nodePool } = this.template
    const nodes = this.#remaining['nodes']?.nano ?? -1n
    if (nodes >= 0n && nodes < 1_000_000_000n) return { kind: 'node-limit', nodePool }
    const types = this.types.filter(({ capacity }) => isWithin(capacity, this.#remaining))
    return types.length > 0 ? { types } : { kind: 'resource-limits', nodePool }
  }

  /** Takes a planned node off what the limits leave: the most that it may become. The node itself is not counted, as upstream. */
  spend(types: readonly InstanceType[]): void {
    this.#remaining = subtractResources(this.#remaining, maxResources(...types.map(({ capacity }) => capacity)))
  }
}

function isWithin(capacity: Resources, remaining: Resources): boolean {
  return Object.entries(remaining).every(
    ([name, left]: [string, Quantity]) => (entryOf(capacity, name)?.nano ?? 0n) <= left.nano,
  )
}

/** The types that a pool's own requirements and what is on offer leave, by name. */
function usableTypes(
  instanceTypes: readonly InstanceType[],
  requirements: Requirements,
  { relaxMinValues, wellKnown }: PoolSettings,
): readonly InstanceType[] {
  const ordered = [...instanceTypes].sort((a, b) => (a.name < b.name ? -1 : 1))
  const filtered = filterTypes(ordered, {
    groups: [{ types: ordered, overhead: noResources, hostPorts: [] }],
    requirements,
    podRequests: noResources,
    requests: noResources,
    hostPorts: [],
    usedPorts: [],
    relaxMinValues,
    wellKnown,
  })
  return filtered.kind === 'types' ? filtered.types : []
}

/** Returns the types by the daemons that fit them (reference/karpenter-core.md 3.7). */
function daemonGroups(
  types: readonly InstanceType[],
  template: { readonly requirements: Requirements; readonly taints: readonly Taint[] },
  { daemonSets, wellKnown }: { readonly daemonSets: readonly DaemonSet[]; readonly wellKnown: ReadonlySet<string> },
): readonly DaemonGroup[] {
  const daemons = daemonSets
    .map(({ pod }) => pod)
    .filter((pod) => pod.resourceClaims.length === 0 && toleratesHard(pod, template.taints))
  const terms = new Map(daemons.map((pod) => [pod, [...requiredAlternatives(pod)]]))
  const fits = (wanted: Requirements, type: InstanceType) =>
    isCompatible(template.requirements, wanted, wellKnown) && sharedKeysIntersect(type.requirements, wanted)
  const runs = (pod: Pod, type: InstanceType) => {
    const left = terms.get(pod) ?? []
    // As upstream, a term that one type does not meet is not tried on later ones; the order by name is ours.
    while (left.length > 1 && !fits(left[0] as Requirements, type)) left.shift()
    return left[0] !== undefined && fits(left[0], type)
  }
  const groups = new Map<string, { types: InstanceType[]; own: readonly Pod[] }>()
  for (const type of [...types].sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const fitting = daemons.map((pod) => runs(pod, type))
    const key = fitting.join()
    const group = groups.get(key) ?? { types: [], own: daemons.filter((_, index) => fitting[index]) }
    groups.set(key, group)
    group.types.push(type)
  }
  return [...groups.values()].map(({ types: same, own }) => ({
    types: same,
    overhead: own.length === 0 ? noResources : mergeResources(...own.map(({ requests }) => requests)),
    hostPorts: own.flatMap(({ hostPorts }) => hostPorts),
  }))
}
