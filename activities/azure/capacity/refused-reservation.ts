import { classifyRefusal } from '../arm/azure-error.ts'
import type { FailureFacts } from '../arm/azure-failure-rules.ts'
import type { LearnDeps, Lesson } from './lesson.ts'
import type { AttemptedLaunch } from './refused-size.ts'

/** How long a refused reservation is not offered. Its group is read once a minute, so by then more is known. */
const refusedMs = 3 * 60_000

/**
 * Learns from the refusal of a VM in a capacity reservation: a lack of capacity, or anything that Azure says about the reservation itself. It is
 * not offered for a while, and what can be bought otherwise is not affected. Undefined: the failure is about something else. Errors: those of the API
 * server.
 */
export async function learnOfReservation(
  { unavailable }: Pick<LearnDeps, 'unavailable'>,
  facts: FailureFacts,
  attempted: AttemptedLaunch,
): Promise<Lesson | undefined> {
  const isFull = classifyRefusal(facts.code, facts.text, attempted) !== undefined
  const isRefused = (facts.status ?? 400) < 500 && facts.status !== 429 && /capacity ?reservation/i.test(facts.text)
  if (!isFull && !isRefused) return undefined
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
