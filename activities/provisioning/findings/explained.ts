import type { Pod } from '../../../core/objects.ts'
import { podName } from '../../../core/pods/pod-rules.ts'
import { type Explanation, explanationOf } from '../../../core/scheduling/explain/explanation.ts'
import type { SchedulingPlan } from '../../../core/scheduling/snapshot.ts'
import { unschedulableText } from '../../../core/scheduling/unschedulable-text.ts'
import { hasPassed } from '../../../core/values/time.ts'
import { podFingerprint } from '../../scheduler-thread/pod-fingerprint.ts'
import type { PlannerParts } from '../parts.ts'
import { type CapacityDeps, withMissingCapacity } from './missing-capacity.ts'
import { withUnreadyPools } from './unready-pools.ts'

export type ExplainDeps = CapacityDeps & Pick<PlannerParts, 'cache' | 'log' | 'now' | 'solver'>

/** Pods without a place that the planner treats alike, with one of them that stands for all. */
interface Alike {
  readonly pod: Pod
  readonly cause: SchedulingPlan['unschedulable'][number]['cause']
  /** The cause in words, by which it is seen to have changed. */
  readonly text: string
}

interface Known {
  readonly text: string
  readonly explanation: Explanation
  readonly atMs: number
}

/** Classes of pods that are explained, the most frequent first. */
const mostClasses = 100
/** Time that the scheduler's thread may take for explanations after a pass. */
const explainMs = 100
/** Age from which an explanation is made again. */
const oldMs = 5000
/** Time without explanations after the thread has failed at one. */
const silenceMs = 10 * 60_000

/** What the scheduler has said about pods without a place. It is asked after a pass, for a short time; what it did not come to follows after the next. */
export class Explained {
  /** Likeness of each pod without a place, by UID. */
  #pods: ReadonlyMap<string, string> = new Map()
  #alike: ReadonlyMap<string, Alike> = new Map()
  readonly #known = new Map<string, Known>()
  #failedAt = Number.NEGATIVE_INFINITY

  /** Takes what a pass left without a place. `placed` and `present`: UIDs of pods that it placed, and of all that there are. */
  keep(
    unschedulable: SchedulingPlan['unschedulable'],
    placed: ReadonlySet<string>,
    present: ReadonlySet<string>,
  ): void {
    const pods = new Map([...this.#pods].filter(([uid]) => present.has(uid) && !placed.has(uid)))
    const found = new Map<string, { readonly alike: Alike; count: number }>()
    for (const { pod, cause } of unschedulable) {
      const likeness = podFingerprint(pod)
      pods.set(pod.metadata.uid, likeness)
      const group = found.get(likeness)
      if (group === undefined) found.set(likeness, { alike: { pod, cause, text: unschedulableText(cause) }, count: 1 })
      else group.count += 1
    }
    this.#pods = pods
    const sorted = [...found].sort(([, a], [, b]) => b.count - a.count)
    const still = new Set(pods.values())
    const before = [...this.#alike].filter(([likeness]) => still.has(likeness))
    this.#alike = new Map([...before, ...sorted.map(([likeness, { alike }]) => [likeness, alike] as const)])
    for (const likeness of this.#known.keys()) if (!still.has(likeness)) this.#known.delete(likeness)
  }

  /** Asks for explanations that are missing or old. Never fails. */
  async ask({ solver, log, now }: ExplainDeps): Promise<void> {
    const asked = [...this.#alike]
      .slice(0, mostClasses)
      .map(([likeness, alike]) => ({ likeness, alike, known: this.#known.get(likeness) }))
      .filter(({ alike, known }) => known?.text !== alike.text || hasPassed(oldMs, known.atMs, now()))
      .sort((a, b) => timeOf(a) - timeOf(b))
    if (asked.length === 0 || !hasPassed(silenceMs, this.#failedAt, now())) return
    try {
      const answers = await solver.explain(
        asked.map(({ alike }) => podName(alike.pod)),
        explainMs,
      )
      for (const { likeness, alike } of asked) {
        const explanation = answers.get(podName(alike.pod))
        if (explanation !== undefined) this.#known.set(likeness, { text: alike.text, explanation, atMs: now() })
      }
    } catch (error) {
      this.#failedAt = now()
      log.warn({ err: error }, 'failed to explain why pods wait')
    }
  }

  /** Returns the explanation of each pod without a place, by UID, with what has become of offerings and NodePools. */
  byUid(deps: ExplainDeps): ReadonlyMap<string, Explanation> {
    const made = new Map<string, Explanation>()
    return new Map(
      [...this.#pods].flatMap(([uid, likeness]) => {
        const explanation = made.get(likeness) ?? this.#explanation(deps, likeness)
        if (explanation === undefined) return []
        made.set(likeness, explanation)
        return [[uid, explanation] as const]
      }),
    )
  }

  #explanation(deps: ExplainDeps, likeness: string): Explanation | undefined {
    const alike = this.#alike.get(likeness)
    if (alike === undefined) return undefined
    const known = this.#known.get(likeness)
    const own = known?.text === alike.text ? known.explanation : explanationOf(alike.cause)
    return withUnreadyPools(deps, withMissingCapacity(deps, own))
  }
}

/** Explanations of another cause come first, then the oldest. */
function timeOf({ alike, known }: { readonly alike: Alike; readonly known: Known | undefined }): number {
  return known?.text === alike.text ? known.atMs : Number.NEGATIVE_INFINITY
}
