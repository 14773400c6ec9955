// What refusals say of an AKSNodeClass when Azure names no size as their cause (docs/adr/0037-refusals-of-a-class.md).
import { sizeMark } from '../capacity/lasting-mark.ts'
import { digest, type Mark, type Marks, markKey, type SizeMark } from '../capacity/mark.ts'
import {
  added,
  classMarkOf,
  firstWaitMs,
  isRefused,
  markedMs,
  trials,
  withMark,
  without,
  withTrials,
} from './class-marks.ts'
import { hasTurn } from './class-turns.ts'

/** How long a size is on trial; then it is offered again, to one launch. */
const trialMs = 10 * 60_000
/** Time for the answers to launches that are under way at the first refusal: one of them may show the cause. */
const underWayMs = 1000
/** Refusals with other words and the same code have one cause when so many sizes got them. */
const sizesOfCode = 3
/** How many sizes more it takes where sizes are known to differ. */
const sizesThatDiffer = 2

/** A refusal that names no cause which another size avoids. */
export interface ClassRefusal {
  readonly nodeClass: string
  readonly instanceType: string
  readonly family: string
  readonly capacityType: string
  readonly code: string
  /** What it has in common with others (`refusal-signature.ts`). */
  readonly signature: string
  readonly reason: string
  readonly cause: string
  /** The turn in which it was launched; empty when it needed none. */
  readonly turn: string
  /** Of class and settings, as `stateOf` gives it. */
  readonly state: string
}

/** The sizes of a class that Azure refused without a cause that they have. */
export function refusedSizes(marks: Marks, nodeClass: string, nowMs: number): ReadonlySet<string> {
  const own = [...marks.values()].filter((mark): mark is SizeMark => isRefused(mark, nodeClass) && mark.untilMs > nowMs)
  return new Set([
    ...own.map(({ instanceType }) => instanceType),
    ...(classMarkOf(marks, nodeClass, nowMs)?.sizes ?? []),
  ])
}

/**
 * Records a refusal. The first marks its size on trial. A second size with an equal one shows that the size is not the cause: the class is marked, and the
 * sizes are not any more.
 */
export function withRefusal(marks: Marks, refused: ClassRefusal, nowMs: number): Marks {
  const { nodeClass, instanceType, family, capacityType, code, reason, cause, turn, state } = refused
  const refusal = digest(refused.signature)
  const mark = classMarkOf(marks, nodeClass, nowMs)
  const common = { kind: 'class', reason: 'CommonLaunchFailure', nodeClass, cause, code, refusal } as const
  if (mark !== undefined)
    return withMark(marks, {
      ...mark,
      ...common,
      untilMs: nowMs + markedMs,
      sizes: added(mark.sizes, instanceType),
      families: added(mark.families, family),
      capacityTypes: added(mark.capacityTypes, capacityType),
    })
  const others = trials(marks, nodeClass, nowMs).filter((one) => one.instanceType !== instanceType)
  const equal = others.filter((one) => one.refusal === refusal)
  const alike = others.filter(({ trial }) => trial.code === code)
  // Where Azure accepted other sizes after an equal refusal, sizes are known to differ in it.
  const differs = [...marks.values()].some((one) => isSettled(one, nodeClass, nowMs) && one.refusal === refusal)
  const more = differs ? sizesThatDiffer : 0
  const found = equal.length > more ? equal : alike.length >= sizesOfCode - 1 + more ? alike : []
  if (found.length > 0)
    return withMark(without(marks, found), {
      ...common,
      untilMs: nowMs + markedMs,
      sizes: [...found.map((one) => one.instanceType), instanceType],
      families: added(
        found.map(({ trial }) => trial.family),
        family,
      ),
      capacityTypes: added(
        found.map(({ trial }) => trial.capacityType),
        capacityType,
      ),
      states: [state],
      waitMs: firstWaitMs,
      nextAtMs: nowMs + firstWaitMs,
      turn: '',
    })
  const heldUntilMs = Math.max(
    nowMs + underWayMs,
    ...trials(marks, nodeClass, nowMs).map(({ trial }) => trial.nextAtMs),
  )
  const isAnswer = turn !== '' && hasTurn(marks, nodeClass, { turn, nowMs })
  const next = isAnswer
    ? { turn: '', nextAtMs: nowMs }
    : {
        turn: trials(marks, nodeClass, nowMs).find(({ trial }) => trial.nextAtMs > nowMs)?.trial.turn ?? '',
        nextAtMs: heldUntilMs,
      }
  const size = sizeMark(marks, { instanceType, nodeClass, reason, cause }, nowMs)
  const marked = withMark(marks, {
    ...size,
    untilMs: nowMs + trialMs,
    refusal,
    state,
    trial: { code, family, capacityType, ...next },
  })
  return withTrials(marked, nodeClass, { nowMs, ...next })
}

/**
 * Records that Azure accepted a VM of a class: what was refused before was for its size, unless it is this one.
 */
export function withAcceptance(
  marks: Marks,
  { nodeClass, instanceType }: Pick<ClassRefusal, 'nodeClass' | 'instanceType'>,
  nowMs: number,
): Marks {
  const mark = classMarkOf(marks, nodeClass, nowMs)
  const tried = trials(marks, nodeClass, nowMs)
  if (mark === undefined && tried.length === 0) return marks
  const after = new Map(marks)
  for (const { trial: _, ...size } of tried) {
    if (size.instanceType === instanceType) after.delete(markKey(size))
    else after.set(markKey(size), { ...size, untilMs: nowMs + size.lastsMs })
  }
  if (mark === undefined) return after
  after.delete(markKey(mark))
  if (mark.sizes.includes(instanceType)) return after
  const { refusal, cause = '', states } = mark
  const state = states.at(-1) ?? ''
  for (const size of mark.sizes) {
    const refused = sizeMark(marks, { instanceType: size, nodeClass, reason: 'SizeRefused', cause }, nowMs)
    after.set(markKey(refused), { ...refused, refusal, state })
  }
  return after
}

/** Forgets refusals of sizes that a class was refused in another state: now it asks for something else. */
export function withoutStale(marks: Marks, nodeClass: string, state: string): Marks {
  const stale = [...marks.values()].filter((mark) => isRefused(mark, nodeClass) && mark.state !== state)
  return stale.length === 0 ? marks : without(marks, stale)
}

const isSettled = (mark: Mark, nodeClass: string, nowMs: number): mark is SizeMark =>
  isRefused(mark, nodeClass) && mark.trial === undefined && mark.untilMs > nowMs

/** What of a class and of Joiner's settings goes into the request for a VM, as a digest. */
export const stateOf = (parts: readonly unknown[]) => digest(JSON.stringify(parts))
