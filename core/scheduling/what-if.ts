import type { Pod } from '../objects.ts'
import { planOf, withoutPools } from './schedule.ts'
import type { SchedulableNode, SchedulingOptions, SchedulingPlan, SchedulingSnapshot } from './snapshot.ts'
import { SolverMemory } from './solver/memory.ts'
import { SolverBase } from './solver/solver-base.ts'
import { Gone } from './topology/gone.ts'

/** A node that a simulation removes. */
export interface Removal {
  /** One of the snapshot's nodes, the same object. */
  readonly place: SchedulableNode
  /** Its pods that need another place, from `preparedPods`. `podVolumes` of the snapshot has their volumes' requirements. */
  readonly moving: readonly Pod[]
}

export interface WhatIfLimits {
  /**
   * Names of places that accept no running pods: those whose consolidateAfter window is open. Pending pods of the removed nodes, pods of nodes being
   * deleted and waiting pods may go there (reference/karpenter-core.md 3.4). Queries with the same set object are faster; it must not change.
   */
  readonly closed?: ReadonlySet<string>
  /** The simulation may end as soon as more new claims than this are open. The plan is `stopped` then, and has no pods beyond that. */
  readonly maxNewClaims?: number
}

/**
 * Simulates where pods would go if nodes were gone. Each query is independent and based on the snapshot alone; shared data is prepared by the first
 * one.
 */
export class WhatIf {
  readonly #snapshot: SchedulingSnapshot
  readonly #options: SchedulingOptions
  readonly #memory: SolverMemory
  #base: SolverBase | undefined

  constructor(snapshot: SchedulingSnapshot, options: SchedulingOptions = {}, memory = new SolverMemory()) {
    this.#snapshot = snapshot
    this.#options = options
    this.#memory = memory
  }

  /** Returns the plan if these nodes were gone: their pods are placed with all pods of the snapshot. */
  without(removed: readonly Removal[], { closed, maxNewClaims }: WhatIfLimits = {}): SchedulingPlan {
    const moving = removed.flatMap((removal) => removal.moving)
    const pods = [...this.#snapshot.pods, ...moving]
    if (this.#snapshot.nodePools.length === 0) return withoutPools(this.#snapshot, pods)
    const base = this.#baseFor(moving)
    return planOf(base, {
      pods,
      removed: removed.map(({ place }) => place),
      gone: new Gone(
        removed.map((removal) => lossOf(removal, base)),
        base.topology.domains,
        this.#memory.running,
      ),
      barred: closed ? { places: closed, pods: new Set(moving.filter(isRunning)) } : this.#snapshot.barred,
      maxNewClaims: maxNewClaims ?? this.#options.maxNewClaims,
    })
  }

  /** Unknown amounts, of these pods or of another pass with the same memory, require a new base. */
  #baseFor(moving: readonly Pod[]): SolverBase {
    for (;;) {
      this.#base ??= new SolverBase(this.#snapshot, this.#options, this.#memory)
      for (const pod of moving) {
        this.#options.inHand?.(pod)
        this.#base.classes.of(pod)
      }
      this.#options.inHand?.(undefined)
      if (!this.#base.isOutdated) return this.#base
      this.#base = undefined
    }
  }
}

/** A claim whose Node has not joined leaves nothing behind. */
function lossOf({ place, moving }: Removal, base: SolverBase) {
  const gone = new Set(moving.map(({ metadata }) => metadata.uid))
  const pods = place.joined === undefined ? place.pods : place.pods.filter(({ metadata }) => gone.has(metadata.uid))
  return { node: base.counted(place), pods }
}

/** Whether a pod avoids places that accept no running pods. */
const isRunning = ({ phase }: Pod) => phase !== 'Pending'
