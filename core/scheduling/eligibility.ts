import type { Pod } from '../objects.ts'
import { labels } from '../requirements/labels.ts'
import { operatorOf } from '../requirements/requirement.ts'
import { requirementErrors } from '../requirements/requirement-rules.ts'
import { podRequirements } from '../requirements/requirements.ts'

/**
 * Why a pod is left out before anything is tried, with all reasons there are; undefined when it can be tried (reference/karpenter-core.md 3.2).
 * `volumes` is what is wrong with its volumes.
 */
export function ignoredBecause(
  pod: Pod,
  volumes: string | undefined,
  wellKnown: ReadonlySet<string>,
): string | undefined {
  const terms = pod.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? []
  const selected = Object.entries(pod.nodeSelector).map(([key, value]) => ({
    key,
    operator: 'In' as const,
    values: [value],
  }))
  const reasons = [
    ...(shunsKarpenter(pod) ? [notOnKarpenter] : []),
    ...selected.flatMap((entry) => requirementErrors(entry, wellKnown)),
    ...terms.flatMap(({ matchFields = [], matchExpressions = [] }) => [
      ...(matchFields.length > 0 ? ['node selector term with matchFields is not supported'] : []),
      ...matchExpressions.flatMap((entry) => requirementErrors(entry, wellKnown)),
    ]),
    ...(volumes === undefined ? [] : [volumes]),
  ]
  return reasons.length === 0 ? undefined : `ignoring pod, ${reasons.join('; ')}`
}

const notOnKarpenter = `configured to not run on a Karpenter provisioned node (requirement=${labels.nodePool} DoesNotExist)`

/** A wish counts as well as a demand. */
function shunsKarpenter(pod: Pod): boolean {
  const nodePool = podRequirements(pod, { strict: false }).get(labels.nodePool)
  return nodePool !== undefined && operatorOf(nodePool) === 'DoesNotExist'
}
