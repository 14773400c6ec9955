// What Joiner learns from refusals that name no cause which another choice avoids (docs/adr/0037-refusals-of-a-class.md).
import { setConditions } from '../../kubernetes/client/status-writes.ts'
import { subject } from '../../kubernetes/event-recorder.ts'
import { NotItsTurn } from '../arm/azure-failure.ts'
import type { FailureFacts } from '../arm/azure-failure-rules.ts'
import type { LearnDeps, Lesson } from '../capacity/lesson.ts'
import type { ClassMark } from '../capacity/mark.ts'
import type { AttemptedLaunch } from '../capacity/refused-size.ts'
import { classMarkOf } from './class-marks.ts'
import { withAcceptance, withRefusal } from './class-refusals.ts'
import { withTurnBack } from './class-turns.ts'
import { causeOf, codeOf, refusalSignature } from './refusal-signature.ts'

/**
 * Marks the size on trial, or the class when another size was refused alike: then `NotItsTurn` says how long to wait. Errors besides: those of the
 * API server.
 */
export async function learnFromClassRefusal(
  deps: LearnDeps,
  { reason, ...facts }: FailureFacts & { readonly reason: 'SizeRefused' | 'RepeatedFailure' },
  { nodeClass, instanceType, capacityType, turn = '', state = '', ...names }: AttemptedLaunch,
): Promise<Lesson> {
  const cause = causeOf(facts)
  const refused = {
    nodeClass,
    instanceType,
    capacityType,
    family: deps.catalogue.size(instanceType)?.family ?? '',
    code: codeOf(facts),
    signature: refusalSignature(facts, { instanceType, ...names }),
    reason,
    cause,
    turn,
    state,
  }
  const before = classMarkOf(deps.unavailable.marks, nodeClass, deps.now())
  const marks = await deps.unavailable.change((known, nowMs) => withRefusal(known, refused, nowMs))
  const mark = classMarkOf(marks, nodeClass, deps.now())
  if (mark === undefined)
    return {
      kind: 'capacity',
      reason,
      message: `Azure refused ${instanceType} without naming it as the cause; another size is tried. Azure said: ${cause}`,
    }
  const message = commonRefusalMessage(mark)
  if (before?.refusal !== mark.refusal) await reportCommonCause(deps, nodeClass, message)
  throw new NotItsTurn(message, { waitMs: mark.nextAtMs - deps.now() })
}

/** Returns what a class is marked for, in Azure's words, and what goes on. */
export function commonRefusalMessage({ nodeClass, sizes, cause = '', nextAtMs }: ClassMark): string {
  const some = `${sizes.slice(0, 3).join(', ')}${sizes.length > 3 ? ' and others' : ''}`
  const next = `${new Date(nextAtMs).toISOString().slice(0, 19)}Z`
  return `Azure refuses what AKSNodeClass ${nodeClass} asks for whatever the size (${some}); correct what Azure names in the AKSNodeClass or in Joiner's settings. Azure said: ${cause.replace(/\.$/, '')}. One launch is tried at ${next}, or after a change, or now with "joiner blocked capacity clear --node-class ${nodeClass}"`
}

/** Publishes a cause that all sizes of a class share, as event and condition of the class. */
export async function reportCommonCause(deps: LearnDeps, name: string, message: string): Promise<void> {
  const nodeClass = deps.cache.nodeClasses.get(name)
  if (nodeClass === undefined) return
  deps.log.warn({ nodeClass: name, why: message }, 'launches of all sizes fail alike')
  deps.events.record({ about: subject(nodeClass), reason: 'CommonLaunchFailure', message, values: [name] })
  await setConditions(deps, { kind: 'AKSNodeClass', ref: nodeClass.metadata }, () => ({
    conditions: [{ type: 'LaunchHealthy', status: 'False', reason: 'CommonLaunchFailure', message }],
  }))
}

/** Records that Azure accepted a VM of the class. Errors: those of the API server. */
export async function learnFromAcceptance(
  { unavailable }: Pick<LearnDeps, 'unavailable'>,
  accepted: Pick<AttemptedLaunch, 'nodeClass' | 'instanceType'>,
): Promise<void> {
  await unavailable.change((marks, nowMs) => withAcceptance(marks, accepted, nowMs))
}

/** Lets the next launch of the class go, when this one had the turn and its answer said nothing of the class. */
export async function giveTurnBack(
  { unavailable }: Pick<LearnDeps, 'unavailable'>,
  { nodeClass, turn = '' }: Pick<AttemptedLaunch, 'nodeClass' | 'turn'>,
  isCapacity: boolean,
): Promise<void> {
  if (turn === '') return
  await unavailable.change((marks, nowMs) => withTurnBack(marks, nodeClass, { turn, nowMs, isCapacity }))
}
