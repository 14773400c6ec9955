import type { Pod } from '../objects.ts'
import { planOf, withoutPools } from './schedule.ts'
import type { SchedulableNode, SchedulingOptions, SchedulingPlan, SchedulingSnapshot } from './snapshot.ts'
import { SolverMemory } from './solver/memory.ts'
import { SolverBase } from './solver/solver-base.ts'
import { Gone } from './topology/gone.ts'

/** A node that is imagined away. */
export interface Removal {
  /** One of the snapshot's nodes, the very object. */
  readonly place: SchedulableNode
  /** Those of its pods that need another place, as `preparedPods` makes them; what their volumes ask stands in the snapshot's `podVolumes`. */
  readonly moving: readonly Pod[]
}

export interface WhatIfLimits {
  /**
   * Names of places that take no running pods: those whose consolidateAfter window is open. Pods of the removed nodes that are still
   * pending, pods of nodes that are being deleted and pods that wait may go there (reference/karpenter-core.md 3.4). Questions that have
   * it in common are answered sooner with the very same set, which must not change.
   */
  readonly closed?: ReadonlySet<string>
  /** The answer may end as soon as more new claims than this are open; the plan is `stopped` then, and tells of no pod after that. */
  readonly maxNewClaims?: number
}

/**
 * Answers where pods would go if nodes were gone. Each question is about the snapshot alone, whatever was asked before; what they have in
 * common is prepared with the first.
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

  /** The plan if these nodes were gone: the pods that they let go are placed with all pods of the snapshot. */
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

  /** Amounts that nobody knew, of these pods or of another pass with the same memory, are reason to begin anew. */
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

/** Whether a pod stays away from places that take no running pods. */
const isRunning = ({ phase }: Pod) => phase !== 'Pending'
