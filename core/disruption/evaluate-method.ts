import { pauseText } from '../pauses.ts'
import { BalancedPolicy } from './balanced.ts'
import { allowedDisruptions } from './budgets.ts'
import {
  type Blocked,
  blockedBy,
  type Candidate,
  capitalized,
  type DisruptionView,
  eligibility,
  poolCounts,
} from './candidates.ts'
import { type DisruptionCommand, type DisruptionMethod, type DisruptionReason, methodFacts } from './command.ts'
import { type FilterSettings, isInScope, isResting, suits, unsuitable } from './filters.ts'
import { drift } from './methods/drift.ts'
import { emptiness } from './methods/emptiness.ts'
import type { MethodContext, MethodSettings, Note } from './methods/method.ts'
import { multiNode } from './methods/multi-node.ts'
import { singleNode } from './methods/single-node.ts'
import { staticDrift } from './methods/static-drift.ts'
import type { Simulator } from './simulation.ts'

const methods: Readonly<
  Record<DisruptionMethod, (candidates: readonly Candidate[], context: MethodContext) => readonly DisruptionCommand[]>
> = { emptiness, 'static-drift': staticDrift, drift, 'multi-node': multiNode, 'single-node': singleNode }

/** What one method makes of the cluster. */
export interface MethodEvaluation {
  readonly commands: readonly DisruptionCommand[]
  /** In the order in which they came up; the same may come up twice. */
  readonly blocked: readonly Blocked[]
  /** What the method chose among. */
  readonly candidates: readonly Candidate[]
  readonly notes: readonly Note[]
}

/** Lets one method decide once, as upstream does (reference/karpenter-core.md 4.1): the first command ends it. */
export function evaluateMethod(
  method: DisruptionMethod,
  view: DisruptionView,
  simulator: Simulator,
  settings: MethodSettings & FilterSettings,
): MethodEvaluation {
  const { eligible, candidates, blocked } = candidatesFor(method, view, settings)
  const notes: Note[] = []
  if (candidates.length === 0) return { commands: [], blocked, candidates, notes }
  const { reason } = methodFacts[method]
  const budgets = remainingBudgets(view, reason)
  if (!simulator.hasPools && method !== 'emptiness' && method !== 'static-drift') {
    const note = (candidate: Candidate): Note => ({ candidate, outcome: 'hindered', message: 'no NodePool is ready' })
    return {
      commands: [],
      candidates,
      notes: candidates.map(note),
      blocked: [...blocked, ...blockedPools(budgets, reason)],
    }
  }
  const commands = methods[method](candidates, {
    view,
    simulator,
    settings,
    balanced: new BalancedPolicy(eligible, view),
    budgets: new Map([...budgets].map(([pool, { remaining }]) => [pool, remaining])),
    note: (note) => notes.push(note),
  })
  const hindered = notes.flatMap(({ event, candidate, message }) =>
    event === undefined ? [] : [blockedBy(candidate.nodeClaim, candidate.node, event, message)],
  )
  return { commands, candidates, notes, blocked: [...blocked, ...blockedPools(budgets, reason), ...hindered] }
}

export interface Candidates {
  /** All that may be disrupted, whatever for. */
  readonly eligible: readonly Candidate[]
  /** Those that the method is about. */
  readonly candidates: readonly Candidate[]
  readonly blocked: readonly Blocked[]
}

/** A method's candidates, and what keeps the other nodes (reference/karpenter-core.md 4.2, 4.5). */
export function candidatesFor(method: DisruptionMethod, view: DisruptionView, settings: FilterSettings): Candidates {
  const { eligible, blocked: ineligible } = eligibleNodes(view, methodFacts[method].isGraceful)
  const blocked = [...ineligible]
  const { reason } = methodFacts[method]
  const candidates = eligible.filter((candidate) => {
    if (settings.scope !== undefined && !isInScope(candidate, settings.scope)) return false
    if (settings.resting !== undefined && isResting(candidate, reason, settings.resting)) return false
    const paused = pauseOf(candidate, reason, view)
    if (paused !== undefined) {
      blocked.push(blockedBy(candidate.nodeClaim, candidate.node, 'DisruptionBlocked', paused))
      return false
    }
    const suitable = suits(method, candidate, settings)
    if (typeof suitable === 'string') blocked.push(unsuitable(candidate, suitable))
    return suitable === true
  })
  return { eligible, candidates, blocked }
}

type Eligible = Pick<Candidates, 'eligible' | 'blocked'>

/** Three methods are graceful and ask the same of one view. */
const graceful = new WeakMap<DisruptionView, Eligible>()

function eligibleNodes(view: DisruptionView, isGraceful: boolean): Eligible {
  const known = isGraceful ? graceful.get(view) : undefined
  if (known !== undefined) return known
  const eligible: Candidate[] = []
  const blocked: Blocked[] = []
  for (const one of view.nodes) {
    const found = eligibility(one, view, isGraceful)
    if (found.kind === 'candidate') eligible.push(found.candidate)
    else if (found.kind === 'blocked') blocked.push(found.blocked)
  }
  if (isGraceful) graceful.set(view, { eligible, blocked })
  return { eligible, blocked }
}

/** Who keeps a candidate from being disrupted for a reason, and why; undefined: nobody does. */
function pauseOf({ nodePool, node, nodeClaim }: Candidate, reason: DisruptionReason, view: DisruptionView) {
  const pause = view.pauses?.covering({
    nodePool: nodePool.metadata.name,
    node: node.metadata.name,
    nodeClaim: nodeClaim.metadata.name,
    reason,
  })
  return pause && capitalized(pauseText('disruption', pause))
}

/** A pool's budgets for one reason at one moment. */
export interface PoolBudget {
  readonly nodes: number
  /** What its budgets allow, before those nodes are taken off that are disrupted already. */
  readonly allowed: number
  readonly disrupted: readonly string[]
  readonly remaining: number
  /** Whether a schedule or a number cannot be read, so that nothing is allowed. */
  readonly invalid: boolean
}

/** What may still be disrupted of each pool (reference/karpenter-core.md 4.10). */
export function remainingBudgets(view: DisruptionView, reason: DisruptionReason): ReadonlyMap<string, PoolBudget> {
  const counts = poolCounts(view)
  return new Map(
    [...view.nodePools].map(([name, pool]) => {
      const { nodes, disrupted } = counts.get(name) ?? { nodes: 0, disrupted: [] }
      const { allowed, invalid } = allowedDisruptions({
        budgets: pool.disruption.budgets,
        nodes,
        reason,
        now: view.now,
      })
      return [name, { nodes, allowed, disrupted, invalid, remaining: Math.max(0, allowed - disrupted.length) }]
    }),
  )
}

export function blockedPools(budgets: ReadonlyMap<string, PoolBudget>, reason: DisruptionReason): readonly Blocked[] {
  return [...budgets]
    .filter(([, { nodes, allowed }]) => nodes > 0 && allowed === 0)
    .map(([name]) => ({
      object: { kind: 'NodePool', name },
      reason: 'DisruptionBlocked',
      message: `No allowed disruptions for disruption reason ${reason} due to blocking budget`,
    }))
}
