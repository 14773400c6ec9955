import type { Amounts } from '../offerings/amounts.ts'
import { PoolIndex } from '../offerings/pool-index.ts'
import type { RequirementSets } from '../offerings/requirement-sets.ts'
import type { Reservations } from '../reservations.ts'
import type { SchedulingOptions } from '../snapshot.ts'
import { TopologyIndex } from '../topology/topology-index.ts'
import type { Change } from './change.ts'
import type { LevelSource } from './pod-shapes.ts'
import type { SolverBase } from './solver-base.ts'
import { WaitingPods } from './waiting-pods.ts'

/** Shared state of a pass. Explanations read it when the pass is over (`explain/finished-pass.ts`). */
export class PassContext {
  readonly base: SolverBase
  readonly sets: RequirementSets
  readonly amounts: Amounts
  readonly wellKnown: ReadonlySet<string>
  readonly options: SchedulingOptions
  /** In the order in which they are tried. */
  readonly pools: readonly PoolIndex[]
  readonly topology: TopologyIndex
  readonly reservations: Reservations | undefined
  readonly waiting: WaitingPods
  readonly levels: LevelSource

  constructor(base: SolverBase, change: Change) {
    const { sets, amounts, wellKnown, options, classes, snapshot } = base
    this.base = base
    this.sets = sets
    this.amounts = amounts
    this.wellKnown = wellKnown
    this.options = options
    this.pools = base.pools.map((pool) => new PoolIndex(pool, change.removed))
    this.topology = new TopologyIndex(base.topology, change.gone)
    this.reservations = base.reservations?.fresh()
    this.waiting = new WaitingPods({
      sets,
      classes,
      podVolumes: snapshot.podVolumes,
      barred: change.barred?.pods,
      apart: snapshot.apart,
      inHand: options.inHand,
    })
    this.levels = {
      maker: base.levels,
      facet: (facts) => this.waiting.facet(facts),
      labelClass: (facts) => this.topology.labelClass(facts),
    }
  }
}
