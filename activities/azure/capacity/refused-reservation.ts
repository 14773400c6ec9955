import { type FailureFacts, ruleFor } from '../arm/azure-failure-rules.ts'
import type { LearnDeps, Lesson } from './lesson.ts'
import type { AttemptedLaunch } from './refused-size.ts'

/** How long a refused reservation is not offered. Its group is read once a minute, so by then more is known. */
const refusedMs = 3 * 60_000

/**
 * Whether the refusal of a VM in a capacity reservation, which is no lack of capacity or quota, is the reservation's: it speaks of it, or nothing explains
 * it. The reservation is the more special part of the choice, so the size is not blamed.
 */
export function isAboutReservation(facts: FailureFacts, { wasAccepted }: AttemptedLaunch): boolean {
  const { status = 400, text } = facts
  if (status >= 500 || status === 429) return false
  if (/capacity ?reservation/i.test(text)) return true
  const { reason, isUnexplained } = ruleFor(facts)
  return wasAccepted !== true && (isUnexplained === true || reason === 'InvalidRequest')
}

/**
 * Marks the reservation of a refused VM: it is not offered for a while, and what can be bought otherwise is not affected. `isFull`: capacity or quota is
 * missing. Errors: those of the API server.
 */
export async function learnOfReservation(
  { unavailable }: Pick<LearnDeps, 'unavailable'>,
  { instanceType, zone, capacityType }: AttemptedLaunch,
  { code, isFull }: { readonly code: string; readonly isFull: boolean },
): Promise<Lesson> {
  const reason = isFull ? 'ReservedCapacityFull' : 'CapacityReservationRefused'
  const offering = { instanceType, zone, capacityType, family: '', vCpus: 0 }
  await unavailable.mark(offering, 'zoneOfCapacityType', { ttlMs: refusedMs, reason, zones: [] })
  const called = `the capacity reservation of ${instanceType} in ${zone === '0' ? 'the region' : `zone ${zone}`}`
  const message = isFull
    ? `${called} has no room (${code}); another offering is tried`
    : `${called} was refused (${code}); check that its group exists and that the identity has the role "Joiner reservations" on it (docs/capacity-reservations.md). Another offering is tried`
  return { kind: 'capacity', reason, message }
}
