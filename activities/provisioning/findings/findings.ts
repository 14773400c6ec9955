import { Gauge, type Registry } from 'prom-client'
import type { Pod } from '../../../core/objects.ts'
import type { Pause } from '../../../core/pauses/pauses.ts'
import { noWaitingPods, type WaitingPods, waitingPods } from '../../../core/scheduling/explain/waiting-classes.ts'
import { shortened } from '../../../core/values/texts.ts'
import { hasPassed } from '../../../core/values/time.ts'
import type { ThreadPlan } from '../../scheduler-thread/keyed-plan.ts'
import { type Fence, FenceLostError } from '../fence.ts'
import type { PlannerParts } from '../parts.ts'
import { podsToPlace } from '../planning-snapshot.ts'
import { Explained } from './explained.ts'
import type { CapacityDeps } from './missing-capacity.ts'
import { type NotCreated, type StandingDeps, standingOf } from './standings.ts'
import { WaitingStore } from './waiting-store.ts'

export type FindingsDeps = StandingDeps & CapacityDeps & Pick<PlannerParts, 'client' | 'namespace' | 'log' | 'solver'>

/** Time after a change until the findings are written, so that pods that get a node at once leave no trace. */
const settleMs = 2000
const writeEveryMs = 5000
/** Interval of writing the time alone while pods wait. */
const stampEveryMs = 60_000
/** Without a round for so long another process may have written, and this one knows nothing about pods any more. */
const longestGapMs = 2 * 60_000
const shortGapMs = 10_000
/** Longest part of a refusal. */
const mostText = 400

/**
 * Keeps why pods wait, for `joiner why pod`, `joiner status` and the metric `joiner_pending_pods`. It is in force while a round of provisioning runs.
 * Planning never waits for it and never fails by it.
 */
export class Findings {
  readonly #now: () => number
  readonly #store = new WaitingStore()
  readonly #explained = new Explained()
  readonly #notCreated = new Map<string, NotCreated>()
  #postponed: ReadonlySet<string> = new Set()
  #pause: Pause | undefined
  #found: WaitingPods = noWaitingPods
  #round: FindingsDeps | undefined
  #fence: Pick<Fence, 'checkIfStale'> | undefined
  #endChanges: () => void = () => {}
  #timer: NodeJS.Timeout | undefined
  /** When the timer fires. */
  #dueAt = 0
  #working: Promise<void> | undefined
  #endedAt = Number.NEGATIVE_INFINITY
  #writtenAt = Number.NEGATIVE_INFINITY
  /** Writes that were refused in a row. */
  #failures = 0

  constructor(now: () => number, registry: Registry) {
    this.#now = now
    observePending(() => this.#current(), registry)
  }

  /** Begins a round of provisioning by the holder of this fence. Returns the function that ends it. */
  begin(deps: FindingsDeps, fence: Pick<Fence, 'checkIfStale'>): () => void {
    if (this.#now() - this.#endedAt > shortGapMs) this.#store.forget()
    this.#pause = undefined
    this.#endChanges()
    this.#round = deps
    this.#fence = fence
    this.#endChanges = deps.cache.onChange(({ kind }) => {
      if (kind === 'Pod' || kind === 'NodeClaim') this.#later(settleMs)
    })
    this.#later(settleMs)
    return () => {
      if (this.#round !== deps) return
      this.#endChanges()
      clearTimeout(this.#timer)
      this.#timer = undefined
      this.#round = undefined
      this.#endedAt = this.#now()
    }
  }

  /** Records a pass over these pods, and asks the scheduler why some found no place. */
  passed(deps: FindingsDeps, pods: readonly Pod[], plan: ThreadPlan): void {
    const present = new Set(pods.map(({ metadata }) => metadata.uid))
    const placed = plan.existing
      .flatMap((place) => place.pods)
      .concat(plan.newNodeClaims.flatMap((claim) => claim.pods))
    const isOver = new Set(placed.map(({ metadata }) => metadata.uid))
    this.#notCreated.clear()
    this.#postponed = new Set((plan.postponed ?? []).map(({ metadata }) => metadata.uid))
    this.#explained.keep(plan.unschedulable, isOver, present)
    void this.#explained.ask(deps).then(() => this.#later(settleMs))
  }

  /** Records pods whose planned NodeClaim was not created, since it exceeds the limits of its NodePool. */
  overLimit(nodePool: string, pods: readonly Pod[], message: string): void {
    const finding = shortened(message, mostText)
    const remedies = [`raise spec.limits of NodePool "${nodePool}": kubectl edit nodepool ${nodePool}`]
    for (const { metadata } of pods)
      this.#notCreated.set(metadata.uid, { state: 'unschedulable', cause: 'limits', finding, remedies })
  }

  /** Records pods whose planned NodeClaim was not created, since a webhook of the API server fails. */
  webhookFailed(nodePool: string, pods: readonly Pod[], message: string): void {
    const finding = shortened(`the NodeClaim of NodePool "${nodePool}" could not be created: ${message}`, mostText)
    const remedies = ['make the webhook that the message names answer: they are planned again every 10 s']
    for (const { metadata } of pods)
      this.#notCreated.set(metadata.uid, { state: 'held', cause: 'refused', finding, remedies })
  }

  /** Records that the loop is paused, and writes it: nobody looks at pods until it is resumed. Never fails. */
  async paused(deps: FindingsDeps, pause: Pause): Promise<void> {
    this.#pause = pause
    await this.#working
    await this.#write(deps, true)
  }

  /** Resolves when no write is under way. */
  async settled(): Promise<void> {
    await this.#working
  }

  #later(ms: number): void {
    if (this.#round === undefined) return
    const now = this.#now()
    // What was written at a time to come was written before the clock was set back.
    const dueAt = Math.max(now + ms, Math.min(this.#writtenAt, now) + writeEveryMs)
    if (this.#timer !== undefined && this.#dueAt <= dueAt) return
    clearTimeout(this.#timer)
    this.#dueAt = dueAt
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      const deps = this.#round
      if (deps === undefined) return
      this.#working ??= this.#write(deps, false).finally(() => {
        this.#working = undefined
        if (this.#failures > 0) this.#later(Math.min(writeEveryMs * 2 ** (this.#failures - 1), stampEveryMs))
        else if (this.#found.classes.size > 0) this.#later(stampEveryMs)
      })
    }, dueAt - now).unref()
  }

  async #write(deps: FindingsDeps, always: boolean): Promise<void> {
    const { log } = deps
    try {
      this.#found = this.#look(deps)
      const atMs = this.#now()
      const isDue = this.#found.classes.size > 0 && hasPassed(stampEveryMs, this.#writtenAt, atMs)
      // A process that stood still would write of pods that its successor has seen run, and the successor writes only what changes.
      const admit = async () => this.#fence?.checkIfStale()
      if (await this.#store.write(deps, this.#found, { atMs, always: always || isDue, admit })) this.#writtenAt = atMs
      this.#failures = 0
    } catch (error) {
      this.#store.forget()
      // Its attempt ends by the fence's own signal.
      if (error instanceof FenceLostError) return
      this.#failures += 1
      log.warn({ err: error }, 'failed to store why pods wait, retrying')
    }
  }

  #look(deps: FindingsDeps): WaitingPods {
    const findings = {
      unschedulable: this.#explained.byUid(deps),
      notCreated: this.#notCreated,
      postponed: this.#postponed,
      pause: this.#pause,
    }
    const pending = podsToPlace(deps).filter(({ nodeName }) => nodeName === undefined)
    return waitingPods(pending.map((pod) => standingOf(deps, pod, findings)))
  }

  #current(): WaitingPods['counts'] {
    const isKnown = this.#round !== undefined || this.#now() - this.#endedAt < longestGapMs
    return isKnown ? this.#found.counts : []
  }
}

function observePending(counts: () => WaitingPods['counts'], registry: Registry): Gauge {
  return new Gauge({
    name: 'joiner_pending_pods',
    help: 'Pending pods that the planner works on, by state and by the cause for which they wait.',
    labelNames: ['state', 'cause'],
    registers: [registry],
    collect() {
      this.reset()
      // An alert needs a series before there is a pod.
      this.set({ state: 'unschedulable', cause: 'other' }, 0)
      for (const { state, cause = '', count } of counts()) this.set({ state, cause }, count)
    },
  })
}
