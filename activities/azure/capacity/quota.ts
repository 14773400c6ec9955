import type { Usage as UsageItem } from '@azure/arm-compute'
import type { Logger } from 'pino'
import { conditionOf } from '../../../core/conditions.ts'
import type { NodeClaim } from '../../../core/objects.ts'
import { labels } from '../../../core/requirements/labels.ts'
import type { ClusterCache } from '../../kubernetes/cache/cluster-cache.ts'
import type { AzureClient } from '../arm/client.ts'
import type { DurableDocument, KeptAnswer } from '../catalogue/durable-document.ts'
import type { VmSize } from '../catalogue/sku.ts'
import {
  type Demand,
  inFlight,
  isTakenSince,
  quotaSignature,
  type Shortage,
  shortagesOf,
  type Usages,
  usagesOf,
  type VmUse,
} from './quota-accounting.ts'

/** Age above which usages expire, and quota counts as free (reference/azure-provider.md 3.9). */
const usageLifetimeMs = 15 * 60_000
const pollEveryMs = 10 * 60_000
/** Delay of the next poll after launches or deletions made the last count out of date. */
const pollWhenChangedMs = 60_000
const retryMs = 30_000
/** Time within which a launch whose answer was lost is repeated, or found. */
const reservedMs = 2 * 60_000

interface LaunchedVm {
  readonly instanceType: string
  readonly capacityType: string
  readonly launchedAtMs: number
  readonly goneAtMs?: number
}

interface Deps {
  /** Undefined in a process without the role azure. */
  readonly azure: AzureClient | undefined
  /** Store of Azure's count, from processes with the role azure to the others. */
  readonly document: Pick<DurableDocument<Usages>, 'write' | 'follow'>
  readonly location: string
  readonly cache: ClusterCache
  readonly sizeOf: (instanceType: string) => VmSize | undefined
  readonly log: Logger
  readonly now: () => number
}

interface Reservation extends Demand {
  readonly untilMs: number
}

/**
 * The subscription's vCPU quota in the region: Azure's count, polled, and what NodeClaims took and released since. The latter is derived from
 * the watched NodeClaims, so every replica knows it. This process's own launches count from their choice on. A process with the
 * role azure polls and stores the count, the others follow what is stored.
 */
export class Quota {
  readonly #deps: Deps
  readonly #endWatching: () => void
  #usages: Usages = new Map()
  /** When Azure's count was requested. */
  #countedAtMs = Number.NEGATIVE_INFINITY
  #polledAtMs = Number.NEGATIVE_INFINITY
  /** By claim, and those that are gone by a number of their own. */
  readonly #launched = new Map<string, LaunchedVm>()
  #gone: readonly LaunchedVm[] = []
  readonly #reserved = new Map<string, Reservation>()
  #sums: ReadonlyMap<string, number> | undefined
  #timer: NodeJS.Timeout | undefined
  #isStarted = false
  #isPolling = false
  /** When a poll that failed may be repeated at the earliest. */
  #retryAtMs = Number.NEGATIVE_INFINITY
  #endFollowing: () => void = () => {}

  constructor(deps: Deps) {
    this.#deps = deps
    this.#endWatching = deps.cache.onChange(({ kind, before, after }) => {
      if (kind === 'NodeClaim') this.#observe(before as NodeClaim | undefined, after as NodeClaim | undefined)
    })
  }

  /** Polls, or follows other processes' polls, in the background until `stop`. */
  start(): void {
    if (this.#deps.azure === undefined) {
      this.#endFollowing = this.#deps.document.follow((stored) => this.#takeStored(stored), this.#deps.log)
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

  /** Requests Azure's count, and stores it. Errors: Azure's; the last count stays. */
  async poll(): Promise<void> {
    if (this.#deps.azure === undefined)
      throw new Error('usages: this process has no role azure; only a process with it polls')
    const countedAtMs = this.#deps.now()
    const items: UsageItem[] = []
    for await (const item of this.#deps.azure.compute.usage.list(this.#deps.location)) items.push(item)
    this.#take(usagesOf(items), countedAtMs, this.#deps.now())
    await this.#deps.document
      .write({ value: this.#usages, readAtMs: countedAtMs })
      .catch((error: unknown) => this.#deps.log.warn({ err: error }, 'failed to store quota usage for planners'))
  }

  #takeStored({ value, readAtMs }: KeptAnswer<Usages>): void {
    if (readAtMs > this.#countedAtMs) this.#take(value, readAtMs, readAtMs)
  }

  #take(usages: Usages, countedAtMs: number, polledAtMs: number): void {
    this.#usages = usages
    this.#countedAtMs = countedAtMs
    this.#polledAtMs = polledAtMs
    for (const [uid, vm] of this.#launched) if (!isTakenSince(vm, countedAtMs)) this.#launched.delete(uid)
    this.#gone = this.#gone.filter(({ goneAtMs = 0 }) => goneAtMs >= countedAtMs)
    this.#sums = undefined
  }

  /** Azure's last count, or an empty one when it has expired. */
  get usages(): Usages {
    return this.#deps.now() - this.#polledAtMs <= usageLifetimeMs ? this.#usages : new Map()
  }

  /** vCPUs by pool that Azure's last count does not include. */
  get inFlight(): ReadonlyMap<string, number> {
    const now = this.#deps.now()
    for (const [uid, { untilMs }] of this.#reserved) if (untilMs <= now) this.release(uid)
    this.#sums ??= inFlight(this.#uses(), this.#reserved.values(), this.#countedAtMs)
    return this.#sums
  }

  /** Returns whether there is room for one more VM. Unknown families and expired counts have room. */
  hasRoom(demand: Demand): boolean {
    return this.shortages(demand).length === 0
  }

  /** Returns the pools that prevent a VM. */
  shortages(demand: Demand): readonly Shortage[] {
    return shortagesOf(this.usages, this.inFlight, demand)
  }

  /** Returns a value that changes when the sizes that can be bought change. `steps`: the vCPUs of all sizes, ascending. */
  signature(steps: readonly number[]): string {
    return quotaSignature(this.usages, this.inFlight, steps)
  }

  /**
   * Reserves a VM's vCPUs for a claim, between the choice of its size and the moment when the claim's status shows it. A claim reserves
   * at most one VM's.
   */
  reserve(uid: string, demand: Demand): void {
    this.#reserved.set(uid, { ...demand, untilMs: this.#deps.now() + reservedMs })
    this.#sums = undefined
  }

  /** Releases a reservation: Azure refused, or the choice starts again. */
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
    this.#gone = [...this.#gone, { ...vm, goneAtMs: this.#deps.now() }]
  }

  *#uses(): Generator<VmUse> {
    for (const { instanceType, ...rest } of [...this.#launched.values(), ...this.#gone]) {
      const size = this.#deps.sizeOf(instanceType)
      if (size !== undefined) yield { ...rest, family: size.family, vCpus: size.vCpus }
    }
  }

  /** Schedules the next poll: soon when the last count is out of date. The end of one that is under way does it as well. */
  #schedule(delayMs?: number): void {
    if (!this.#isStarted || this.#isPolling) return
    clearTimeout(this.#timer)
    const isChanged = this.#launched.size + this.#gone.length > 0
    const dueMs = Math.max(this.#polledAtMs + (isChanged ? pollWhenChangedMs : pollEveryMs), this.#retryAtMs)
    this.#timer = setTimeout(() => void this.#pollAgain(), delayMs ?? Math.max(0, dueMs - this.#deps.now()))
    this.#timer.unref()
  }

  async #pollAgain(): Promise<void> {
    this.#isPolling = true
    try {
      await this.poll()
    } catch (error) {
      const remedy = 'they are asked for again. Check the right Microsoft.Compute/locations/usages/read of the identity'
      this.#deps.log.warn({ err: error, region: this.#deps.location }, `usages could not be read; ${remedy}`)
      this.#retryAtMs = this.#deps.now() + retryMs
    }
    this.#isPolling = false
    this.#schedule()
  }
}

/** Returns the VM in a claim's status; undefined while it is being launched, or launched again. */
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
