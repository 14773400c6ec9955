import type { Pod } from '../../core/objects.ts'
import { podName } from '../../core/pods/pod-rules.ts'
import type { Explanation } from '../../core/scheduling/explain/explanation.ts'
import { isHeavy } from '../../core/scheduling/pod-cost.ts'
import type { ExplainedPlan } from '../../core/scheduling/schedule.ts'
import type { ExplainRequest } from './messages.ts'

/** The last pass of the thread, kept until it was asked why pods found no place. Explanations come after the plan was answered and so delay no pod. */
export class LastPass {
  #pass: ExplainedPlan | undefined
  #pods: ReadonlyMap<string, Pod> = new Map()

  keep(pass: ExplainedPlan): void {
    const { unschedulable } = pass.plan
    this.#pass = unschedulable.length === 0 ? undefined : pass
    this.#pods = new Map(unschedulable.map(({ pod }) => [podName(pod), pod]))
  }

  /** Explains pods while the time lasts, by name. Leaves out those with so many constraints that one of them could take all of it. */
  explain(
    { pods, timeLimitMs }: ExplainRequest,
    inHand: (pod: Pod | undefined) => void,
  ): ReadonlyMap<string, Explanation> {
    const found = new Map<string, Explanation>()
    const endsAt = performance.now() + timeLimitMs
    for (const name of pods) {
      const pod = this.#pods.get(name)
      if (pod === undefined || isHeavy(pod)) continue
      if (performance.now() >= endsAt) break
      inHand(pod)
      const explanation = this.#pass?.explanation(pod)
      if (explanation !== undefined) found.set(name, explanation)
    }
    inHand(undefined)
    this.#pass = undefined
    this.#pods = new Map()
    return found
  }
}
