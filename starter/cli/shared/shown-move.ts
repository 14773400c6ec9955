import { causeTitle } from '../../../core/disruption/verdicts/cause-text.ts'
import type { Move } from '../../../core/disruption/verdicts/verdict.ts'

/** A move with the text of its cause, as people and scripts read it. */
export interface ShownMove extends Move {
  readonly message: string
}

/** Returns the move with the text of its cause. */
export function shownMove(move: Move): ShownMove {
  return { ...move, message: causeTitle(move.cause) }
}
