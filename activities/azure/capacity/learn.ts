// What Joiner learns from launches that failed and from those that did not: what to leave out, and causes that no choice avoids.
import { conditionOf } from '../../../core/conditions.ts'
import { limits } from '../../../core/node-claim/limits.ts'
import { setConditions } from '../../kubernetes/client/status-writes.ts'
import { subject } from '../../kubernetes/event-recorder.ts'
import { classifyRefusal } from '../arm/azure-error.ts'
import { LaunchBlocked } from '../arm/azure-failure.ts'
import { type FailureFacts, ruleFor } from '../arm/azure-failure-rules.ts'
import { refreshDrift } from '../node-class/drift.ts'
import { isPinned, isProven, withWorkingImages, workingImage } from '../node-class/image-standing.ts'
import { classMarkOf } from '../refusals/class-marks.ts'
import {
  giveTurnBack,
  learnFromAcceptance,
  learnFromClassRefusal,
  reportCommonCause,
} from '../refusals/learn-refusal.ts'
import { causeOf, codeOf } from '../refusals/refusal-signature.ts'
import type { RefusedImage } from './lasting-mark.ts'
import type { UnexplainedFailure } from './launch-health.ts'
import type { JoinedLaunch, LearnDeps, Lesson } from './lesson.ts'
import { markRefused } from './refusal.ts'
import { type AttemptedLaunch, avoidable } from './refused-size.ts'

const suspicions: ReadonlySet<string> = new Set(['RepeatedFailure', 'RegistrationTimeout'])

/**
 * Marks what a failed launch shows not to work: what Azure names, or a size or class that it refuses without a cause. Undefined: the failure says nothing of
 * the choice, and is retried as `azure-failure-rules.ts` has it. Errors: `LaunchBlocked` when sizes fail alike, so that the cause is not theirs; those of the
 * API server.
 */
export async function learnFromRefusal(
  deps: LearnDeps,
  facts: FailureFacts,
  attempted: AttemptedLaunch,
): Promise<Lesson | undefined> {
  const lesson = await learnFromNamed(deps, facts, attempted)
  if (lesson !== undefined) {
    await giveTurnBack(deps, attempted, true)
    return lesson
  }
  const rule = ruleFor(facts)
  const isRefused = rule.reason === 'InvalidRequest'
  if (isRefused || rule.isUnexplained === true) {
    if (attempted.wasAccepted === true) return learnFromFailure(deps, facts, attempted)
    // What may pass by itself is a refusal when it repeats.
    const { nodeClass, instanceType } = attempted
    const isCertain = isRefused || isClientError(facts.status)
    if (isCertain || deps.launchHealth.refusedAgain(nodeClass, instanceType, facts.code))
      return learnFromClassRefusal(deps, { ...facts, reason: isCertain ? 'SizeRefused' : 'RepeatedFailure' }, attempted)
  }
  await giveTurnBack(deps, attempted, false)
  return undefined
}

/** A 4xx that says that the request is wrong: no conflict, no limit of time or rate. */
const isClientError = (status = 0) => status >= 400 && status < 500 && ![404, 408, 409, 412, 425, 429].includes(status)

/** Marks what Azure names. Undefined: it names nothing of the choice. */
async function learnFromNamed(
  deps: LearnDeps,
  facts: FailureFacts,
  attempted: AttemptedLaunch,
): Promise<Lesson | undefined> {
  const found = avoidable(facts, attempted)
  const refusal =
    classifyRefusal(facts.code, facts.text, attempted) ?? (found?.kind === 'offerings' ? found.refusal : undefined)
  if (attempted.capacityType === 'reserved' && (refusal !== undefined || isAboutReservation(facts, attempted)))
    return learnOfReservation(deps, attempted, { code: facts.code, isFull: refusal !== undefined })
  if (refusal !== undefined) {
    await markRefused(deps, attempted, refusal)
    const kind = refusal.scope === 'nothing' ? 'exhausted' : 'capacity'
    return { kind, reason: refusal.reason, message: refusal.remedy }
  }
  if (found?.kind === 'size') {
    await deps.unavailable.markSize(found.size)
    return { kind: 'capacity', reason: found.size.reason, message: found.remedy }
  }
  const { reason } = ruleFor(facts)
  const { nodeClass, image } = attempted
  return reason === 'ImageNotFound' ? giveUpImage(deps, { nodeClass, image, reason, cause: causeOf(facts) }) : undefined
}

/** Learns from a VM that failed after Azure had accepted it, for a cause that nothing is known of. */
async function learnFromFailure(
  deps: LearnDeps,
  facts: FailureFacts,
  attempted: AttemptedLaunch,
): Promise<Lesson | undefined> {
  const { nodeClass, instanceType } = attempted
  const cause = causeOf(facts)
  const lesson = await learnOfImage(deps, attempted, { reason: 'RepeatedFailure', cause })
  const signature = codeOf(facts)
  return lesson ?? learnFromUnexplained(deps, { nodeClass, instanceType, kind: 'failed', signature }, cause)
}

/** Counts a VM whose Node did not join in time, and marks its size when that was the second. Errors: as `learnFromRefusal`. */
export async function learnFromTimeout(
  deps: LearnDeps,
  { nodeClass, instanceType, image }: JoinedLaunch,
): Promise<void> {
  const cause = 'VMs ran, and their Nodes did not join in time'
  if (await learnOfImage(deps, { nodeClass, image }, { reason: 'RegistrationTimeout', cause })) return
  const failure = { nodeClass, instanceType, kind: 'notRegistered', signature: 'RegistrationTimeout' } as const
  await learnFromUnexplained(deps, failure, cause)
}

async function learnFromUnexplained(
  deps: LearnDeps,
  failure: UnexplainedFailure,
  cause: string,
): Promise<Lesson | undefined> {
  const { nodeClass, instanceType, kind } = failure
  const verdict = deps.launchHealth.failed(failure)
  if (verdict.kind === 'counted') return undefined
  if (verdict.kind === 'mark') {
    const reason = kind === 'notRegistered' ? 'RegistrationTimeout' : 'RepeatedFailure'
    await deps.unavailable.markSize({ instanceType, nodeClass, reason, cause })
    return { kind: 'capacity', reason, message: `${instanceType} failed repeatedly (${cause}); another size is chosen` }
  }
  await clearSuspicions(deps, nodeClass, verdict.sizes)
  const message = commonMessage(nodeClass, verdict.sizes, cause)
  if (verdict.isNew) await reportCommonCause(deps, nodeClass, message)
  throw new LaunchBlocked('CommonLaunchFailure', message, deps.launchHealth.waitMs(nodeClass))
}

const commonMessage = (nodeClass: string, sizes: readonly string[], cause: string) =>
  `${sizes.length} sizes of AKSNodeClass ${nodeClass} failed alike (${sizes.slice(0, 5).join(', ')}), so no size is excluded; find what they have in common: ${cause}. One launch at a time goes on`

/**
 * Records that Azure accepted a VM, or that its Node joined: what was counted against sizes of the class begins again, and a size that works is no longer
 * remembered as one that does not. Errors: those of the API server.
 */
export async function learnFromSuccess(
  deps: LearnDeps,
  { nodeClass, instanceType, image }: JoinedLaunch,
  stage: 'accepted' | 'registered',
): Promise<void> {
  if (stage === 'accepted') await learnFromAcceptance(deps, { nodeClass, instanceType })
  const { cleared } = deps.launchHealth.succeeded(nodeClass, stage)
  if (cleared.length > 0) await clearSuspicions(deps, nodeClass, cleared)
  if (stage === 'registered')
    await deps.unavailable.clearLasting((mark) =>
      mark.kind === 'size'
        ? mark.instanceType === instanceType && mark.untilMs <= deps.now()
        : mark.nodeClass === nodeClass && mark.image.toLowerCase() === image.toLowerCase(),
    )
  if (deps.launchHealth.commonCause(nodeClass) !== undefined) return
  if (classMarkOf(deps.unavailable.marks, nodeClass, deps.now()) !== undefined) return
  const seen = deps.cache.nodeClasses.get(nodeClass)
  if (seen === undefined || conditionOf(seen.status.conditions, 'LaunchHealthy')?.status !== 'False') return
  await setConditions(deps, { kind: 'AKSNodeClass', ref: seen.metadata }, () => ({
    conditions: [{ type: 'LaunchHealthy', status: 'True' }],
  }))
}

/**
 * Records that Azure had accepted a VM whose launch did not hear of it, or did not come to record it: others of the class may wait for that. One of long ago
 * says nothing of what Azure accepts now. Errors: those of the API server.
 */
export async function learnFromAdoption(
  deps: LearnDeps,
  launched: JoinedLaunch,
  createdMs = Number.NEGATIVE_INFINITY,
): Promise<void> {
  if (deps.now() - createdMs < limits.launch.attemptMs) await learnFromSuccess(deps, launched, 'accepted')
}

function clearSuspicions(deps: LearnDeps, nodeClass: string, sizes: readonly string[]): Promise<void> {
  const names = new Set(sizes)
  return deps.unavailable.clearLasting(
    (mark) =>
      mark.kind === 'size' &&
      suspicions.has(mark.reason) &&
      mark.nodeClass === nodeClass &&
      names.has(mark.instanceType),
  )
}

/** Holds a launch back while launches of its class fail for a common cause and it is not its turn. Errors: `LaunchBlocked` with the time to wait. */
export function takeLaunchTurn({ launchHealth }: Pick<LearnDeps, 'launchHealth'>, nodeClass: string): void {
  const waitMs = launchHealth.takeTurn(nodeClass)
  if (waitMs === 0) return
  const common = launchHealth.commonCause(nodeClass)
  const sizes = common?.sizes ?? []
  throw new LaunchBlocked('CommonLaunchFailure', commonMessage(nodeClass, sizes, common?.signature ?? ''), waitMs)
}

/**
 * Counts a failure against an image that no node has proved yet, and gives the image up at the second. Undefined: the image is proved or the only one, so
 * that the size may be at fault. Errors: those of the API server.
 */
async function learnOfImage(
  deps: LearnDeps,
  { nodeClass, image }: Pick<AttemptedLaunch, 'nodeClass' | 'image'>,
  why: { readonly reason: string; readonly cause: string },
): Promise<Lesson | undefined> {
  const claims = deps.cache.nodeClaims
  const seen = deps.cache.nodeClasses.get(nodeClass)
  if (image === '' || (seen && isPinned(seen)) || isProven(claims.values(), nodeClass, image)) return undefined
  if (workingImage(claims.values(), nodeClass, image) === undefined) return undefined
  if (!deps.launchHealth.failedOnTrial(nodeClass, image))
    return { kind: 'capacity', reason: why.reason, message: `a node with the new image ${image} failed: ${why.cause}` }
  return giveUpImage(deps, { nodeClass, image, ...why })
}

/** Marks an image and gives the class the one that works. Undefined: no other is known to work. Errors: those of the API server. */
async function giveUpImage(deps: LearnDeps, image: RefusedImage): Promise<Lesson | undefined> {
  const other = workingImage(deps.cache.nodeClaims.values(), image.nodeClass, image.image)
  const nodeClass = deps.cache.nodeClasses.get(image.nodeClass)
  if (other === undefined || (nodeClass && isPinned(nodeClass))) return undefined
  await deps.unavailable.markImage(image)
  const message = `node image ${image.image} is given up (${image.reason}: ${image.cause}); new nodes get ${other}`
  if (nodeClass !== undefined) {
    deps.log.warn({ nodeClass: image.nodeClass, why: message }, 'node image is given up')
    deps.events.record({ about: subject(nodeClass), reason: 'ImageGivenUp', message, values: [image.image] })
    const { images } = withWorkingImages(deps, nodeClass, nodeClass.status.images)
    await setConditions(deps, { kind: 'AKSNodeClass', ref: nodeClass.metadata }, () => ({
      conditions: [{ type: 'ImagesReady', status: 'True', message }],
      status: { images },
    }))
    // Nodes that have the image that works do not differ from the class any more, and must not be replaced.
    await refreshDrift(deps)
  }
  return { kind: 'capacity', reason: 'ImageGivenUp', message }
}

/** How long a refused reservation is not offered. Its group is read once a minute, so by then more is known. */
const refusedMs = 3 * 60_000

/**
 * Whether the refusal of a VM in a capacity reservation, which is no lack of capacity or quota, is the reservation's: it speaks of it, or nothing explains
 * it. The reservation is the more special part of the choice, so the size is not blamed.
 */
function isAboutReservation(facts: FailureFacts, { wasAccepted }: AttemptedLaunch): boolean {
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
async function learnOfReservation(
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
