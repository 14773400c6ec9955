// Marks of AKSNodeClasses, and of sizes that are on trial for one.
import {
  type ClassMark,
  classKey,
  forgottenAtMs,
  type LaunchTurn,
  type Mark,
  type Marks,
  markKey,
  type SizeMark,
} from '../capacity/mark.ts'

const minute = 60_000
/** How long a launch waits at first after a class was marked. */
export const firstWaitMs = 30_000
/** How long a class is marked after its last refusal: launches are tried long before. */
export const markedMs = 60 * minute
const mostKept = 50

/** The mark of a class that has not run out. */
export function classMarkOf(marks: Marks, nodeClass: string, nowMs: number): ClassMark | undefined {
  const mark = marks.get(classKey(nodeClass))
  return mark?.kind === 'class' && mark.untilMs > nowMs ? mark : undefined
}

type Trial = SizeMark & { readonly trial: NonNullable<SizeMark['trial']> }

/** The sizes of a class that are on trial. What is remembered counts: no VM was accepted since. */
export function trials(marks: Marks, nodeClass: string, nowMs: number): readonly Trial[] {
  return [...marks.values()].filter(
    (mark): mark is Trial => isRefused(mark, nodeClass) && mark.trial !== undefined && forgottenAtMs(mark) > nowMs,
  )
}

export function isRefused(mark: Mark, nodeClass: string): mark is SizeMark {
  return mark.kind === 'size' && mark.nodeClass === nodeClass && mark.refusal !== undefined
}

/** The sizes on trial of a class share one turn. */
export function withTrials(
  marks: Marks,
  nodeClass: string,
  { nowMs, turn, nextAtMs }: Pick<LaunchTurn, 'turn' | 'nextAtMs'> & { readonly nowMs: number },
): Marks {
  const after = new Map(marks)
  for (const size of trials(marks, nodeClass, nowMs))
    after.set(markKey(size), { ...size, trial: { ...size.trial, turn, nextAtMs } })
  return after
}

export const withMark = (marks: Marks, mark: Mark): Marks => new Map([...marks, [markKey(mark), mark]])

export function without(marks: Marks, gone: readonly Mark[]): Marks {
  const keys = new Set(gone.map(markKey))
  return new Map([...marks].filter(([key]) => !keys.has(key)))
}

export const added = (list: readonly string[], one: string) => [...new Set([...list, one])].slice(-mostKept)
