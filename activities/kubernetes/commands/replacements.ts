import { isTrue } from '../../../core/conditions.ts'
import { untilDeadline } from '../../abortable-wait.ts'
import { claimTopic } from '../cache/change-feed.ts'
import { cachedClaim, liveClaim } from '../client/object-writes.ts'
import type { ClaimRef, CommandWork, ReplacementOutcome } from '../contract.ts'
import { subject } from '../event-recorder.ts'
import type { WriteDeps } from '../parts.ts'

export interface ReplacementsDeps extends WriteDeps {}

/**
 * Waits until every replacement of a command has been initialized once. Also ends when one is lost: it is gone or being deleted, because
 * its launch failed or a user deleted it.
 */
export async function awaitReplacements(
  deps: ReplacementsDeps,
  { replacements, readyByMs }: Pick<CommandWork, 'replacements'> & { readonly readyByMs: number },
  signal: AbortSignal,
): Promise<ReplacementOutcome> {
  // Read live: another process may have created them, ahead of this one's watch.
  await Promise.all(replacements.map((ref) => liveClaim(deps, ref)))
  const initialized = new Set<string>()
  const look = (): ReplacementOutcome | undefined => {
    for (const ref of replacements) {
      if (initialized.has(ref.uid)) continue
      const claim = cachedClaim(deps, ref)
      if (claim === undefined || claim.metadata.deletionTimestamp !== undefined)
        return { kind: 'lost', message: `replacement ${ref.name} was deleted before it was initialized` }
      if (isTrue(claim.status.conditions, 'Initialized')) initialized.add(ref.uid)
    }
    return initialized.size === replacements.length ? { kind: 'ready' } : undefined
  }
  if (look() === undefined) publishWaiting(deps, replacements)
  const topics = replacements.map(({ name }) => claimTopic(name))
  const outcome = await untilDeadline(readyByMs - deps.now(), signal, (both) => deps.cache.waitFor(topics, look, both))
  if (outcome !== 'timeout') return outcome
  const late = replacements.filter(({ uid }) => !initialized.has(uid)).map(({ name }) => name)
  return { kind: 'late', message: `not initialized in time: ${late.join(', ')}` }
}

function publishWaiting(deps: ReplacementsDeps, replacements: readonly ClaimRef[]): void {
  for (const ref of replacements) {
    const claim = cachedClaim(deps, ref)
    if (claim === undefined || isTrue(claim.status.conditions, 'Initialized')) continue
    const message = 'Waiting on readiness to continue disruption'
    deps.events.record({ about: subject(claim), reason: 'DisruptionWaitingReadiness', message })
  }
}
