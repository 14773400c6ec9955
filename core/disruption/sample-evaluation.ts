// Settings of evaluations for tests.
import { wellKnownLabels } from '../requirements/labels.ts'
import type { EvaluationSettings } from './evaluate.ts'
import { neverFirst } from './methods/context.ts'
import { joinerPolicy } from './policy.ts'

/** Joiner's own decisions with these instance types, by NodePool, and no gate on. */
export function sampleEvaluation(
  instanceTypes: EvaluationSettings['instanceTypes'],
  change: Partial<EvaluationSettings> = {},
): EvaluationSettings {
  return {
    instanceTypes,
    wellKnown: wellKnownLabels,
    scheduling: {},
    spotToSpot: false,
    terminateFirst: neverFirst,
    policy: joinerPolicy,
    ...change,
  }
}
