// What refusals say of an AKSNodeClass when Azure names no size as their cause, and whose turn it is to launch (docs/adr/0037-refusals-of-a-class.md).
import { sizeMark } from './lasting-mark.ts'
import {
  type ClassMark,
  classKey,
  digest,
  forgottenAtMs,
  type LaunchTurn,
  type Mark,
  type Marks,
  markKey,
  type SizeMark,
} from './mark.ts'

const second = 1000
const minute = 60 * second
const firstWaitMs = 30 * second
const longestWaitMs = 10 * minute
/** How long a class is marked after its last refusal: launches are tried long before. */
const markedMs = 60 * minute
/** How long a size is on trial; then it is offered again, to one launch. */
const trialMs = 10 * minute
/** Time for the answers to launches that are under way at the first refusal: one of them may show the cause. */
const underWayMs = second
/** Time for the answer to a launch that was let through; then the next one goes. */
const answerMs = 30 * second
/** Time until the next launch when the answer said nothing. */
const againMs = 5 * second
/** Refusals with other words and the same code have one cause when so many sizes got them. */
const sizesOfCode = 3
/** From so many families on the capacity type may be the cause. */
const familiesOfCapacityType = 3
const mostKept = 50

const nothingTried: Pick<ClassMark, 'sizes' | 'families' | 'capacityTypes'> = {
  sizes: [],
  families: [],
  capacityTypes: [],
}

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

/** Whether a launch of a class may go now. */
export type TurnOfClass =
  | { readonly kind: 'free' }
  /** As the only one, and preferably not with what was tried. */
  | { readonly kind: 'turn'; readonly tried?: Tried }
  | { readonly kind: 'wait'; readonly untilMs: number }

export interface Tried {
  readonly sizes: ReadonlySet<string>
  readonly families: ReadonlySet<string>
  readonly capacityTypes: ReadonlySet<string>
}

interface At {
  readonly nowMs: number
  readonly state: string
}

/** The mark of a class that has not run out. */
export function classMarkOf(marks: Marks, nodeClass: string, nowMs: number): ClassMark | undefined {
  const mark = marks.get(classKey(nodeClass))
  return mark?.kind === 'class' && mark.untilMs > nowMs ? mark : undefined
}

/** The sizes of a class that Azure refused without a cause that they have. */
export function refusedSizes(marks: Marks, nodeClass: string, nowMs: number): ReadonlySet<string> {
  const own = [...marks.values()].filter((mark): mark is SizeMark => isRefused(mark, nodeClass) && mark.untilMs > nowMs)
  return new Set([
    ...own.map(({ instanceType }) => instanceType),
    ...(classMarkOf(marks, nodeClass, nowMs)?.sizes ?? []),
  ])
}

/** Returns whether a launch of the class may go now: any, one, or none before a time. */
export function turnOf(marks: Marks, nodeClass: string, { nowMs, state }: At): TurnOfClass {
  const mark = classMarkOf(marks, nodeClass, nowMs)
  if (mark === undefined) {
    const held = trials(marks, nodeClass, nowMs).map(({ trial }) => trial.nextAtMs)
    if (held.length === 0) return { kind: 'free' }
    const nextAtMs = Math.max(...held)
    return nextAtMs > nowMs ? { kind: 'wait', untilMs: nextAtMs } : { kind: 'turn' }
  }
  if (mark.nextAtMs > nowMs && mark.states.includes(state)) return { kind: 'wait', untilMs: mark.nextAtMs }
  if (!mark.states.includes(state)) return { kind: 'turn' }
  const { sizes, families, capacityTypes } = mark
  const mayBeCapacityType = families.length >= familiesOfCapacityType
  return {
    kind: 'turn',
    tried: {
      sizes: new Set(sizes),
      families: new Set(families),
      capacityTypes: new Set(mayBeCapacityType ? capacityTypes : []),
    },
  }
}

/** A launch that takes its turn, and as what. */
export interface TakenTurn extends At {
  readonly turn: string
  readonly family: string
  readonly capacityType: string
}

/** Gives a launch its turn, unless another was given it. `hasTurn` says which. */
export function withTurn(marks: Marks, nodeClass: string, { turn, family, capacityType, ...at }: TakenTurn): Marks {
  const { nowMs, state } = at
  if (turnOf(marks, nodeClass, at).kind !== 'turn') return marks
  const mark = classMarkOf(marks, nodeClass, nowMs)
  if (mark === undefined) return withTrials(marks, nodeClass, { nowMs, turn, nextAtMs: nowMs + answerMs })
  const isChanged = !mark.states.includes(state)
  const waitMs = isChanged ? firstWaitMs : Math.min(mark.waitMs * 2, longestWaitMs)
  // What was refused was another request, if the class has changed since.
  const { sizes, families, capacityTypes } = isChanged ? nothingTried : mark
  return withMark(marks, {
    ...mark,
    turn,
    waitMs,
    nextAtMs: nowMs + waitMs,
    untilMs: nowMs + markedMs,
    sizes,
    families: families.includes(family) ? [family] : added(families, family),
    capacityTypes: added(capacityTypes, capacityType),
    states: added(mark.states, state),
  })
}

/** Whether the last turn of a class is this launch's. */
export function hasTurn(marks: Marks, nodeClass: string, { turn, nowMs }: Pick<TakenTurn, 'turn' | 'nowMs'>): boolean {
  const mark = classMarkOf(marks, nodeClass, nowMs)
  if (mark !== undefined) return mark.turn === turn
  return trials(marks, nodeClass, nowMs).some(({ trial }) => trial.turn === turn)
}

/** Lets the next launch go after one whose answer said nothing of the class: at once after a lack of capacity, which another offering avoids. */
export function withTurnBack(
  marks: Marks,
  nodeClass: string,
  { turn, nowMs, isCapacity }: { readonly turn: string; readonly nowMs: number; readonly isCapacity: boolean },
): Marks {
  if (!hasTurn(marks, nodeClass, { turn, nowMs })) return marks
  const mark = classMarkOf(marks, nodeClass, nowMs)
  if (mark === undefined)
    return withTrials(marks, nodeClass, { nowMs, turn: '', nextAtMs: isCapacity ? nowMs : nowMs + againMs })
  if (!isCapacity) return marks
  return withMark(marks, { ...mark, turn: '', nextAtMs: nowMs, waitMs: Math.max(mark.waitMs / 2, firstWaitMs) })
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
  const found = equal.length > 0 ? equal : alike.length >= sizesOfCode - 1 ? alike : []
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
    : { turn: turnHeld(marks, nodeClass, nowMs), nextAtMs: heldUntilMs }
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

/** What of a class and of Joiner's settings goes into the request for a VM, as a digest. */
export const stateOf = (parts: readonly unknown[]) => digest(JSON.stringify(parts))

type Trial = SizeMark & { readonly trial: NonNullable<SizeMark['trial']> }

/** The sizes of a class that are on trial. What is remembered counts: no VM was accepted since. */
function trials(marks: Marks, nodeClass: string, nowMs: number): readonly Trial[] {
  return [...marks.values()].filter(
    (mark): mark is Trial => isRefused(mark, nodeClass) && mark.trial !== undefined && forgottenAtMs(mark) > nowMs,
  )
}

function isRefused(mark: Mark, nodeClass: string): mark is SizeMark {
  return mark.kind === 'size' && mark.nodeClass === nodeClass && mark.refusal !== undefined
}

const turnHeld = (marks: Marks, nodeClass: string, nowMs: number) =>
  trials(marks, nodeClass, nowMs).find(({ trial }) => trial.nextAtMs > nowMs)?.trial.turn ?? ''

/** The sizes on trial of a class share one turn. */
function withTrials(
  marks: Marks,
  nodeClass: string,
  { nowMs, turn, nextAtMs }: Pick<LaunchTurn, 'turn' | 'nextAtMs'> & { readonly nowMs: number },
): Marks {
  const after = new Map(marks)
  for (const size of trials(marks, nodeClass, nowMs))
    after.set(markKey(size), { ...size, trial: { ...size.trial, turn, nextAtMs } })
  return after
}

const withMark = (marks: Marks, mark: Mark): Marks => new Map([...marks, [markKey(mark), mark]])

function without(marks: Marks, gone: readonly Mark[]): Marks {
  const keys = new Set(gone.map(markKey))
  return new Map([...marks].filter(([key]) => !keys.has(key)))
}

const added = (list: readonly string[], one: string) => [...new Set([...list, one])].slice(-mostKept)
