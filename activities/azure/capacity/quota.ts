import type { Usage as UsageItem } from '@azure/arm-compute'
import type { Logger } from 'pino'
import { conditionOf } from '../../../core/conditions.ts'
import type { NodeClaim } from '../../../core/objects.ts'
import { labels } from '../../../core/requirements/labels.ts'
import type { ClusterCache } from '../../kubernetes/cache/cluster-cache.ts'
import type { AzureClient } from '../arm/client.ts'
import type { DurableDocument, StoredDocument } from '../catalogue/durable-document.ts'
import type { VmSize } from '../catalogue/sku.ts'
import {
  type Demand,
  decodeUsages,
  encodeUsages,
  inFlight,
  isTakenSince,
  quotaSignature,
  type Shortage,
  shortagesOf,
  type Usages,
  usagesOf,
  type VmUse,
} from './quota-accounting.ts'

/** Usages older than this say nothing any more, and quota counts as free (reference/azure-provider.md 3.9). */
const usageLifetimeMs = 15 * 60_000
const pollEveryMs = 10 * 60_000
/** How soon it is polled again when launches or deletions made the last count out of date. */
const pollWhenChangedMs = 60_000
const retryMs = 30_000
/** A launch whose answer was lost is repeated, or found, within this time. */
const reservedMs = 2 * 60_000

interface LaunchedVm {
  readonly instanceType: string
  readonly capacityType: string
  readonly launchedAtMs: number
  readonly goneAtMs?: number
}

interface Reservation extends Demand {
  readonly untilMs: number
}

/**
 * The subscription's vCPU quota in the region: Azure's count, polled, and what NodeClaims took and gave back since. That is derived from
 * the watched NodeClaims, so every replica knows it; what this very process is about to ask for counts from its choice on. A process with the
 * role azure polls and stores the count, the others follow what is stored.
 */
export class Quota {
  readonly #azure: AzureClient | undefined
  readonly #document: Pick<DurableDocument, 'write' | 'follow'>
  readonly #location: string
  readonly #sizeOf: (instanceType: string) => VmSize | undefined
  readonly #log: Logger
  readonly #now: () => number
  readonly #endWatching: () => void
  #usages: Usages = new Map()
  /** When Azure's count was asked for. */
  #countedAtMs = Number.NEGATIVE_INFINITY
  #polledAtMs = Number.NEGATIVE_INFINITY
  /** By claim, and those that are gone by a number of their own. */
  readonly #launched = new Map<string, LaunchedVm>()
  #gone: readonly LaunchedVm[] = []
  readonly #reserved = new Map<string, Reservation>()
  #sums: ReadonlyMap<string, number> | undefined
  #timer: NodeJS.Timeout | undefined
  #isStarted = false
  #endFollowing: () => void = () => {}

  constructor(deps: {
    /** Undefined in a process without the role azure. */
    readonly azure: AzureClient | undefined
    /** Where processes with the role azure store Azure's count for the others. */
    readonly document: Pick<DurableDocument, 'write' | 'follow'>
    readonly location: string
    readonly cache: ClusterCache
    readonly sizeOf: (instanceType: string) => VmSize | undefined
    readonly log: Logger
    readonly now: () => number
  }) {
    this.#azure = deps.azure
    this.#document = deps.document
    this.#location = deps.location
    this.#sizeOf = deps.sizeOf
    this.#log = deps.log
    this.#now = deps.now
    this.#endWatching = deps.cache.onChange(({ kind, before, after }) => {
      if (kind === 'NodeClaim') this.#observe(before as NodeClaim | undefined, after as NodeClaim | undefined)
    })
  }

  /** Polls, or follows what others poll, in the background until `stop`. */
  start(): void {
    if (this.#azure === undefined) {
      this.#endFollowing = this.#document.follow((stored) => this.#takeStored(stored), this.#log)
      return
    }
    this.#isStarted = true
    this.#schedule(0)
  }

  stop(): void {
    this.#isStarted = false
    clearTimeout(this.#timer)
    this.#endFollowing()
    this.#endWatching()
  }

  /** Asks Azure for its count, and stores it. Errors: what Azure says; the last count stays. */
  async poll(): Promise<void> {
    if (this.#azure === undefined)
      throw new Error('usages: this process has no role azure; only a process with it polls')
    const countedAtMs = this.#now()
    const items: UsageItem[] = []
    for await (const item of this.#azure.compute.usage.list(this.#location)) items.push(item)
    this.#take(usagesOf(items), countedAtMs, this.#now())
    await this.#document
      .write({ json: encodeUsages(this.#usages), readAtMs: countedAtMs })
      .catch((error: unknown) => this.#log.warn({ err: error }, 'failed to store quota usage for planners'))
  }

  #takeStored({ json, readAtMs }: StoredDocument): void {
    if (readAtMs <= this.#countedAtMs) return
    try {
      this.#take(decodeUsages(json), readAtMs, readAtMs)
    } catch (error) {
      this.#log.warn({ err: error }, 'failed to read stored quota usage')
    }
  }

  #take(usages: Usages, countedAtMs: number, polledAtMs: number): void {
    this.#usages = usages
    this.#countedAtMs = countedAtMs
    this.#polledAtMs = polledAtMs
    for (const [uid, vm] of this.#launched) if (!isTakenSince(vm, countedAtMs)) this.#launched.delete(uid)
    this.#gone = this.#gone.filter(({ goneAtMs = 0 }) => goneAtMs >= countedAtMs)
    this.#sums = undefined
  }

  /** Azure's last count, while it is young enough to mean something; else empty. */
  get usages(): Usages {
    return this.#now() - this.#polledAtMs <= usageLifetimeMs ? this.#usages : new Map()
  }

  /** vCPUs by pool that Azure's last count does not know. */
  get inFlight(): ReadonlyMap<string, number> {
    const now = this.#now()
    for (const [uid, { untilMs }] of this.#reserved) if (untilMs <= now) this.release(uid)
    this.#sums ??= inFlight(this.#uses(), this.#reserved.values(), this.#countedAtMs)
    return this.#sums
  }

  /** Whether there is room for one more VM. Unknown families and stale counts have room. */
  hasRoom(demand: Demand): boolean {
    return this.shortages(demand).length === 0
  }

  /** The pools that keep a VM from being made. */
  shortages(demand: Demand): readonly Shortage[] {
    return shortagesOf(this.usages, this.inFlight, demand)
  }

  /** Changes when other sizes can be bought than before. `steps`: the vCPUs of all sizes, ascending. */
  signature(steps: readonly number[]): string {
    return quotaSignature(this.usages, this.inFlight, steps)
  }

  /**
   * Holds a VM's vCPUs for a claim, between the choice of its size and the moment when the claim itself says what it took. A claim holds
   * one VM's at most.
   */
  reserve(uid: string, demand: Demand): void {
    this.#reserved.set(uid, { ...demand, untilMs: this.#now() + reservedMs })
    this.#sums = undefined
  }

  /** Azure refused, or the choice starts again. */
  release(uid: string): void {
    if (this.#reserved.delete(uid)) this.#sums = undefined
  }

  #observe(before: NodeClaim | undefined, after: NodeClaim | undefined): void {
    const had = before && launchedVm(before)
    const has = after && launchedVm(after)
    const uid = (after ?? before)?.metadata.uid ?? ''
    if (before?.metadata.uid === after?.metadata.uid && isSame(had, has)) return
    if (has !== undefined) this.#reserved.delete(uid)
    if (had !== undefined) this.#gaveBack(before?.metadata.uid ?? '', had)
    if (has !== undefined && isTakenSince(has, this.#countedAtMs)) this.#launched.set(uid, has)
    this.#sums = undefined
    if (had !== undefined || has !== undefined) this.#schedule()
  }

  #gaveBack(uid: string, vm: LaunchedVm): void {
    if (this.#launched.delete(uid)) return
    this.#gone = [...this.#gone, { ...vm, goneAtMs: this.#now() }]
  }

  *#uses(): Generator<VmUse> {
    for (const { instanceType, ...rest } of [...this.#launched.values(), ...this.#gone]) {
      const size = this.#sizeOf(instanceType)
      if (size !== undefined) yield { ...rest, family: size.family, vCpus: size.vCpus }
    }
  }

  /** The next poll: soon when the last count is out of date. */
  #schedule(delayMs?: number): void {
    if (!this.#isStarted) return
    clearTimeout(this.#timer)
    const isChanged = this.#launched.size + this.#gone.length > 0
    const dueMs = this.#polledAtMs + (isChanged ? pollWhenChangedMs : pollEveryMs)
    this.#timer = setTimeout(() => void this.#pollAgain(), delayMs ?? Math.max(0, dueMs - this.#now()))
    this.#timer.unref()
  }

  async #pollAgain(): Promise<void> {
    try {
      await this.poll()
      this.#schedule()
    } catch (error) {
      const remedy = 'they are asked for again. Check the right Microsoft.Compute/locations/usages/read of the identity'
      this.#log.warn({ err: error, region: this.#location }, `usages could not be read; ${remedy}`)
      this.#schedule(retryMs)
    }
  }
}

/** The VM that a claim says it has; undefined while it is being launched, or launched again. */
export function launchedVm({ metadata, status }: NodeClaim): LaunchedVm | undefined {
  const launched = conditionOf(status.conditions, 'Launched')
  const instanceType = metadata.labels[labels.instanceType]
  const capacityType = metadata.labels[labels.capacityType]
  if (launched?.status !== 'True' || instanceType === undefined || capacityType === undefined) return undefined
  return { instanceType, capacityType, launchedAtMs: Date.parse(launched.lastTransitionTime ?? '') || 0 }
}

function isSame(a: LaunchedVm | undefined, b: LaunchedVm | undefined): boolean {
  return (
    a?.instanceType === b?.instanceType && a?.capacityType === b?.capacityType && a?.launchedAtMs === b?.launchedAtMs
  )
}
