import type { Pod } from '../../objects.ts'
import type { TopologyRule } from './topology-rules.ts'

/**
 * A rule as a pod states it. Rules of one id share their counts, and the first pod that states one decides for all; rules of one variant
 * are the same in every respect.
 */
export interface StatedRule {
  readonly rule: TopologyRule
  readonly variant: string
  readonly pod: Pod
}

/** The id of a rule leaves out what upstream leaves out; its variant holds all that the rule was made of. */
export function stated(rule: TopologyRule, pod: Pod): StatedRule {
  const required = pod.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution
  const filtered = rule.kind === 'topology spread' ? [pod.nodeSelector, required] : []
  const variant = JSON.stringify([rule.id, rule.minDomains, rule.selector, pod.tolerations, filtered])
  return { rule, variant, pod }
}

/** Whether a statement means the same for two pods: they are levels of one pod, but for what a spread's nodes are filtered by. */
export function isStatedAlike(a: Pod, b: Pod): boolean {
  const required = ({ affinity }: Pod) => affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution
  return (
    a.metadata === b.metadata &&
    a.tolerations === b.tolerations &&
    a.nodeSelector === b.nodeSelector &&
    required(a) === required(b)
  )
}
