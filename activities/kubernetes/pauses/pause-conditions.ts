import { conditionOf } from '../../../core/conditions.ts'
import type { NodeClaim, NodePool } from '../../../core/objects.ts'
import { type Pause, type Pauses, pauseText } from '../../../core/pauses/pauses.ts'
import type { StatusWritesDeps } from '../client/status-writes.ts'
import { setConditions } from '../client/status-writes.ts'
import { subject } from '../event-recorder.ts'
import type { PauseDeps } from './pauses.ts'
import { removeOverPauses } from './pauses.ts'

export interface PauseConditionsDeps extends StatusWritesDeps, PauseDeps {}

const type = 'DisruptionPaused'

/**
 * Removes expired pauses and shows those in force; part of every regular pass over the cluster. It writes only
 * where something differs.
 */
export async function refreshPauses(deps: PauseConditionsDeps): Promise<Pauses> {
  const { pauses, removed } = await removeOverPauses(deps, deps.now())
  await keepPauseConditions(deps, pauses, removed > 0 ? 'its time is over' : 'no pause is in force any more')
  return pauses
}

/**
 * Keeps the condition DisruptionPaused, and publishes events when it comes and goes. On NodePools it covers pauses of the cluster, of the
 * pool and of a reason. On NodeClaims it covers those of that node, since a NodePool reports for all its nodes at once. `whyLifted` is published
 * where it goes.
 */
export async function keepPauseConditions(deps: PauseConditionsDeps, pauses: Pauses, whyLifted: string): Promise<void> {
  const { nodePools, nodeClaims } = deps.cache
  await Promise.all([
    ...[...nodePools.values()].map((pool) =>
      keep(
        deps,
        {
          kind: 'NodePool',
          object: pool,
          conditionsOf: ({ conditions }) => conditions,
          pauses: pauses.onNodePool(pool.metadata.name),
        },
        whyLifted,
      ),
    ),
    ...[...nodeClaims.values()].map((claim) =>
      keep(
        deps,
        {
          kind: 'NodeClaim',
          object: claim,
          conditionsOf: ({ status }) => status.conditions,
          pauses: pauses.onNodeClaim(claim.metadata.name, claim.status.nodeName),
        },
        whyLifted,
      ),
    ),
  ])
}

interface Kinds {
  readonly NodePool: NodePool
  readonly NodeClaim: NodeClaim
}

/** An object, and the pauses that its condition covers. */
interface Covered<K extends keyof Kinds> {
  readonly kind: K
  readonly object: Kinds[K]
  readonly conditionsOf: (object: Kinds[K]) => NodePool['conditions']
  readonly pauses: readonly Pause[]
}

async function keep<K extends keyof Kinds>(
  deps: PauseConditionsDeps,
  { kind, object, conditionsOf, pauses }: Covered<K>,
  whyLifted: string,
): Promise<void> {
  const message = pauses.map((pause) => pauseText('disruption', pause)).join('; ')
  const isAsIs = (current: Kinds[K]) => (conditionOf(conditionsOf(current), type)?.message ?? '') === message
  if (isAsIs(object) || object.metadata.deletionTimestamp !== undefined) return
  let before: Kinds[K] | undefined
  const after = await setConditions(deps, { kind, ref: object.metadata }, (current) => {
    before = current
    if (isAsIs(current)) return undefined
    return message === '' ? { clear: [type] } : { conditions: [{ type, status: 'True', reason: 'Paused', message }] }
  })
  // Another process was first and has published it.
  if (after === undefined || after === before) return
  const { uid } = object.metadata
  if (message === '') {
    const was = before === undefined ? '' : (conditionOf(conditionsOf(before), type)?.message ?? '')
    deps.events.record({
      about: subject(object),
      reason: 'DisruptionResumed',
      message: `${whyLifted}; was: ${was}`,
      values: [uid, was],
    })
  } else deps.events.record({ about: subject(object), reason: 'DisruptionPaused', message, values: [uid, message] })
}
