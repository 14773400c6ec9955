import { buffersOf } from '../capacity-buffer/buffer-pods.ts'
import type { Pod } from '../objects.ts'
import { isProvisionable, podName } from '../pods/pod-rules.ts'
import { labels } from '../requirements/labels.ts'
import { settled } from '../scheduling/settled.ts'
import type {
  SchedulableNode,
  SchedulingOptions,
  SchedulingPlan,
  SchedulingSnapshot,
  UnschedulablePod,
} from '../scheduling/snapshot.ts'
import type { SolverMemory } from '../scheduling/solver/memory.ts'
import type { UnschedulableCause } from '../scheduling/unschedulable.ts'
import { unschedulableText } from '../scheduling/unschedulable-text.ts'
import { type Removal, WhatIf } from '../scheduling/what-if.ts'
import { entryOf } from '../values/records.ts'
import type { Candidate } from './candidates.ts'
import { type Hindrance, mostNamedPods } from './verdicts/cause.ts'

/** Input of placement, with the pods that disruption could move. */
export interface SimulationInput {
  /** With all nodes that are not yet candidates and all that are. */
  readonly snapshot: SchedulingSnapshot
  readonly options: SchedulingOptions
  /**
   * Returns the pods of a node that would move, prepared as pending ones are; `isUrgent`: also those that must not be disrupted.
   * `snapshot.podVolumes` has their volumes.
   */
  readonly movable: (node: string, isUrgent: boolean) => Movable
  /** Names of nodes within their consolidateAfter window: no running pods are moved there to save money. */
  readonly closed: ReadonlySet<string>
  /** Names of places that are reserved, or kept for the pods of others: nothing is moved there. */
  readonly leaving?: ReadonlySet<string>
  readonly memory?: SolverMemory
}

export interface Movable {
  readonly pods: readonly Pod[]
  /** Pods that cannot be tried at all, with the reason. */
  readonly ignored?: ReadonlyMap<Pod, UnschedulableCause>
}

export interface Simulation {
  readonly plan: SchedulingPlan
  /** Problems of pods that run now, or ran on nodes being deleted. Pods that are already pending may stay pending without preventing anything. */
  readonly problems: readonly UnschedulablePod[]
}

export interface SimulationSettings {
  /** For savings: nodes with an open window receive no running pods. */
  readonly isConsolidation: boolean
  /** Pods that must not be disrupted move as well. */
  readonly isUrgent?: boolean
  /** The simulation may end as soon as more new nodes than this are needed. */
  readonly maxNewClaims?: number
}

/** Simulates one snapshot of the cluster without some of its nodes (reference/karpenter-core.md 4.6). */
export class Simulator {
  readonly #input: SimulationInput
  readonly #places: ReadonlyMap<string, SchedulableNode>
  readonly #deleting: ReadonlySet<string>
  readonly #closed: ReadonlySet<string>
  #whatIf: WhatIf | undefined
  #buffers: ((node: string) => readonly string[]) | undefined

  constructor(input: SimulationInput) {
    this.#input = input
    this.#places = new Map(input.snapshot.nodes.map((place) => [place.joined?.name ?? place.name, place]))
    this.#deleting = new Set(
      input.snapshot.pods.filter(({ nodeName }) => nodeName !== undefined).map(({ metadata }) => metadata.uid),
    )
    this.#closed = new Set([...input.closed, ...(input.leaving ?? [])])
  }

  /** Whether there is a NodePool for new nodes. Without one no simulation is possible. */
  get hasPools(): boolean {
    return this.#input.snapshot.nodePools.length > 0
  }

  /** Where the pods go if these nodes are taken away. */
  without(
    candidates: readonly Pick<Candidate, 'node'>[],
    { isConsolidation, isUrgent = false, maxNewClaims }: SimulationSettings,
  ): Simulation {
    this.#whatIf ??= new WhatIf(this.#input.snapshot, this.#input.options, this.#input.memory)
    const closed = isConsolidation ? this.#closed : (this.#input.leaving ?? new Set())
    const plan = this.#whatIf.without(this.#removals(candidates, isUrgent), {
      ...(closed.size === 0 ? {} : { closed }),
      ...(maxNewClaims === undefined ? {} : { maxNewClaims }),
    })
    const ignored = this.#ignored(candidates, isUrgent)
    return { plan, problems: [...this.#unplaced(plan), ...ignored, ...this.#onUninitialized(plan)] }
  }

  /** Returns the buffers whose virtual pods are on a node in the cluster as it is. */
  buffersOn(node: string): readonly string[] {
    this.#buffers ??= this.#placedBuffers()
    return this.#buffers(node)
  }

  #placedBuffers(): (node: string) => readonly string[] {
    const all = buffersOf(this.#input.snapshot.pods)
    if (all.length === 0) return () => []
    // Where pods would go is not known then, so any node may be needed.
    if (!this.hasPools) return () => all
    const { plan } = this.without([], { isConsolidation: false })
    const placed = new Map(plan.existing.map(({ node, pods }) => [node, buffersOf(pods)]))
    return (node) => placed.get(node) ?? []
  }

  /** Returns the same cluster with one more free machine of a reservation; no claim may skip a free one. */
  crediting(reservation: string): Simulator {
    const { snapshot, options } = this.#input
    const label = options.reservationIdLabel ?? labels.reservationId
    const nodePools = snapshot.nodePools.map((pool) => ({
      ...pool,
      instanceTypes: pool.instanceTypes.map((type) => ({
        ...type,
        offerings: type.offerings.map((offering) =>
          offering.requirements.get(label)?.values.has(reservation) === true
            ? { ...offering, reservationCapacity: (offering.reservationCapacity ?? 0) + 1 }
            : offering,
        ),
      })),
    }))
    return new Simulator({
      ...this.#input,
      snapshot: { ...snapshot, nodePools },
      options: { ...options, reservedOfferings: 'Strict' },
    })
  }

  /** Returns the cluster after a command's decision: its nodes are gone, its pods have moved, its replacements are in flight. */
  after(candidates: readonly Pick<Candidate, 'node'>[], plan: SchedulingPlan, isUrgent = false): Simulator {
    const { snapshot } = this.#input
    return new Simulator({ ...this.#input, snapshot: settled(snapshot, this.#removals(candidates, isUrgent), plan) })
  }

  #removals(candidates: readonly Pick<Candidate, 'node'>[], isUrgent: boolean): readonly Removal[] {
    return candidates.flatMap(({ node }) => {
      const place = this.#places.get(node.metadata.name)
      return place === undefined ? [] : [{ place, moving: this.#input.movable(node.metadata.name, isUrgent).pods }]
    })
  }

  #unplaced({ unschedulable }: SchedulingPlan): readonly UnschedulablePod[] {
    return unschedulable.filter(({ pod }) => !isProvisionable(pod))
  }

  #ignored(candidates: readonly Pick<Candidate, 'node'>[], isUrgent: boolean): readonly UnschedulablePod[] {
    return candidates.flatMap(({ node }) =>
      [...(this.#input.movable(node.metadata.name, isUrgent).ignored ?? [])].map(([pod, cause]) => ({ pod, cause })),
    )
  }

  /** A node that is still starting may never be ready; pods of nodes that go anyway have no better place. */
  #onUninitialized({ existing }: SchedulingPlan): readonly UnschedulablePod[] {
    return existing.flatMap(({ node, nodeClaim, pods }) => {
      const place = this.#places.get(node) ?? this.#input.snapshot.nodes.find(({ name }) => name === node)
      if (place === undefined || place.initialized) return []
      const cause = { kind: 'uninitialized-node', nodeClaim, node: place.joined?.name } as const
      return pods
        .filter((pod) => !this.#deleting.has(pod.metadata.uid) && !isProvisionable(pod))
        .map((pod) => ({ pod, cause }))
    })
  }
}

/** Returns the cause that pods would not find a place. */
export function withoutPlace(problems: readonly UnschedulablePod[]): Hindrance {
  const shown = problems.slice(0, mostNamedPods)
  return {
    kind: 'pods-without-place',
    pods: shown.map(({ pod, cause }) => ({ name: podName(pod), constraint: unschedulableText(cause) })),
    count: problems.length,
  }
}

/** Returns the reservation that a node was bought with; undefined when there is none. */
export function reservationOf(
  { node }: Pick<Candidate, 'node'>,
  { reservationIdLabel = labels.reservationId }: SchedulingOptions,
): string | undefined {
  const own = node.metadata.labels
  return own[labels.capacityType] === 'reserved' ? entryOf(own, reservationIdLabel) || undefined : undefined
}
