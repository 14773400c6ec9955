import type { Pod } from '../objects.ts'
import { schedule } from './schedule.ts'
import { snapshotWithout } from './settled.ts'
import type { SchedulableNode, SchedulingOptions, SchedulingPlan, SchedulingSnapshot } from './snapshot.ts'
import type { SolverMemory } from './solver/memory.ts'

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
   * pending, pods of nodes that are being deleted and pods that wait may go there (reference/karpenter-core.md 3.4).
   */
  readonly closed?: ReadonlySet<string>
  /** The answer may end as soon as more new claims than this are open; the plan is `stopped` then, and tells of no pod after that. */
  readonly maxNewClaims?: number
}

/** Answers where pods would go if nodes were gone. Each question is about the snapshot alone, whatever was asked before. */
export class WhatIf {
  readonly #snapshot: SchedulingSnapshot
  readonly #options: SchedulingOptions
  readonly #memory: SolverMemory | undefined

  constructor(snapshot: SchedulingSnapshot, options: SchedulingOptions = {}, memory?: SolverMemory) {
    this.#snapshot = snapshot
    this.#options = options
    this.#memory = memory
  }

  /** The plan if these nodes were gone: the pods that they let go are placed with all pods of the snapshot. */
  without(removed: readonly Removal[], { closed, maxNewClaims }: WhatIfLimits = {}): SchedulingPlan {
    const changed = snapshotWithout(this.#snapshot, removed)
    const barred = closed && {
      places: closed,
      pods: new Set(removed.flatMap(({ moving }) => moving.filter(isRunning))),
    }
    return schedule(
      barred === undefined ? changed : { ...changed, barred },
      maxNewClaims === undefined ? this.#options : { ...this.#options, maxNewClaims },
      this.#memory,
    )
  }
}

/** Whether a pod stays away from places that take no running pods. */
const isRunning = ({ phase }: Pod) => phase !== 'Pending'
