import { budgetNames } from '../../../core/disruption/budgets/pod-disruption-budgets.ts'
import type { DrainPlan } from '../../../core/node-claim/drain.ts'
import type { Refusal } from '../../../core/node-claim/drain-waits.ts'
import type { Pod } from '../../../core/objects.ts'
import { ApiError, isConflict, isNotFound, isTooManyRequests } from '../client/api-error.ts'
import { resourcePath } from '../client/resources.ts'
import type { Parts } from '../parts.ts'
import { type DrainRecordDeps, evictionAnswered, podDeleted, podEvicted } from './drain-record.ts'

export type EvictionsDeps = DrainRecordDeps & Pick<Parts, 'client' | 'cache' | 'log' | 'now'>

/** Delays between two requests for a pod that was refused (reference/karpenter-core.md 5.6); a change of a budget ends the wait. */
const backoffMs = { shortest: 100, longest: 10_000 }
/** The API server answers this with code 500, as it does its own failures. */
const manyBudgets = 'more than one PodDisruptionBudget'

interface Refused extends Refusal {
  readonly namespace: string
  readonly attempts: number
  readonly retryAtMs: number
}

/** Evicts the pods of one drain, each by itself: a refused one waits longer and longer, and holds up no other. */
export class Evictions {
  readonly #deps: EvictionsDeps
  readonly #gone = new Set<string>()
  readonly #refused = new Map<string, Refused>()

  constructor(deps: EvictionsDeps) {
    this.#deps = deps
  }

  /** How many pods have been evicted or deleted. */
  get count(): number {
    return this.#gone.size
  }

  /** Returns why the API server does not evict a pod; undefined when it does, or was not asked. */
  refusalOf(pod: Pod): Refusal | undefined {
    return this.#refused.get(pod.metadata.uid)
  }

  /** Returns the namespaces of pods that were refused, whose budgets are worth hearing of. */
  refusingNamespaces(): readonly string[] {
    return [...new Set([...this.#refused.values()].map(({ namespace }) => namespace))]
  }

  /** Ends the wait of pods that a budget of this namespace refused. Returns whether there are any. */
  budgetChanged(namespace: string | undefined): boolean {
    let found = false
    for (const [uid, refused] of this.#refused) {
      if (refused.namespace !== namespace || refused.kind === 'other') continue
      this.#refused.set(uid, { ...refused, retryAtMs: 0 })
      found = true
    }
    return found
  }

  /** Carries out the plan. `reason`: why the node goes; `deadlineMs`: when its claim's time is over, if it has one. */
  async carryOut(plan: DrainPlan, reason: string, deadlineMs: number | undefined): Promise<void> {
    await Promise.all([
      ...plan.forceDelete.map((forced) => this.#delete(forced, { why: reason, deadlineMs })),
      ...plan.evict.filter((pod) => this.#isDue(pod)).map((pod) => this.#evict(pod, reason)),
    ])
  }

  #isDue({ metadata: { uid } }: Pod): boolean {
    return !this.#gone.has(uid) && (this.#refused.get(uid)?.retryAtMs ?? 0) <= this.#deps.now()
  }

  async #evict(pod: Pod, reason: string): Promise<void> {
    const { name, namespace = 'default', uid } = pod.metadata
    try {
      await this.#deps.client.evict(namespace, name, uid)
      evictionAnswered(this.#deps, 200)
    } catch (error) {
      if (error instanceof ApiError) evictionAnswered(this.#deps, error.code)
      // Gone already, or another pod by that name.
      if (!isNotFound(error) && !isConflict(error)) this.#refuse(pod, this.#refusal(pod, error))
      return
    }
    this.#refused.delete(uid)
    this.#gone.add(uid)
    podEvicted(this.#deps, pod, reason)
  }

  async #delete(
    { pod, gracePeriodSeconds }: DrainPlan['forceDelete'][number],
    end: { readonly why: string; readonly deadlineMs: number | undefined },
  ): Promise<void> {
    const { name, namespace, uid } = pod.metadata
    try {
      await this.#deps.client.delete(resourcePath('pods', name, namespace), { uid, gracePeriodSeconds })
    } catch (error) {
      // The next poll tries again: time is short, so there is no longer wait.
      if (!isNotFound(error) && !isConflict(error))
        this.#deps.log.warn({ err: error, pod: `${namespace}/${name}` }, 'failed to force-delete pod')
      return
    }
    this.#refused.delete(uid)
    this.#gone.add(uid)
    podDeleted(this.#deps, pod, { gracePeriodSeconds, ...end })
  }

  #refusal(pod: Pod, error: unknown): Refusal {
    const message = error instanceof Error ? error.message : String(error)
    const budgets = budgetNames(pod, [...this.#deps.cache.podDisruptionBudgets.values()])
    if (isTooManyRequests(error)) return { kind: 'budget', message, budgets }
    if (error instanceof ApiError && message.includes(manyBudgets)) return { kind: 'manyBudgets', message, budgets }
    return { kind: 'other', message, budgets }
  }

  #refuse({ metadata: { uid, namespace = 'default' } }: Pod, refusal: Refusal): void {
    const attempts = (this.#refused.get(uid)?.attempts ?? 0) + 1
    const waitMs = Math.min(backoffMs.shortest * 2 ** (attempts - 1), backoffMs.longest)
    this.#refused.set(uid, { ...refusal, namespace, attempts, retryAtMs: this.#deps.now() + waitMs })
  }
}
