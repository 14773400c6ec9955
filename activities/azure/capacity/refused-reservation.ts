import { classifyRefusal } from '../arm/azure-error.ts'
import { type FailureFacts, ruleFor } from '../arm/azure-failure-rules.ts'
import type { LearnDeps, Lesson } from './lesson.ts'
import { type AttemptedLaunch, avoidable } from './refused-size.ts'

/** How long a refused reservation is not offered. Its group is read once a minute, so by then more is known. */
const refusedMs = 3 * 60_000

/**
 * Learns from the refusal of a VM in a capacity reservation: a lack of capacity or quota, anything that Azure says about the reservation itself, and
 * what nothing explains. It is not offered for a while, and what can be bought otherwise is not affected. Undefined: the failure is about something else. Errors: those of the API
 * server.
 */
export async function learnOfReservation(
  { unavailable }: Pick<LearnDeps, 'unavailable'>,
  facts: FailureFacts,
  attempted: AttemptedLaunch,
): Promise<Lesson | undefined> {
  const isFull =
    classifyRefusal(facts.code, facts.text, attempted) !== undefined ||
    avoidable(facts, attempted)?.kind === 'offerings'
  if (!isFull && !isAboutReservation(facts, attempted)) return undefined
  const reason = isFull ? 'ReservedCapacityFull' : 'CapacityReservationRefused'
  const { instanceType, zone, capacityType } = attempted
  const offering = { instanceType, zone, capacityType, family: '', vCpus: 0 }
  await unavailable.mark(offering, 'zoneOfCapacityType', { ttlMs: refusedMs, reason, zones: [] })
  const place = zone === '0' ? 'the region' : `zone ${zone}`
  const message = isFull
    ? `the capacity reservation of ${instanceType} in ${place} has no room (${facts.code}); another offering is tried`
    : `the capacity reservation of ${instanceType} in ${place} was refused (${facts.code}); check that its group exists and that the identity has the role "Joiner reservations" on it (docs/capacity-reservations.md). Another offering is tried`
  return { kind: 'capacity', reason, message }
}

/** A refusal that nothing explains may be the reservation's, which is the more special part of the choice: the size is not blamed for it. */
function isAboutReservation(facts: FailureFacts, { wasAccepted }: AttemptedLaunch): boolean {
  const { status = 400, text } = facts
  if (status >= 500 || status === 429) return false
  if (/capacity ?reservation/i.test(text)) return true
  const { reason, isUnexplained } = ruleFor(facts)
  return wasAccepted !== true && (isUnexplained === true || reason === 'InvalidRequest')
}
