import { pauseText } from '../pauses/pauses.ts'
import { BalancedPolicy } from './balanced.ts'
import { allowedDisruptions } from './budgets/budgets.ts'
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
import type { DisruptionWorld } from './world.ts'

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
  world: DisruptionWorld,
  settings: MethodSettings & FilterSettings,
): MethodEvaluation {
  const { view, simulator } = world
  const { eligible, candidates, blocked } = candidatesFor(method, view, settings)
  const notes: Note[] = []
  if (candidates.length === 0) return { commands: [], blocked, candidates, notes }
  const { reason } = methodFacts[method]
  const budgets = remainingBudgets(view, reason)
  const context = methodContext(world, settings, { eligible, budgets, note: (note) => notes.push(note) })
  const needsPools = method !== 'emptiness' && method !== 'static-drift'
  const commands =
    needsPools && !simulator.hasPools ? noPools(candidates, context) : methods[method](candidates, context)
  const hindered = notes.flatMap(({ event, candidate, message }) =>
    event === undefined ? [] : [blockedBy(candidate.nodeClaim, candidate.node, event, message)],
  )
  return { commands, candidates, notes, blocked: [...blocked, ...blockedPools(budgets, reason), ...hindered] }
}

/** What a method works with in the world as it is now. `most`: how many nodes of a pool it may take at most, beside what budgets leave. */
export function methodContext(
  { view, simulator }: DisruptionWorld,
  settings: MethodSettings,
  given: Pick<Candidates, 'eligible'> &
    Pick<MethodContext, 'note'> & {
      readonly budgets: ReadonlyMap<string, PoolBudget>
      readonly most?: (nodePool: string) => number
    },
): MethodContext {
  const { eligible, budgets, note, most = () => Number.POSITIVE_INFINITY } = given
  const left = new Map([...budgets].map(([pool, { remaining }]) => [pool, Math.min(remaining, most(pool))]))
  return { view, simulator, settings, balanced: new BalancedPolicy(eligible, view), budgets: left, note }
}

/** Where no NodePool is ready nothing could be launched, whatever the candidates are. */
export function noPools(candidates: readonly Candidate[], context: MethodContext): readonly DisruptionCommand[] {
  for (const candidate of candidates) context.note({ candidate, outcome: 'hindered', message: 'no NodePool is ready' })
  return []
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
    const { node, nodeClaim, nodePool } = candidate
    const names = [node.metadata.name, nodeClaim.metadata.name]
    if (settings.scope !== undefined && !isInScope(nodePool.metadata.name, names, settings.scope)) return false
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
