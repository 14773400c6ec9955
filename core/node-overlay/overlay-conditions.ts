import type { ConditionChange } from '../conditions.ts'
import type { OverlayOutcome } from './evaluate-overlays.ts'

/** Returns the condition that tells an overlay's outcome (reference/karpenter-core.md 1.3). */
export function overlayCondition(outcome: OverlayOutcome): ConditionChange {
  const type = 'ValidationSucceeded'
  switch (outcome.kind) {
    case 'valid':
      return { type, status: 'True' }
    case 'invalid':
      return { type, status: 'False', reason: 'RuntimeValidation', message: outcome.message }
    case 'conflict':
      return { type, status: 'False', reason: 'Conflict', message: 'conflict with another overlay' }
  }
}
