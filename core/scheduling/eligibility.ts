import type { Pod, RequirementSpec } from '../objects.ts'
import { labels } from '../requirements/labels.ts'
import { operatorOf } from '../requirements/requirement.ts'
import { requirementErrors } from '../requirements/requirement-rules.ts'
import { podRequirements } from '../requirements/requirements.ts'
import type { IgnoredReason, UnschedulableCause, VolumeProblem } from './unschedulable.ts'

/**
 * Returns all reasons to leave out a pod before any attempt; undefined when it can be tried (reference/karpenter-core.md 3.2). `volumes`: the problem
 * of its volumes.
 */
export function ignoredBecause(
  pod: Pod,
  volumes: VolumeProblem | undefined,
  wellKnown: ReadonlySet<string>,
): UnschedulableCause | undefined {
  const terms = pod.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? []
  const selected = Object.entries(pod.nodeSelector).map(([key, value]) => ({
    key,
    operator: 'In' as const,
    values: [value],
  }))
  const invalid = (requirement: RequirementSpec): readonly IgnoredReason[] => {
    const errors = requirementErrors(requirement, wellKnown)
    return errors.length === 0 ? [] : [{ kind: 'requirement', requirement, errors }]
  }
  const reasons: readonly IgnoredReason[] = [
    ...(shunsKarpenter(pod) ? [{ kind: 'not-on-karpenter' } as const] : []),
    ...selected.flatMap(invalid),
    ...terms.flatMap(({ matchFields = [], matchExpressions = [] }) => [
      ...(matchFields.length > 0 ? [{ kind: 'match-fields' } as const] : []),
      ...matchExpressions.flatMap(invalid),
    ]),
    ...(volumes === undefined ? [] : [{ kind: 'volumes', problem: volumes } as const]),
  ]
  return reasons.length === 0 ? undefined : { kind: 'ignored', reasons }
}

/** A preference counts as well as a requirement. */
function shunsKarpenter(pod: Pod): boolean {
  const nodePool = podRequirements(pod, { strict: false }).get(labels.nodePool)
  return nodePool !== undefined && operatorOf(nodePool) === 'DoesNotExist'
}
