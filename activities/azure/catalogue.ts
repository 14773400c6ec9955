import type { Usage } from '@azure/arm-compute'
import type { Logger } from 'pino'
import type { InstanceType } from '../../core/instance-type.ts'
import type { KubeletConversion } from '../../core/kubelet-conversion.ts'
import type { NodeClass } from '../../core/objects.ts'
import { pauseFor } from '../activity-context.ts'
import type { AzureConfig } from './azure-config.ts'
import type { AzureClient } from './client.ts'
import { InstanceTypeLists } from './instance-types.ts'
import { type NodeClassSettings, nodeClassSettings } from './node-class-settings.ts'
import { fetchPrices, Prices } from './pricing.ts'
import { type FamilyUsage, hasQuota, usagesByFamily } from './quota.ts'
import { parseSku, type VmSize } from './sku.ts'
import type { UnavailableOfferings } from './unavailable-offerings.ts'

/** Lists that are kept: one for each node class and each of the few v1beta1 settings that pools have for it. */
const mostCached = 100
/** Usages older than this say nothing any more, and quota counts as free (reference/azure-provider.md 3.9). */
const usageLifetimeMs = 15 * 60_000
const usageEveryMs = 10 * 60_000
/** Other replicas' refusals are known here at the latest after this long. */
const marksEveryMs = 5000
const loadPatienceMs = 10_000
const catalogueEveryMs = 12 * 3_600_000

interface CachedList {
  readonly key: string
  readonly settingsKey: string
  readonly lists: InstanceTypeLists
  readonly types: readonly InstanceType[]
}

/** What the region sells: sizes, prices and quota, the last good answer of each. */
export class Catalogue {
  readonly #azure: AzureClient
  readonly #config: AzureConfig
  readonly #unavailable: UnavailableOfferings
  readonly #log: Logger
  readonly #now: () => number
  #sizes: ReadonlyMap<string, VmSize> = new Map()
  #prices = new Prices()
  #usages: ReadonlyMap<string, FamilyUsage> = new Map()
  #usagesAt = Number.NEGATIVE_INFINITY
  #version = 0
  #usagesVersion = 0
  readonly #cache = new Map<string, CachedList>()
  readonly #timers = new Map<string, NodeJS.Timeout>()
  #isStopped = false

  constructor(deps: {
    readonly azure: AzureClient
    readonly config: AzureConfig
    readonly unavailable: UnavailableOfferings
    readonly log: Logger
    readonly now: () => number
  }) {
    this.#azure = deps.azure
    this.#config = deps.config
    this.#unavailable = deps.unavailable
    this.#log = deps.log
    this.#now = deps.now
  }

  /** Loads in the background and again from time to time; a failed load is tried again soon. */
  start(): void {
    const load = async () => {
      const ok = await this.refresh().then(
        () => true,
        (error: unknown) => {
          this.#log.error(
            {
              err: error,
              region: this.#config.location,
              armEndpoint: this.#config.armEndpoint ?? 'the public cloud',
              pricesEndpoint: this.#config.pricesEndpoint ?? 'none in this cloud',
            },
            'instance types or prices could not be loaded; the last good ones stay in use, and it is tried again. ' +
              'Check LOCATION, the workload identity, and that both endpoints can be reached',
          )
          return false
        },
      )
      this.#later('load', load, ok ? catalogueEveryMs : 5000)
    }
    const usages = async () => {
      await this.#refreshUsages().catch((error: unknown) =>
        this.#log.warn({ err: error }, 'usages could not be read; quota counts as free'),
      )
      this.#later('usages', usages, usageEveryMs)
    }
    const marks = async () => {
      await this.#unavailable
        .refresh()
        .catch((error: unknown) => this.#log.warn({ err: error }, 'unavailable offerings could not be read'))
      this.#later('marks', marks, marksEveryMs)
    }
    void load()
    void usages()
    void marks()
  }

  /** Ends the background loading. */
  stop(): void {
    this.#isStopped = true
    for (const timer of this.#timers.values()) clearTimeout(timer)
  }

  /**
   * Waits until sizes have been loaded once. Errors: throws when they were not within ten seconds, so that the caller's own retry
   * says so and goes on.
   */
  async whenLoaded(signal: AbortSignal): Promise<void> {
    const deadline = this.#now() + loadPatienceMs
    while (this.#sizes.size === 0) {
      if (this.#now() >= deadline) {
        throw new Error(
          `instance types of region "${this.#config.location}" are not loaded yet; see the log for what Azure says`,
        )
      }
      await pauseFor(100, signal)
    }
  }

  size(instanceType: string): VmSize | undefined {
    return this.#sizes.get(instanceType)
  }

  /** Reads sizes and prices anew. Errors: what Azure says; the last good answers stay. */
  async refresh(): Promise<{ readonly instanceTypes: number; readonly prices: number }> {
    const [sizes, prices] = await Promise.allSettled([
      this.#readSizes(),
      this.#config.pricesEndpoint === undefined
        ? new Prices()
        : fetchPrices(this.#config.pricesEndpoint, this.#config.location),
    ])
    if (prices.status === 'fulfilled' && prices.value.size > 0) this.#prices = prices.value
    if (sizes.status === 'fulfilled' && sizes.value.size > 0) this.#sizes = sizes.value
    this.#version += 1
    if (sizes.status === 'rejected') throw sizes.reason
    if (sizes.value.size === 0) {
      throw new Error(`resource SKUs: region "${this.#config.location}" lists no usable VM size; check LOCATION`)
    }
    if (prices.status === 'rejected') throw prices.reason
    return { instanceTypes: this.#sizes.size, prices: this.#prices.size }
  }

  /**
   * The instance types of a node class as they can be bought now, for a pool with these kubelet settings of v1beta1; the same array until
   * something changes.
   */
  instanceTypesFor(nodeClass: NodeClass, kubelet?: KubeletConversion): readonly InstanceType[] {
    const settings = nodeClassSettings(nodeClass, this.#config, kubelet)
    const quota = this.#usagesAreFresh()
    const slot = `${nodeClass.metadata.name}/${JSON.stringify(kubelet ?? null)}`
    const settingsKey = JSON.stringify(relevant(settings))
    const key = `${this.#version}/${this.#unavailable.version}/${this.#usagesVersion}/${quota}/${settingsKey}`
    const cached = this.#cache.get(slot)
    if (cached?.key === key) return cached.types
    const lists = cached?.settingsKey === settingsKey ? cached.lists : this.#listsOf(settings)
    const types = lists.list({
      sizes: this.#sizes.values(),
      prices: this.#prices,
      isMarked: (offering) => this.#unavailable.isMarked(offering),
      hasQuota: (family, vCpus) => this.#hasQuota(family, vCpus),
    })
    if (this.#cache.size >= mostCached) this.#cache.clear()
    this.#cache.set(slot, { key, settingsKey, lists, types })
    return types
  }

  #listsOf(nodeClass: NodeClassSettings): InstanceTypeLists {
    return new InstanceTypeLists({
      region: this.#config.location,
      nodeClass,
      memoryOverheadPercent: this.#config.vmMemoryOverheadPercent,
      nodeResourceGroup: this.#config.nodeResourceGroup,
    })
  }

  /** On-demand quota by the last usages; unknown families and stale data count as free. */
  #hasQuota(family: string, vCpus: number): boolean {
    return !this.#usagesAreFresh() || hasQuota(this.#usages, family, vCpus)
  }

  #usagesAreFresh(): boolean {
    return this.#now() - this.#usagesAt <= usageLifetimeMs
  }

  async #readSizes(): Promise<ReadonlyMap<string, VmSize>> {
    const sizes = new Map<string, VmSize>()
    for await (const sku of this.#azure.compute.resourceSkus.list({
      filter: `location eq '${this.#config.location}'`,
    })) {
      const parsed = parseSku(sku, this.#config.location)
      if (parsed.kind === 'size') sizes.set(parsed.size.name, parsed.size)
    }
    return sizes
  }

  async #refreshUsages(): Promise<void> {
    const items: Usage[] = []
    for await (const item of this.#azure.compute.usage.list(this.#config.location)) items.push(item)
    this.#usages = usagesByFamily(items)
    this.#usagesAt = this.#now()
    this.#usagesVersion += 1
  }

  #later(name: string, run: () => Promise<void>, ms: number): void {
    if (this.#isStopped) return
    const timer = setTimeout(() => void run(), ms)
    timer.unref()
    this.#timers.set(name, timer)
  }
}

function relevant({ name: _name, tags: _tags, kubelet: _kubelet, ...rest }: NodeClassSettings): unknown {
  return rest
}
