import { ApplicationFailure } from '@temporalio/common'
import { adoptAfterMs } from '../../../core/adoption.ts'
import { conditionOf, isTrue } from '../../../core/conditions.ts'
import { isDeleting, type Node, type NodeClaim, type ObjectMeta } from '../../../core/objects.ts'
import { hasPassed } from '../../../core/values/time.ts'
import { whenAborted } from '../../abortable-wait.ts'
import { described } from '../../failure.ts'
import type { ClusterChange } from '../../kubernetes/cache/change-feed.ts'
import type { ClusterCache } from '../../kubernetes/cache/cluster-cache.ts'
import { nodeClaimOf } from '../../kubernetes/lifecycle/claim-nodes.ts'
import type { ReconcileMetrics } from '../../telemetry/reconcile-metrics.ts'
import { WorkQueue } from '../../work-queue.ts'
import { scrubbedMessage } from '../arm/azure-error.ts'
import type { CountedPass, GarbageReport, MaintenanceReport } from '../contract.ts'
import type { GarbageDeps } from '../garbage/deletions.ts'
import { GarbageCollector } from '../garbage/garbage.ts'
import { type BillingExtensionDeps, ensureBillingExtensions } from '../in-place/billing-extension.ts'
import { type InPlaceUpdateDeps, updateInPlace } from '../in-place/in-place-update.ts'
import { RecentUpdates } from '../in-place/recent-updates.ts'
import { type NodeClassStatusDeps, refreshNodeClasses } from '../node-class/node-class-status.ts'

export interface MaintenanceDeps extends GarbageDeps, NodeClassStatusDeps, BillingExtensionDeps, InPlaceUpdateDeps {
  readonly reconciles: ReconcileMetrics
  /** Called when a pass leaves Nodes of lost NodeClaims undecided that the one before did not: the role core has to count their pods. */
  readonly onUndecided: () => Promise<void>
}

/** The longest time from the end of a pass to the next one, for what no watch reports. */
const everyMs = { garbage: 120_000, nodeClasses: 180_000, inPlace: 300_000 } as const
type Part = keyof typeof everyMs
const parts = Object.keys(everyMs) as readonly Part[]
/** Azure takes some seconds to end what belonged to a VM, and a lifecycle to clean up after itself. */
const garbageAfterMs = 20_000
/** Time after which what stays undecided is looked at again: a pass later it has been known for long enough to be adopted. */
const adoptAgainMs = adoptAfterMs + 10_000
/** Pools that are not ready wait for a pass over node classes. */
const queueing = { concurrency: parts.length, spacingMs: 500, maxBackoffMs: 10_000 } as const
const undecidedIn = (report: unknown) => (report as GarbageReport | undefined)?.undecided?.join() ?? ''

/**
 * What keeps up a cluster beside the lifecycles of its nodes: garbage collection, status of node classes and pools, tags and identities of VMs. One
 * process does it, the holder of the Lease `joiner-maintenance`: on changes of a watch, and by its own clock, with Temporal there or not. A Schedule
 * has all parts run, and shows in Temporal what became of them (docs/adr/0049-one-schedule-maintains-the-cluster.md).
 */
export class Maintenance {
  readonly #deps: MaintenanceDeps
  readonly #passes: Readonly<Record<Part, (signal: AbortSignal, counted?: CountedPass) => Promise<unknown>>>
  /** The last pass of each part: two are never at work at once. */
  readonly #turns = new Map<Part, Promise<unknown>>()
  readonly #timers = new Map<Part, NodeJS.Timeout>()
  #queue: WorkQueue | undefined
  /** Fires when this process may maintain the cluster no longer. */
  #leads = AbortSignal.abort()
  #undecided = ''
  /** Since when that is undecided, epoch ms, or when it was to be decided last. */
  #sinceMs = 0

  constructor(deps: MaintenanceDeps) {
    this.#deps = deps
    const collector = new GarbageCollector(deps)
    const recent = new RecentUpdates()
    this.#passes = {
      garbage: (signal, counted) => collector.collect(signal, counted?.counts, counted?.asked),
      nodeClasses: (signal) => refreshNodeClasses(deps, signal),
      inPlace: (signal) => ensureBillingExtensions(deps, signal).then(() => updateInPlace(deps, recent, signal)),
    }
  }

  /** Keeps the cluster up until the signal fires, and the last pass has ended. */
  async keepUp(signal: AbortSignal): Promise<void> {
    const { cache, log } = this.#deps
    const onError = (part: string, error: unknown, attempt: number) => {
      if (attempt % 5 === 1 && !signal.aborted)
        log.warn({ part, attempt, reason: scrubbedMessage(error) }, 'a part of maintenance failed, retrying')
    }
    const waitMs = (error: unknown) => described(error).retryAfterMs ?? 0
    const queue = new WorkQueue((part) => this.#keep(part as Part, signal), { ...queueing, waitMs, onError })
    this.#leads = signal
    this.#queue = queue
    let soon: NodeJS.Timeout | undefined
    const collect = () => {
      soon = undefined
      queue.add('garbage')
    }
    const end = cache.onChange((change) => {
      for (const part of asksOf(cache, change))
        if (part === 'garbage') soon ??= setTimeout(collect, garbageAfterMs)
        else queue.add(part)
    })
    // Changes that nobody saw, and another configuration than that of the process before.
    for (const part of ['nodeClasses', 'inPlace']) queue.add(part)
    this.#again('garbage')
    await whenAborted(signal)
    end()
    queue.stop()
    await Promise.all(this.#turns.values())
    for (const timer of [soon, ...this.#timers.values()]) clearTimeout(timer)
  }

  /** Runs all parts; after a count of pods garbage collection alone. Errors: once all have run, what failed, with the report as details. */
  async run(signal: AbortSignal, counted?: CountedPass): Promise<MaintenanceReport> {
    // A task may have come to a process that no longer leads. It is for the next one.
    this.#leads.throwIfAborted()
    const ends = AbortSignal.any([signal, this.#leads])
    const report: Partial<Record<Part, unknown>> & { readonly failed: string[] } = { failed: [] }
    const one = (part: Part) =>
      this.#pass(part, ends, counted).then(
        (result) => void (report[part] = result),
        (error: unknown) => report.failed.push(`${part}: ${scrubbedMessage(error).slice(0, 500)}`),
      )
    await Promise.all((counted === undefined ? parts : (['garbage'] as const)).map(one))
    ends.throwIfAborted()
    if (counted === undefined) this.#isToBeDecided(report.garbage)
    if (report.failed.length === 0) return report as MaintenanceReport
    // The process repeats by itself what failed.
    throw ApplicationFailure.nonRetryable(report.failed.join('; '), 'MaintenanceFailed', report)
  }

  async #keep(part: Part, signal: AbortSignal): Promise<void> {
    const result = await this.#pass(part, signal)
    if (part !== 'garbage') return
    if (!this.#isToBeDecided(result)) return
    // The Schedule sees to those that stay, and to these where Temporal does not answer.
    await this.#deps
      .onUndecided()
      .catch((err: unknown) => this.#deps.log.warn({ err }, 'failed to trigger maintenance'))
  }

  /** Whether a report leaves undecided what the one before did not, or what can be adopted by now. */
  #isToBeDecided(report: unknown): boolean {
    const undecided = undecidedIn(report)
    const now = this.#deps.now()
    const isNews = undecided !== this.#undecided || hasPassed(adoptAgainMs, this.#sinceMs, now)
    this.#undecided = undecided
    if (isNews) this.#sinceMs = now
    return isNews && undecided !== ''
  }

  /** Runs a pass after the one that is under way, and has the next one come in time. */
  #pass(part: Part, signal: AbortSignal, counted?: CountedPass): Promise<unknown> {
    const measured = { activity: part, slots: 1, isCancelled: () => signal.aborted }
    const result = (this.#turns.get(part) ?? Promise.resolve()).then(() => {
      signal.throwIfAborted()
      return this.#deps.reconciles.measure(measured, () => this.#passes[part](signal, counted))
    })
    const again = () => this.#again(part)
    this.#turns.set(part, result.then(again, again))
    return result
  }

  #again(part: Part): void {
    clearTimeout(this.#timers.get(part))
    this.#timers.set(
      part,
      setTimeout(() => this.#queue?.add(part), everyMs[part]),
    )
  }
}

type Ask = 'garbage' | 'nodeClasses' | 'inPlace'

/** Returns the parts that a change asks for. `cache`: the cluster after it. */
export function asksOf(cache: ClusterCache, { kind, before, after }: ClusterChange): readonly Ask[] {
  if (kind === 'NodeClaim') return asksOfClaim(cache, before as NodeClaim | undefined, after as NodeClaim | undefined)
  if (kind === 'Node') {
    // Its VM may be gone as well, which a claim that stays does not show.
    const claim = after === undefined ? nodeClaimOf({ cache }, before as Node) : undefined
    return claim !== undefined && !isDeleting(claim) ? ['garbage'] : []
  }
  // The end of an overlay may end a conflict.
  const isSeen = kind === 'NodeOverlay' || ((kind === 'NodePool' || kind === 'AKSNodeClass') && after !== undefined)
  if (!isSeen || specOf(before) === specOf(after)) return []
  return kind === 'AKSNodeClass' ? ['nodeClasses', 'inPlace'] : ['nodeClasses']
}

function asksOfClaim({ nodeClasses }: ClusterCache, before?: NodeClaim, after?: NodeClaim): readonly Ask[] {
  if (before === undefined) return []
  if (after !== undefined) return isRefusal(before, after) ? ['garbage'] : []
  const { conditions } = before.status
  // Of a claim that its lifecycle did not end, or that never had a node, VM, NIC or disk may be left.
  const isInOrder = isTrue(conditions, 'Registered') && isTrue(conditions, 'InstanceTerminating')
  // A class that is being deleted waits for its claims (reference/azure-provider.md 1.5).
  const isWaiting = [...nodeClasses.values()].some(isDeleting)
  return [...(isInOrder ? [] : (['garbage'] as const)), ...(isWaiting ? (['nodeClasses'] as const) : [])]
}

/** Changes with more than the status of an object, or its labels and annotations. */
function specOf(object: { readonly metadata: ObjectMeta } | undefined): string | undefined {
  return object && `${object.metadata.generation} ${object.metadata.deletionTimestamp}`
}

/** Whether an attempt to launch has just failed: its NIC and disk may be left. */
function isRefusal(before: NodeClaim, after: NodeClaim): boolean {
  const [was, is] = [before, after].map(({ status }) => conditionOf(status.conditions, 'Launched'))
  return is !== undefined && is.status !== 'True' && (is.message ?? '') !== '' && is.message !== was?.message
}
