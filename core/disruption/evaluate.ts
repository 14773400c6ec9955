import { holdOf } from '../node-claim/hold.ts'
import { repairState } from '../node-repair/node-repair.ts'
import { protectedUntil } from '../pods/do-not-disrupt.ts'
import { isActive } from '../pods/pod-rules.ts'
import { labels } from '../requirements/labels.ts'
import { BalancedPolicy } from './balanced.ts'
import { blockedPools, type PoolBudget, remainingBudgets } from './budgets/pool-budgets.ts'
import { type Blocked, blockedBy, type Candidate, type DisruptionView } from './candidates.ts'
import { type DisruptionCommand, type DisruptionMethod, methodFacts } from './command.ts'
import { consolidatableAt } from './consolidatable.ts'
import type { FilterSettings } from './filters.ts'
import { candidatesFor } from './method-candidates.ts'
import { type MethodContext, type MethodSettings, type Note, poolOf } from './methods/context.ts'
import type { Method } from './methods/method.ts'
import { methods } from './methods/methods.ts'
import { type DisruptionWorld, worldAfter } from './world.ts'

export interface EvaluationSettings extends MethodSettings, FilterSettings {
  /** Subset of the policy's methods to evaluate; all when unset. */
  readonly methods?: readonly DisruptionMethod[]
  /** Most nodes that a forced evaluation takes of each pool. Budgets apply as well. */
  readonly mostNodes?: number
  /** Epoch ms, for durations; unset when they are not measured. */
  readonly clock?: () => number
}

/** Result of evaluating one method. */
interface MethodPass {
  readonly method: DisruptionMethod
  readonly eligible: number
  /** Names of the Nodes that the method chose among. */
  readonly candidates: readonly string[]
  readonly commands: number
  readonly milliseconds: number
  readonly budgets: ReadonlyMap<string, PoolBudget>
}

/** Commands within the policy, and why the other nodes are left alone. */
export interface Evaluation {
  /** They hold together: each was found with the earlier ones already decided. */
  readonly commands: readonly DisruptionCommand[]
  readonly blocked: readonly (Blocked & { readonly method: DisruptionMethod })[]
  readonly notes: readonly (Note & { readonly method: DisruptionMethod })[]
  readonly passes: readonly MethodPass[]
  /** The requested settings. */
  readonly asked: FilterSettings
  /** When the passing of time alone next makes a node eligible, in epoch ms. */
  readonly nextChange?: number
}

/** Evaluates the policy's methods in order (reference/karpenter-core.md 4.1, 4.8). The cluster changes with each command that is decided. */
export function evaluate(world: DisruptionWorld, settings: EvaluationSettings): Evaluation {
  const pass = new Pass(world, settings)
  const { policy } = settings
  for (const method of policy.methods) {
    if (settings.methods?.includes(method) === false || methods[method].isOn?.(world.view) === false) continue
    const found = new Set(pass.commands.map((command) => command.method))
    if (policy.endsAtFirst && found.size > 0) break
    if (policy.notAfter[method]?.some((earlier) => found.has(earlier)) === true) continue
    pass.ask(methods[method])
  }
  const next = nextChange(world.view)
  const { commands, blocked, notes, passes } = pass
  const { forced, scope, resting } = settings
  const asked = { ...(forced === undefined ? {} : { forced }), ...(scope && { scope }), ...(resting && { resting }) }
  return { commands, blocked, notes, passes, asked, ...(next === undefined ? {} : { nextChange: next }) }
}

class Pass {
  readonly commands: DisruptionCommand[] = []
  readonly blocked: (Blocked & { readonly method: DisruptionMethod })[] = []
  readonly notes: (Note & { readonly method: DisruptionMethod })[] = []
  readonly passes: MethodPass[] = []
  readonly #settings: EvaluationSettings
  #world: DisruptionWorld

  constructor(world: DisruptionWorld, settings: EvaluationSettings) {
    this.#world = world
    this.#settings = settings
  }

  ask(method: Method): void {
    const { name } = method
    const { clock, policy } = this.#settings
    const startedAt = clock?.() ?? 0
    const { view } = this.#world
    const { eligible, candidates, blocked } = candidatesFor(method, view, this.#settings)
    this.#block(name, blocked)
    const { reason } = methodFacts[name]
    const budgets = remainingBudgets(view, reason)
    const before = this.commands.length
    const most = before + (policy.mostCommands[name] ?? Number.POSITIVE_INFINITY)
    if (candidates.length > 0) {
      this.#block(name, blockedPools(budgets, reason))
      const context = this.#context(name, { eligible, budgets })
      for (const command of commandsOf(method, candidates, context)) {
        this.commands.push(command)
        this.#world = worldAfter(this.#world, command)
        if (this.commands.length === most) break
      }
    }
    this.passes.push({
      method: name,
      eligible: eligible.length,
      candidates: candidates.map(({ node }) => node.metadata.name),
      commands: this.commands.length - before,
      milliseconds: (clock?.() ?? 0) - startedAt,
      budgets,
    })
  }

  #block(method: DisruptionMethod, blocked: readonly Blocked[]): void {
    for (const one of blocked) this.blocked.push({ ...one, method })
  }

  #context(method: DisruptionMethod, given: Pick<ContextInput, 'eligible' | 'budgets'>): MethodContext {
    const note = (noted: Note) => {
      this.notes.push({ ...noted, method })
      const { event, candidate, cause } = noted
      if (event !== undefined) this.#block(method, [blockedBy(candidate, event, cause)])
    }
    const most = (pool: string) => this.#mostNodes(pool)
    return methodContext(() => this.#world, this.#settings, { ...given, most, note })
  }

  /** Returns what the operator's limit leaves of each pool. */
  #mostNodes(pool: string): number {
    const { mostNodes } = this.#settings
    if (mostNodes === undefined) return Number.POSITIVE_INFINITY
    const taken = this.commands.flatMap(({ candidates }) => candidates.filter((each) => poolOf(each) === pool))
    return mostNodes - taken.length
  }
}

interface ContextInput extends Pick<MethodContext, 'note'> {
  readonly eligible: readonly Candidate[]
  readonly budgets: ReadonlyMap<string, PoolBudget>
  /** Most nodes that may be taken of a pool, beside the budgets. */
  readonly most?: (nodePool: string) => number
}

/** Context of a method in the world as it is at each evaluation. */
export function methodContext(
  world: () => DisruptionWorld,
  settings: MethodSettings,
  { eligible, budgets, note, most = () => Number.POSITIVE_INFINITY }: ContextInput,
): MethodContext {
  return {
    get view() {
      return world().view
    },
    get simulator() {
      return world().simulator
    },
    settings,
    balanced: new BalancedPolicy(eligible, world().view),
    poolBudgets: budgets,
    budgets: new Map([...budgets].map(([pool, { remaining }]) => [pool, Math.min(remaining, most(pool))])),
    note,
  }
}

/** Without a ready NodePool nothing can be launched, whatever the candidates are. */
function commandsOf(
  method: Method,
  candidates: readonly Candidate[],
  context: MethodContext,
): Iterable<DisruptionCommand> {
  if (!method.simulates || context.simulator.hasPools) return method.compute(candidates, context)
  for (const candidate of candidates) context.note({ candidate, outcome: 'hindered', cause: { kind: 'no-ready-pool' } })
  return []
}

/**
 * Returns when time alone next makes a node eligible, in epoch ms: at the end of its consolidateAfter, a pod's protection, a hold, or what is
 * tolerated of a sick node.
 */
function nextChange({ nodes, nodePools, podsOn, now, repairs = [] }: DisruptionView): number | undefined {
  let next: number | undefined
  const see = (time: number | undefined) => {
    if (time !== undefined && time > now && (next === undefined || time < next)) next = time
  }
  for (const { node, claim } of nodes) {
    if (node === undefined || claim === undefined) continue
    const pool = nodePools.get(claim.metadata.labels[labels.nodePool] ?? '')
    if (pool !== undefined) see(consolidatableAt(claim, pool))
    see(holdOf(claim, now)?.untilMs)
    const repair = repairs.length === 0 ? undefined : repairState({ node, claim, now }, repairs)
    if (repair?.kind === 'tolerated') see(repair.untilMs)
    for (const pod of podsOn(node.metadata.name)) if (isActive(pod)) see(protectedUntil(pod))
  }
  return next
}
