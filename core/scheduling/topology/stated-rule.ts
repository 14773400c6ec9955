import type { Pod } from '../../objects.ts'
import type { TopologyRule } from './topology-rules.ts'

/**
 * A rule as a pod states it. Rules of one id share their counts, and the first pod that states one decides for all. Rules of one variant are equal in
 * every respect.
 */
export interface StatedRule {
  readonly rule: TopologyRule
  readonly variant: string
  readonly pod: Pod
}

/** Returns a rule with id and variant. The id omits what upstream omits; the variant holds every input of the rule. */
export function stated(rule: TopologyRule, pod: Pod): StatedRule {
  const variant = JSON.stringify([rule.id, rule.selector, pod.tolerations])
  return { rule, variant, pod }
}

/** Whether a statement means the same for two pods: levels of one pod. */
export function isStatedAlike(a: Pod, b: Pod): boolean {
  const required = ({ affinity }: Pod) => affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution
  return (
    a.metadata === b.metadata &&
    a.tolerations === b.tolerations &&
    a.nodeSelector === b.nodeSelector &&
    required(a) === required(b)
  )
}
