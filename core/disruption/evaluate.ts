import { holdOf } from '../node-claim/hold.ts'
import { protectedUntil } from '../pods/do-not-disrupt.ts'
import { isActive } from '../pods/pod-rules.ts'
import { labels } from '../requirements/labels.ts'
import { type Blocked, blockedBy, type Candidate, type DisruptionView, isMarked } from './candidates.ts'
import { type DisruptionCommand, type DisruptionMethod, methodFacts } from './command.ts'
import { consolidatableAt } from './consolidatable.ts'
import {
  blockedPools,
  candidatesFor,
  methodContext,
  noPools,
  type PoolBudget,
  remainingBudgets,
} from './evaluate-method.ts'
import type { FilterSettings } from './filters.ts'
import { inOrder, replaceDrifted } from './methods/drift.ts'
import { emptiness } from './methods/emptiness.ts'
import { type MethodContext, type MethodSettings, type Note, poolOf } from './methods/method.ts'
import { multiNode } from './methods/multi-node.ts'
import { consolidateOne, interleaved } from './methods/single-node.ts'
import type { Simulator } from './simulation.ts'
import { type DisruptionWorld, worldAfter } from './world.ts'

export interface EvaluationSettings extends MethodSettings, FilterSettings {
  /** Absent: all. */
  readonly methods?: readonly DisruptionMethod[]
  /** How many nodes a forced evaluation may take of each pool, at most; budgets hold beside it. */
  readonly mostNodes?: number
  /** Epoch ms, for durations; absent: nobody measures. */
  readonly clock?: () => number
}

/** What a pass of one method came to. */
interface MethodPass {
  readonly method: DisruptionMethod
  readonly eligible: number
  readonly candidates: number
  readonly commands: number
  readonly milliseconds: number
  readonly budgets: ReadonlyMap<string, PoolBudget>
}

/** All that can be done now, and why the rest cannot. */
export interface Evaluation {
  /** They hold together: each was found with those before it already decided. */
  readonly commands: readonly DisruptionCommand[]
  readonly blocked: readonly (Blocked & { readonly method: DisruptionMethod })[]
  readonly notes: readonly (Note & { readonly method: DisruptionMethod })[]
  readonly passes: readonly MethodPass[]
  /** What was asked for. */
  readonly asked: FilterSettings
  /** When the passing of time alone next makes a node eligible, in epoch ms. */
  readonly nextChange?: number
}

/** Single nodes that are consolidated in one pass: each one more asks for another look at the cluster as it will be. */
const mostSingleCommands = 20
/** A rollout begins with a fifth of its budget at a time: nodes that come and go in step would leave the budget empty in between. */
const driftShare = 0.2

const order: readonly DisruptionMethod[] = ['emptiness', 'drift', 'multi-node', 'single-node']

/**
 * Everything that should be disrupted now: all empty nodes, drifted nodes as far as budgets go, and either the best set of nodes that go
 * together or several single ones (reference/karpenter-core.md 4.1, 4.8). Unlike upstream it does not end at the first command, and it looks
 * at every candidate.
 */
export function evaluate(world: DisruptionWorld, settings: EvaluationSettings): Evaluation {
  const pass = new Pass(world, settings)
  for (const method of order) {
    if (settings.methods?.includes(method) === false) continue
    // Nodes that are going together are worth more than single ones, which are found as well in the next pass.
    if (method === 'single-node' && pass.commands.some((command) => command.method === 'multi-node')) continue
    pass.run(method)
  }
  const nextChange = upcoming(world.view)
  const { commands, blocked, notes, passes } = pass
  const { forced, scope, resting } = settings
  const asked = { ...(forced === undefined ? {} : { forced }), ...(scope && { scope }), ...(resting && { resting }) }
  return { commands, blocked, notes, passes, asked, ...(nextChange === undefined ? {} : { nextChange }) }
}

/** One evaluation as it goes: the cluster changes with each command that is decided. */
class Pass {
  readonly commands: DisruptionCommand[] = []
  readonly blocked: (Blocked & { readonly method: DisruptionMethod })[] = []
  readonly notes: (Note & { readonly method: DisruptionMethod })[] = []
  readonly passes: MethodPass[] = []
  readonly #settings: EvaluationSettings
  #view: DisruptionView
  #simulator: Simulator

  constructor({ view, simulator }: DisruptionWorld, settings: EvaluationSettings) {
    this.#settings = settings
    this.#view = view
    this.#simulator = simulator
  }

  run(method: DisruptionMethod): void {
    const startedAt = this.#settings.clock?.() ?? 0
    const { eligible, candidates, blocked } = candidatesFor(method, this.#view, this.#settings)
    this.#block(method, blocked)
    const budgets = remainingBudgets(this.#view, methodFacts[method].reason)
    const before = this.commands.length
    if (candidates.length > 0) {
      this.#block(method, blockedPools(budgets, methodFacts[method].reason))
      this.#decide(method, candidates, this.#context(method, eligible, budgets))
    }
    this.passes.push({
      method,
      eligible: eligible.length,
      candidates: candidates.length,
      commands: this.commands.length - before,
      milliseconds: (this.#settings.clock?.() ?? 0) - startedAt,
      budgets,
    })
  }

  #block(method: DisruptionMethod, blocked: readonly Blocked[]): void {
    for (const one of blocked) this.blocked.push({ ...one, method })
  }

  #context(
    method: DisruptionMethod,
    eligible: readonly Candidate[],
    budgets: ReadonlyMap<string, PoolBudget>,
  ): MethodContext {
    const tell = (note: Note) => {
      this.notes.push({ ...note, method })
      if (note.event !== undefined)
        this.#block(method, [blockedBy(note.candidate.nodeClaim, note.candidate.node, note.event, note.message)])
    }
    const world = { view: this.#view, simulator: this.#simulator }
    return methodContext(world, this.#settings, {
      eligible,
      budgets,
      most: (pool) => this.#mostNodes(pool),
      note: tell,
    })
  }

  #decide(method: DisruptionMethod, candidates: readonly Candidate[], context: MethodContext): void {
    if (method === 'emptiness') for (const command of emptiness(candidates, context)) this.#settle(command)
    else if (!context.simulator.hasPools) noPools(candidates, context)
    else if (method === 'drift') this.#rollOut(candidates, context)
    else if (method === 'multi-node') for (const command of multiNode(candidates, context)) this.#settle(command)
    else this.#oneByOne(candidates, context)
  }

  #rollOut(candidates: readonly Candidate[], context: MethodContext): void {
    const share = new Map(
      [...remainingBudgets(this.#view, 'Drifted')].map(([pool, { allowed }]) => [
        pool,
        Math.ceil(allowed * driftShare),
      ]),
    )
    for (const candidate of inOrder(candidates)) {
      const left = share.get(poolOf(candidate)) ?? 0
      if (left <= 0) continue
      const command = replaceDrifted(candidate, context)
      if (command === undefined) continue
      share.set(poolOf(candidate), left - 1)
      this.#settle(command)
      context.simulator = this.#simulator
    }
  }

  #oneByOne(candidates: readonly Candidate[], context: MethodContext): void {
    let left = mostSingleCommands
    for (const candidate of interleaved(candidates)) {
      if (left === 0) return
      // Pods are about to come: what the node looks like then is for the next pass to see.
      if (this.#view.nominated.has(candidate.node.metadata.name)) continue
      if (isMarked(candidate.nodeClaim, candidate.node, this.#view)) continue
      const command = consolidateOne(candidate, context)
      if (command === undefined) continue
      left -= 1
      this.#settle(command)
      context.simulator = this.#simulator
    }
  }

  /** What comes after a command sees the cluster as the command leaves it. */
  #settle(command: DisruptionCommand): void {
    this.commands.push(command)
    const { view, simulator } = worldAfter({ view: this.#view, simulator: this.#simulator }, command)
    this.#view = view
    this.#simulator = simulator
  }

  /** What the operator's limit leaves of each pool. */
  #mostNodes(pool: string): number {
    const { mostNodes } = this.#settings
    if (mostNodes === undefined) return Number.POSITIVE_INFINITY
    const taken = this.commands.flatMap(({ candidates }) => candidates.filter((each) => poolOf(each) === pool))
    return mostNodes - taken.length
  }
}

/** When a node's consolidateAfter ends next, or a pod's protection, or a hold. */
function upcoming({ nodes, nodePools, podsOn, now }: DisruptionView): number | undefined {
  let next: number | undefined
  const see = (time: number | undefined) => {
    if (time !== undefined && time > now && (next === undefined || time < next)) next = time
  }
  for (const { node, claim } of nodes) {
    if (node === undefined || claim === undefined) continue
    const pool = nodePools.get(claim.metadata.labels[labels.nodePool] ?? '')
    if (pool !== undefined) see(consolidatableAt(claim, pool))
    see(holdOf(claim, now)?.untilMs)
    for (const pod of podsOn(node.metadata.name)) if (isActive(pod)) see(protectedUntil(pod))
  }
  return next
}
