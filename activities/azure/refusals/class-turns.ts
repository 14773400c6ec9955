// Whose turn it is to launch while Azure refuses what an AKSNodeClass asks for (docs/adr/0037-refusals-of-a-class.md).
import type { ClassMark, Marks } from '../capacity/mark.ts'
import { added, classMarkOf, firstWaitMs, markedMs, trials, withMark, withTrials } from './class-marks.ts'

const second = 1000
const longestWaitMs = 10 * 60 * second
/** Time for the answer to a launch that was let through; then the next one goes. */
const answerMs = 30 * second
/** Time until the next launch when the answer said nothing. */
const againMs = 5 * second
/** From so many families on the capacity type may be the cause. */
const familiesOfCapacityType = 3
const nothingTried: Pick<ClassMark, 'sizes' | 'families' | 'capacityTypes'> = {
  sizes: [],
  families: [],
  capacityTypes: [],
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
