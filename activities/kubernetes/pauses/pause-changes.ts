import type { Logger } from 'pino'
import { type LoopName, type Pause, Pauses, scopeOf } from '../../../core/pauses/pauses.ts'
import type { PauseChange, PausesWritten } from '../contract.ts'
import type { PauseConditionsDeps } from './pause-conditions.ts'
import { keepPauseConditions } from './pause-conditions.ts'
import type { PauseDeps } from './pauses.ts'
import { readLoopPauses, writePause } from './pauses.ts'

export interface PauseChangesDeps extends PauseConditionsDeps, PauseDeps {
  readonly log: Logger
}

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
