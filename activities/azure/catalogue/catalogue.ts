import type { NoteFaults } from '../../../api/kept/document.ts'
import type { NodeClass } from '../../../api/objects.ts'
import type { InstanceType } from '../../../core/instance-type.ts'
import type { KubeletConversion } from '../../../core/node-class/kubelet-conversion.ts'
import { pauseFor } from '../../activity-context.ts'
import type { KubernetesClient } from '../../kubernetes/client/client.ts'
import type { Parts } from '../../kubernetes/parts.ts'
import type { AzureClient } from '../arm/client.ts'
import type { AzureConfig } from '../azure-config.ts'
import { offeringUse } from '../capacity/blocking-mark.ts'
import type { Mark, OfferingId } from '../capacity/mark.ts'
import type { Quota } from '../capacity/quota.ts'
import type { UnavailableOfferings } from '../capacity/unavailable-offerings.ts'
import { type NodeClassSettings, nodeClassSettings } from '../node-class/node-class-settings.ts'
import type { CapacityReservations } from '../reservations/capacity-reservations.ts'
import type { OfferedReservation } from '../reservations/reservation.ts'
import { DurableDocument } from './durable-document.ts'
import { InstanceTypeLists, type ReservedPlace } from './instance-types.ts'
import { isUnknownPrice, keptPrices, modelledPrices, type RegionPrices } from './pricing.ts'
import { type AnswerSource, RefreshedAnswer } from './refreshed-answer.ts'
import { fetchPrices } from './retail-prices.ts'
import { keptSizes, readSizes, type Sizes } from './size-list.ts'
import type { VmSize } from './sku.ts'

/** Most lists that are kept: one for each node class and each of the few v1beta1 settings that pools have for it. */
const mostCached = 100
const loadPatienceMs = 10_000

interface CatalogueDeps extends Pick<Parts, 'namespace' | 'log' | 'now'> {
  /** Undefined in a process without the role azure, which uses what a process with that role stores. */
  readonly azure: AzureClient | undefined
  readonly config: AzureConfig
  readonly unavailable: UnavailableOfferings
  readonly quota: Quota
  readonly reservations: Pick<CapacityReservations, 'named' | 'offeredTo' | 'signature'>
  /** Store of the last good answers. */
  readonly kubernetes: KubernetesClient
  /** Takes what of them cannot be read. */
  readonly note?: NoteFaults
}

/** Settings of a node class, and as a text what of them decides its types. */
interface KnownSettings {
  readonly settings: NodeClassSettings
  readonly text: string
}

interface CachedList {
  readonly key: string
  readonly settingsKey: string
  readonly lists: InstanceTypeLists
  readonly types: readonly InstanceType[]
}

/** The sizes and prices that the region sells, as of the last good answers. Nothing here waits for Azure. */
export class Catalogue {
  readonly sizes: RefreshedAnswer<Sizes>
  readonly prices: RefreshedAnswer<RegionPrices>
  readonly #deps: CatalogueDeps
  /** The vCPU counts of sizes, ascending, by the version of the sizes. */
  #vCpuSteps: { readonly version: number; readonly steps: readonly number[] } = { version: -1, steps: [] }
  readonly #cache = new Map<string, CachedList>()
  /** By the object, which is replaced when it changes, and by the pool's kubelet settings: passes ask for types all the time. */
  readonly #settings = new WeakMap<NodeClass, Map<string, KnownSettings>>()

  constructor(deps: CatalogueDeps) {
    this.#deps = deps
    this.sizes = new RefreshedAnswer(sizeSource(deps), deps.log, deps.now)
    this.prices = new RefreshedAnswer(priceSource(deps), deps.log, deps.now)
  }

  /** Loads in the background and again from time to time; retries a failed load soon. */
  start(): void {
    this.sizes.start()
    this.prices.start()
  }

  /** Ends the background loading. */
  stop(): void {
    this.sizes.stop()
    this.prices.stop()
  }

  /**
   * Waits until sizes have been loaded once. Errors: throws when they were not within ten seconds, so that the caller's own retry
   * reports it and goes on.
   */
  async whenLoaded(signal: AbortSignal): Promise<void> {
    const deadline = this.#deps.now() + loadPatienceMs
    while (this.sizes.answer === undefined) {
      if (this.#deps.now() >= deadline) {
        throw new Error(
          `instance types of region "${this.#deps.config.location}" are not loaded yet; see the log for what Azure says`,
        )
      }
      await pauseFor(100, signal)
    }
  }

  size(instanceType: string): VmSize | undefined {
    return this.sizes.answer?.value.get(instanceType)
  }

  /** Returns what a size costs in USD an hour: nothing when the list does not name it, an estimate while no list was read. */
  price(size: VmSize, capacityType: string): { readonly pricePerHour?: number; readonly isEstimate?: true } {
    const list = this.prices.answer?.value.list
    const pricePerHour = (list ?? modelledPrices).priceOf(size, capacityType === 'spot' ? 'spot' : 'on-demand')
    return isUnknownPrice(pricePerHour) ? {} : { pricePerHour, ...(list === undefined ? { isEstimate: true } : {}) }
  }

  /**
   * Returns the instance types of a node class as they can be bought now, for a pool with these kubelet settings of v1beta1; the same array until
   * something changes.
   */
  instanceTypesFor(nodeClass: NodeClass, kubelet?: KubeletConversion): readonly InstanceType[] {
    const { settings, text } = this.#settingsOf(nodeClass, kubelet)
    const quota = this.#deps.quota.signature(this.#steps())
    const slot = `${nodeClass.metadata.name}/${JSON.stringify(kubelet ?? null)}`
    const reservations = this.#deps.reservations.signature(nodeClass)
    const settingsKey = `${reservations === '' ? '' : 'reserved '}${text}`
    const use = offeringUse(nodeClass)
    const key = `${this.sizes.version}/${this.prices.version}/${this.#deps.unavailable.version}/${quota}/${reservations}/${[...use.images].join()}/${settingsKey}`
    const cached = this.#cache.get(slot)
    if (cached?.key === key) return cached.types
    const lists = cached?.settingsKey === settingsKey ? cached.lists : this.#listsOf(settings, reservations !== '')
    const listed = lists.list({
      sizes: this.sizes.answer?.value.values() ?? [],
      prices: this.prices.answer?.value.list ?? modelledPrices,
      isMarked: (offering) => this.#deps.unavailable.isMarked(offering, use),
      hasQuota: (family, vCpus) => this.#deps.quota.hasRoom({ family, vCpus, capacityType: 'on-demand' }),
      hasSpotQuota: (family, vCpus) => this.#deps.quota.hasRoom({ family, vCpus, capacityType: 'spot' }),
      reserved: reservedSale(this.#deps.reservations.offeredTo(nodeClass), (offering) =>
        this.#deps.unavailable.markOf(offering, use),
      ),
    })
    // A refusal may be of what the class does not use, and planners know a list by its identity.
    const types = cached !== undefined && isSameList(cached.types, listed) ? cached.types : listed
    if (this.#cache.size >= mostCached) this.#cache.clear()
    this.#cache.set(slot, { key, settingsKey, lists, types })
    return types
  }

  #settingsOf(nodeClass: NodeClass, kubelet: KubeletConversion | undefined): KnownSettings {
    const known = this.#settings.get(nodeClass) ?? new Map<string, KnownSettings>()
    this.#settings.set(nodeClass, known)
    const key = JSON.stringify(kubelet ?? null)
    const found = known.get(key)
    if (found !== undefined) return found
    const settings = nodeClassSettings(nodeClass, this.#deps.config, kubelet)
    const own = { settings, text: JSON.stringify(relevant(settings)) }
    known.set(key, own)
    return own
  }

  #listsOf(nodeClass: NodeClassSettings, hasReservations: boolean): InstanceTypeLists {
    return new InstanceTypeLists({
      region: this.#deps.config.location,
      nodeClass,
      memoryOverheadPercent: this.#deps.config.vmMemoryOverheadPercent,
      nodeResourceGroup: this.#deps.config.nodeResourceGroup,
      allowsUntested: this.#deps.config.untestedSizes === true,
      hasReservations,
    })
  }

  #steps(): readonly number[] {
    const { version } = this.sizes
    if (this.#vCpuSteps.version !== version) {
      const all = new Set([...(this.sizes.answer?.value.values() ?? [])].map(({ vCpus }) => vCpus))
      this.#vCpuSteps = { version, steps: [...all].sort((a, b) => a - b) }
    }
    return this.#vCpuSteps.steps
  }
}

function isSameList(a: readonly InstanceType[], b: readonly InstanceType[]): boolean {
  return a.length === b.length && a.every((type, at) => type === b[at])
}

function relevant({ name: _name, kubelet: _kubelet, spec, ...rest }: NodeClassSettings): unknown {
  const { tags: _tags, kubelet: _ownKubelet, ...own } = spec
  return { ...rest, spec: own }
}

/** Returns the source of sizes. A restart requests them again: it is one request, and restrictions may have changed. Prices are many pages. */
function sizeSource(deps: CatalogueDeps): AnswerSource<Sizes> {
  const { azure, config } = deps
  const about = { subscription: config.subscriptionId, region: config.location }
  return {
    what: 'VM sizes',
    remedy: `Check LOCATION "${config.location}", the identity's right to read Microsoft.Compute/skus, and that ${config.armEndpoint ?? 'ARM'} can be reached`,
    ask: azure && (() => readSizes(azure, config.location)),
    follows: azure === undefined,
    asksAtStart: true,
    document: new DurableDocument(deps.kubernetes, keptSizes, { ...deps, about }),
  }
}

function priceSource(deps: CatalogueDeps): AnswerSource<RegionPrices> {
  const { azure, kubernetes } = deps
  const { pricesEndpoint, location } = deps.config
  return {
    what: 'prices',
    remedy: `Check that ${pricesEndpoint ?? ''} can be reached`,
    ask: azure && pricesEndpoint !== undefined ? () => fetchPrices(pricesEndpoint, location, azure.http) : undefined,
    follows: azure === undefined,
    asksAtStart: false,
    document: new DurableDocument(kubernetes, keptPrices, { ...deps, about: { askedFor: location } }),
  }
}

/** Returns reservations by size, in lower case. One that Azure refused a moment ago is not available, nor is one of a size that does not work. */
export function reservedSale(
  offered: readonly OfferedReservation[],
  markOf: (offering: OfferingId) => Mark | undefined,
): ReadonlyMap<string, readonly ReservedPlace[]> {
  const sale = new Map<string, readonly ReservedPlace[]>()
  for (const { id, instanceType, zone, free } of offered) {
    const mark = markOf({ instanceType, zone, capacityType: 'reserved', family: '', vCpus: 0 })
    const place = { id, zone, free, available: mark === undefined }
    sale.set(instanceType.toLowerCase(), [...(sale.get(instanceType.toLowerCase()) ?? []), place])
  }
  return sale
}
