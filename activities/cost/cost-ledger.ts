import { CostMeter, type CostRate } from '../../core/cost/meter.ts'
import type { Node, NodeClaim, Pod } from '../../core/objects.ts'
import { hasPassed } from '../../core/values/time.ts'
import type { ClusterChange } from '../kubernetes/cache/change-feed.ts'
import type { KeptSource } from '../kubernetes/client/config-map.ts'
import { nodeClaimOf } from '../kubernetes/lifecycle/claim-nodes.ts'
import type { Parts } from '../kubernetes/parts.ts'
import { LedgerStore } from './ledger-store.ts'
import { boundMs, deletionMs, launchedMs, meteredNode, meteredPod, type TypesOfPools } from './metered-objects.ts'

/** A change that is to be counted at its own time. */
interface Queued {
  readonly ms: number
  /** NodeClaim that it is about. */
  readonly claim?: string
  readonly enter: (ms: number) => void
}

export interface CostLedgerDeps extends KeptSource, Pick<Parts, 'cache' | 'log' | 'now'> {
  /** By NodePool; the same arrays until something changes. */
  readonly instanceTypes: () => TypesOfPools
}

/** Time between two cuts; divides an hour. */
const sliceMs = 15_000
/** A change is counted when it is this old: by then what came before it is known, whatever wrote it late. */
const delayMs = 15_000
/** A ledger that was not written for longer than that has a gap. A shorter one is filled from the nodes and pods that still exist. */
const longestFillMs = 10 * 60_000
/** Slices that are kept for the time when this process leads. */
const keptMs = longestFillMs
/** A full ConfigMap, and one in which nothing happens, is written less often. */
const largeMap = 100_000
const slowWriteMs = 60_000

/**
 * Adds up what nodes cost and who shares them, from the changes of the watch cache, and stores it by the hour. Every process with the role planner adds up, so that
 * the next one continues without a gap; the one that plans stores.
 */
export class CostLedger {
  readonly #deps: CostLedgerDeps
  readonly #store: LedgerStore
  #meter: CostMeter | undefined
  #queue: Queued[] = []
  /** NodeClaims that cost. */
  readonly #costing = new Set<string>()
  /** NodeClaims whose VM is being deleted, and that are still there. */
  readonly #ended = new Set<string>()
  #types: TypesOfPools = new Map()
  #isLeading = false
  #isPrepared = false
  /** Epoch ms. */
  #passedAt: number | undefined
  #writtenAt = Number.NEGATIVE_INFINITY
  #mapSize = 0
  #working: Promise<void> | undefined
  #timer: NodeJS.Timeout | undefined
  #stopListening: (() => void) | undefined
  #isStopped = false

  constructor(deps: CostLedgerDeps) {
    this.#deps = deps
    this.#store = new LedgerStore(deps)
  }

  /** Begins once the caches are filled. */
  start(): void {
    void this.#deps.cache.synced().then(async () => {
      await this.#begin(longestFillMs)
      if (this.#isStopped) return
      this.#work()
      this.#tick()
    })
  }

  /** Whether this process plans, and so stores. */
  lead(isLeading: boolean): void {
    this.#isLeading = isLeading
    if (isLeading) this.#work()
  }

  /** Stores what is complete. */
  async stop(): Promise<void> {
    this.#isStopped = true
    clearTimeout(this.#timer)
    this.#stopListening?.()
    await this.#working
  }

  /** Returns what everything costs an hour now; undefined in a process that does not plan. */
  rate(): CostRate | undefined {
    return this.#isLeading ? this.#meter?.rate() : undefined
  }

  /** `fillMs`: for how long before now a ledger of which nothing is stored counts what exists now. */
  async #begin(fillMs: number): Promise<void> {
    const { cache, now, log } = this.#deps
    let until: number | undefined
    try {
      until = await this.#store.storedUntil(now())
    } catch (error) {
      log.warn({ err: error }, 'failed to read cost ledger, starting a new one')
    }
    if (this.#isStopped) return
    const at = now()
    const meter = new CostMeter(beginOf(until ?? at - fillMs, at), sliceMs)
    this.#meter = meter
    this.#queue = []
    this.#costing.clear()
    this.#ended.clear()
    this.#types = this.#deps.instanceTypes()
    for (const claim of cache.nodeClaims.values()) this.#enter(meter, claim.metadata.name, claim)
    for (const pod of cache.pods.values()) {
      const facts = meteredPod(pod)
      const enter = (ms: number) => meter.pod(pod.metadata.uid, facts, ms)
      if (facts !== undefined) this.#queue.push({ ms: Math.min(at, boundMs(pod, at)), enter })
    }
    this.#stopListening?.()
    this.#stopListening = cache.onChange((change) => this.#changed(meter, change))
  }

  #changed(meter: CostMeter, { kind, key, before, after }: ClusterChange): void {
    if (kind === 'Pod') this.#enterPod(meter, before as Pod | undefined, after as Pod | undefined)
    else if (kind === 'NodeClaim') this.#enter(meter, key, after as NodeClaim | undefined)
    else if (kind === 'Node') {
      const claim = nodeClaimOf(this.#deps, (after ?? before) as Node | undefined)
      if (claim !== undefined) this.#enter(meter, claim.metadata.name, claim)
    }
  }

  #enterPod(meter: CostMeter, before: Pod | undefined, after: Pod | undefined): void {
    const ms = this.#deps.now()
    const [old, uid] = [before?.metadata.uid, after?.metadata.uid]
    const facts = after === undefined ? undefined : meteredPod(after)
    if (old !== undefined && old !== uid) this.#queue.push({ ms, enter: (at) => meter.pod(old, undefined, at) })
    if (uid !== undefined) this.#queue.push({ ms, enter: (at) => meter.pod(uid, facts, at) })
  }

  #enter(meter: CostMeter, name: string, claim: NodeClaim | undefined): void {
    const at = this.#deps.now()
    const facts = claim === undefined ? undefined : this.#factsOf(claim)
    const isNew = !this.#costing.has(name)
    if (claim === undefined || facts === undefined) this.#ended.delete(name)
    else if (this.#ended.has(name)) return
    if (claim !== undefined && facts !== undefined) {
      this.#costing.add(name)
      const fromMs = launchedMs(claim, at)
      const enter = (ms: number) => meter.node(name, facts, { atMs: ms, fromMs })
      this.#queue.push({ ms: isNew ? fromMs : at, claim: name, enter })
    } else if (isNew) return
    const endMs = claim === undefined || facts === undefined ? at : deletionMs(claim, at)
    if (endMs === undefined) return
    this.#costing.delete(name)
    if (claim !== undefined && facts !== undefined) this.#ended.add(name)
    this.#queue = this.#queue.filter((queued) => queued.claim !== name || queued.ms <= endMs)
    this.#queue.push({ ms: endMs, claim: name, enter: (ms) => meter.endNode(name, { atMs: ms, toMs: endMs }) })
  }

  /** Counts what happened up to a time, in the order in which it happened. */
  #count(meter: CostMeter, untilMs: number): void {
    const due = this.#queue.filter(({ ms }) => ms <= untilMs).toSorted((a, b) => a.ms - b.ms)
    this.#queue = this.#queue.filter(({ ms }) => ms > untilMs)
    for (const { ms, enter } of due) enter(ms)
    this.#refreshPrices(meter, untilMs)
    meter.advance(untilMs)
  }

  #factsOf(claim: NodeClaim) {
    const { nodes } = this.#deps.cache
    return meteredNode(claim, nodes.get(claim.status.nodeName ?? ''), this.#types)
  }

  #tick(): void {
    const at = this.#deps.now()
    // Timers may come a little early.
    const nextMs = (Math.floor(at / sliceMs) + 1) * sliceMs + 100
    this.#timer = setTimeout(() => {
      this.#work()
      this.#tick()
    }, nextMs - at)
    this.#timer.unref()
  }

  #work(): void {
    this.#working ??= this.#pass()
      .catch((error: unknown) => this.#deps.log.warn({ err: error }, 'failed to store cost ledger, retrying'))
      .finally(() => {
        this.#working = undefined
      })
  }

  async #pass(): Promise<void> {
    const at = this.#deps.now()
    // The clock was set, or the process stood still: that time is not cost, and what was to be counted at a time to come would wait for it.
    const sinceMs = (this.#passedAt ?? at) - delayMs
    if (hasPassed(longestFillMs, sinceMs, at)) await this.#begin(0)
    this.#passedAt = at
    const meter = this.#meter
    if (meter === undefined) return
    this.#count(meter, at - delayMs)
    meter.forget(at - keptMs)
    if (!this.#isLeading) return
    if (!this.#isPrepared) await this.#store.prepare(at)
    this.#isPrepared = true
    const { slices } = meter
    const isQuiet = slices.every(({ pools }) => pools.size === 0)
    if ((isQuiet || this.#mapSize > largeMap) && !hasPassed(slowWriteMs, this.#writtenAt, at)) return
    const last = slices.at(-1)
    if (last === undefined) return
    this.#mapSize = await this.#store.add(slices)
    this.#writtenAt = at
    meter.forget(last.toMs)
  }

  /** Prices, and what nodes have, may have changed since they were entered. */
  #refreshPrices(meter: CostMeter, atMs: number): void {
    const { cache } = this.#deps
    const before = this.#types
    this.#types = this.#deps.instanceTypes()
    const isSame =
      before.size === this.#types.size && [...before].every(([pool, types]) => this.#types.get(pool) === types)
    if (isSame) return
    for (const [name] of meter.nodes) {
      const claim = cache.nodeClaims.get(name)
      const facts = claim === undefined ? undefined : this.#factsOf(claim)
      if (facts !== undefined) meter.node(name, facts, { atMs })
    }
  }
}

/** Returns where a ledger that is stored until then continues, in epoch ms. */
function beginOf(until: number, at: number): number {
  const isRecent = until <= at && at - until <= longestFillMs
  return Math.floor((isRecent ? until : at) / sliceMs) * sliceMs
}
