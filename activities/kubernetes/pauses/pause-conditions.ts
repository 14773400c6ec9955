import { conditionOf } from '../../../core/conditions.ts'
import type { NodeClaim, NodePool } from '../../../core/objects.ts'
import { type LoopName, type Pause, Pauses, pauseText, scopeOf } from '../../../core/pauses/pauses.ts'
import { setConditions } from '../client/status-writes.ts'
import type { PauseChange, PausesWritten } from '../contract.ts'
import { subject } from '../event-recorder.ts'
import type { Parts, WriteDeps } from '../parts.ts'
import { type PauseDeps, readLoopPauses, removeOverPauses, writePause } from './pauses.ts'

export interface PauseConditionsDeps extends WriteDeps, PauseDeps {}

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
async function keepPauseConditions(deps: PauseConditionsDeps, pauses: Pauses, whyLifted: string): Promise<void> {
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

export type PauseChangesDeps = PauseConditionsDeps & PauseDeps & Pick<Parts, 'log'>

/** Returns the pauses of a loop, from which a new run of it starts. */
export async function pausesInForce(
  deps: PauseChangesDeps,
  loop: LoopName,
): Promise<{ readonly pause?: Pause; readonly partial?: readonly Pause[] }> {
  const inForce = await readLoopPauses(deps, loop, deps.now())
  const pause = new Pauses(inForce).wholeLoop
  const partial = inForce.filter((each) => scopeOf(each).kind !== 'cluster')
  return { ...(pause === undefined ? {} : { pause }), ...(partial.length === 0 ? {} : { partial }) }
}

/**
 * Writes an operator's request, then shows it on the objects that it covers. A pause is in force once it is written, so a condition that
 * cannot be set delays nothing: a later pass sets it.
 */
export async function changePauses(deps: PauseChangesDeps, change: PauseChange): Promise<PausesWritten> {
  const written = await writePause(deps, change, deps.now())
  deps.log.info({ ...change }, change.pause === undefined ? 'lifted pause' : 'applied pause')
  if (change.loop === 'disruption') {
    try {
      await keepPauseConditions(deps, new Pauses(written.inForce), whyLifted(change))
    } catch (error) {
      deps.log.warn({ err: error }, 'failed to write condition DisruptionPaused, retrying in a later pass')
    }
  }
  return written
}

function whyLifted({ pause, lift }: PauseChange): string {
  if (pause !== undefined) return 'replaced by another pause'
  if (lift === undefined) return 'its time is over'
  return lift.by === undefined ? 'resumed' : `resumed by ${lift.by}`
}
