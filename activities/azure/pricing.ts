import { setTimeout as pause } from 'node:timers/promises'
import { request } from 'undici'
import { modelledPrice, type PricedSize } from './price-model.ts'

/** Price of what no price list names: deprioritised, not excluded (reference/azure-provider.md 3.6). */
const unknownPrice = 999
/** Where the region has no prices, or none by that name, those of this one stand in, as upstream: it is the order that counts. */
const fallbackRegion = 'eastus'
const pageTimeoutMs = 30_000
const pageAttempts = 4
/** Who asks for a longer wait is asked anew at the next refresh. */
const longestWaitMs = 60_000
const mostPages = 1000

/** Prices of sizes in USD an hour. */
export interface Prices {
  priceOf(size: PricedSize, capacityType: 'spot' | 'on-demand'): number
}

/** What a price list says of a region's Linux VMs, by size. */
export class PriceList implements Prices {
  readonly onDemand: ReadonlyMap<string, number>
  readonly spot: ReadonlyMap<string, number>

  constructor(onDemand: ReadonlyMap<string, number>, spot: ReadonlyMap<string, number>) {
    this.onDemand = onDemand
    this.spot = spot
  }

  /** How many prices there are. */
  get size(): number {
    return this.onDemand.size + this.spot.size
  }

  priceOf({ name }: { readonly name: string }, capacityType: 'spot' | 'on-demand'): number {
    return (capacityType === 'spot' ? this.spot : this.onDemand).get(name) ?? unknownPrice
  }
}

/** Prices while no list was ever read: an estimate of each size. */
export const modelledPrices: Prices = { priceOf: modelledPrice }

/** A price list with the region that it is of, which may be another than was asked for. */
export interface RegionPrices {
  readonly region: string
  readonly list: PriceList
}

/** A row of the retail price API, as far as it is looked at. */
export interface PriceItem {
  readonly armSkuName?: string
  readonly retailPrice?: number
  readonly productName?: string
  readonly meterName?: string
  readonly skuName?: string
}

interface PricePage {
  readonly Items?: readonly PriceItem[] | null
  readonly NextPageLink?: string | null
}

/**
 * Reads the region's Linux prices from the retail price API (reference/azure-provider.md 3.7); those of another region where it knows none.
 * Errors: the endpoint cannot be reached, answers something else than pages, or has no prices at all.
 */
export async function fetchPrices(endpoint: string, region: string): Promise<RegionPrices> {
  for (const asked of new Set([region, fallbackRegion])) {
    const list = pricesOf(await readItems(endpoint, asked))
    if (list.size > 0) return { region: asked, list }
  }
  throw new Error(`retail prices: ${endpoint} has none, neither of region "${region}" nor of "${fallbackRegion}"`)
}

async function readItems(endpoint: string, region: string): Promise<readonly PriceItem[]> {
  const filter = [
    "priceType eq 'Consumption'",
    "currencyCode eq 'USD'",
    "serviceFamily eq 'Compute'",
    "serviceName eq 'Virtual Machines'",
    `armRegionName eq '${region}'`,
  ].join(' and ')
  const first = new URL('/api/retail/prices', endpoint)
  first.searchParams.set('api-version', '2023-01-01-preview')
  first.searchParams.set('$filter', filter)
  const items: PriceItem[] = []
  let next: string | undefined = first.href
  for (let pages = 1; next !== undefined; pages++) {
    if (pages > mostPages) throw new Error(`retail prices: ${endpoint} has more than ${mostPages} pages of one region`)
    const page: PricePage = await readPage(next)
    items.push(...(page.Items ?? []))
    next = page.NextPageLink || undefined
  }
  return items
}

/** The API throttles readers of many pages, and says for how long. */
async function readPage(url: string): Promise<PricePage> {
  for (let attempt = 1; ; attempt++) {
    const response = await request(url, { signal: AbortSignal.timeout(pageTimeoutMs) })
    if (response.statusCode === 200) return (await response.body.json()) as PricePage
    await response.body.dump()
    const isPassing = response.statusCode === 429 || response.statusCode >= 500
    const asked = Number(response.headers['retry-after'])
    const waitMs = Number.isFinite(asked) ? asked * 1000 : 500 * 2 ** attempt
    if (!isPassing || attempt >= pageAttempts || waitMs > longestWaitMs)
      throw new Error(`retail prices: HTTP ${response.statusCode} from ${new URL(url).host}`)
    await pause(waitMs, undefined, { ref: false })
  }
}

/** Linux prices among the items of price pages; the last one of a size wins. */
export function pricesOf(items: readonly PriceItem[]): PriceList {
  const onDemand = new Map<string, number>()
  const spot = new Map<string, number>()
  for (const { armSkuName, retailPrice, productName = '', meterName = '', skuName = '' } of items) {
    if (armSkuName === undefined || retailPrice === undefined) continue
    if (productName.endsWith(' Windows') || meterName.endsWith(' Low Priority')) continue
    const list = skuName.endsWith(' Spot') ? spot : onDemand
    list.set(armSkuName, retailPrice)
  }
  return new PriceList(onDemand, spot)
}

/** Changes when price lists are kept in another way. */
export const pricesFormat = '1'

/** Prices as JSON holds them. */
export function encodePrices({ region, list }: RegionPrices): unknown {
  return { region, onDemand: Object.fromEntries(list.onDemand), spot: Object.fromEntries(list.spot) }
}

/** The inverse of `encodePrices`. Errors: what is not such a list. */
export function decodePrices(json: unknown): RegionPrices {
  const { region, onDemand, spot } = json as Partial<Record<'onDemand' | 'spot', Record<string, number>>> & {
    readonly region?: string
  }
  if (region === undefined || onDemand === undefined || spot === undefined)
    throw new Error('kept prices: region, onDemand or spot is missing')
  return { region, list: new PriceList(new Map(Object.entries(onDemand)), new Map(Object.entries(spot))) }
}
