import { type ConditionChange, conditionOf } from '../conditions.ts'
import type { Condition, NodeClaim, NodePool } from '../objects.ts'

/** Whether the nodes of a pool join successfully. It is information only; nothing waits for it. */
export const registrationHealthy = 'NodeRegistrationHealthy'

/** Annotation of a NodePool with the outcomes that its condition does not show, while at least one of them is a failure. */
export const registrationsAnnotation = 'joiner.sh/registrations'

const remembered = 4
const failuresForUnhealthy = 2

/** Outcome of one NodeClaim's start. An empty UID stands for an unknown claim. */
export interface RegistrationOutcome {
  readonly claimUid: string
  readonly joined: boolean
}

/** Oldest first. Of successes older than every remembered failure only one is kept: the others decide nothing. */
export type RecentOutcomes = readonly RegistrationOutcome[]

export type RegistrationHealth = 'unknown' | 'healthy' | 'unhealthy'

/** Generations that outcomes are counted for: a change of the pool or of its node class starts a new count. */
interface Generations {
  readonly nodePool: number
  readonly nodeClass: number
}

/** Returns unhealthy from two failures among the last four on (reference/karpenter-core.md 5.1). */
export function registrationHealth(recent: RecentOutcomes): RegistrationHealth {
  if (recent.length === 0) return 'unknown'
  return recent.filter(({ joined }) => !joined).length >= failuresForUnhealthy ? 'unhealthy' : 'healthy'
}

/** Returns the outcomes with one more. A claim counts once, so that a repeated attempt changes nothing. */
export function withOutcome(recent: RecentOutcomes, outcome: RegistrationOutcome): RecentOutcomes {
  if (outcome.claimUid !== '' && recent.some(({ claimUid }) => claimUid === outcome.claimUid)) return recent
  const kept = [...recent, outcome].slice(-remembered)
  const firstFailure = kept.findIndex(({ joined }) => !joined)
  return firstFailure === -1 ? kept.slice(-1) : kept.slice(firstFailure)
}

/** Changes of status and annotations to write; empty when both are current. */
export interface HealthChange {
  /** `null` removes the annotation. */
  readonly annotation?: string | null
  readonly condition?: ConditionChange
}

/**
 * Returns the effect of a claim's start on its pool (reference/karpenter-core.md 5.1). The claim's Launched condition gives the reason of a failure,
 * unless it was launched and did not join. A claim that the pool does not own, such as one made by hand, has no effect.
 */
export function healthAfter(
  pool: NodePool,
  nodeClassGeneration: number,
  { claim, joined }: { readonly claim: NodeClaim; readonly joined: boolean },
): HealthChange {
  if (!claim.metadata.ownerReferences.some(({ kind, uid }) => kind === 'NodePool' && uid === pool.metadata.uid))
    return {}
  const generations = { nodePool: pool.metadata.generation ?? 1, nodeClass: nodeClassGeneration }
  const before = recentOutcomes(pool, generations)
  const after = withOutcome(before, { claimUid: claim.metadata.uid, joined })
  const health = registrationHealth(after)
  const current = currentCondition(pool, generations)?.status
  const annotation = after.every((outcome) => outcome.joined) ? null : formatOutcomes(after, generations)
  return {
    ...(annotation === (pool.metadata.annotations[registrationsAnnotation] ?? null) ? {} : { annotation }),
    ...(joined && health === 'healthy' && current !== 'True'
      ? { condition: { type: registrationHealthy, status: 'True' } }
      : {}),
    ...(!joined && health === 'unhealthy' && current !== 'False' ? { condition: failed(claim) } : {}),
  }
}

function failed(claim: NodeClaim): ConditionChange {
  const launched = conditionOf(claim.status.conditions, 'Launched')
  const why =
    launched?.status === 'True'
      ? { reason: 'RegistrationFailed', message: 'Failed to register node' }
      : { reason: launched?.reason ?? 'LaunchFailed', message: launched?.message ?? 'Failed to launch node' }
  return { type: registrationHealthy, status: 'False', ...why }
}

/**
 * Unknown for a pool whose condition is missing or is of another generation of the pool or its node class. Deletion raises a pool's generation
 * without a change of its spec, so its condition stays.
 */
export function healthReset(pool: NodePool, nodeClassGeneration: number): ConditionChange | undefined {
  if (pool.metadata.deletionTimestamp !== undefined) return undefined
  const generations = { nodePool: pool.metadata.generation ?? 1, nodeClass: nodeClassGeneration }
  if (currentCondition(pool, generations) !== undefined) return undefined
  return {
    type: registrationHealthy,
    status: 'Unknown',
    reason: 'AwaitingReconciliation',
    message: 'object is awaiting reconciliation',
  }
}

/** Read from the annotation; without one the condition stands for as many outcomes as it takes (reference/karpenter-core.md 5.1). */
export function recentOutcomes(pool: NodePool, generations: Generations): RecentOutcomes {
  const stored = parseOutcomes(pool.metadata.annotations[registrationsAnnotation], generations)
  if (stored !== undefined) return stored
  const forgotten = (joined: boolean) => ({ claimUid: '', joined })
  switch (currentCondition(pool, generations)?.status) {
    case 'True':
      return [forgotten(true)]
    case 'False':
      return Array.from({ length: failuresForUnhealthy }, () => forgotten(false))
    default:
      return []
  }
}

function currentCondition(pool: NodePool, { nodePool, nodeClass }: Generations): Condition | undefined {
  const condition = conditionOf(pool.conditions, registrationHealthy)
  const current = condition?.observedGeneration === nodePool && pool.nodeClassObservedGeneration === nodeClass
  return current ? condition : undefined
}

function formatOutcomes(recent: RecentOutcomes, generations: Generations): string {
  return JSON.stringify({
    ...generations,
    outcomes: recent.map(({ claimUid, joined }) => `${joined ? 'joined' : 'failed'} ${claimUid}`.trimEnd()),
  })
}

/** Undefined for outcomes of another generation, and for unreadable ones. */
function parseOutcomes(text: string | undefined, { nodePool, nodeClass }: Generations): RecentOutcomes | undefined {
  if (text === undefined) return undefined
  try {
    const stored = JSON.parse(text) as { nodePool?: unknown; nodeClass?: unknown; outcomes?: unknown }
    if (stored.nodePool !== nodePool || stored.nodeClass !== nodeClass || !Array.isArray(stored.outcomes))
      return undefined
    return stored.outcomes.slice(-remembered).map((entry) => {
      const [word, claimUid = ''] = String(entry).split(' ')
      return { claimUid, joined: word === 'joined' }
    })
  } catch {
    return undefined
  }
}
