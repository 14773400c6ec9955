import { request } from 'undici'

/** Price of what no price list names: deprioritised, not excluded (reference/azure-provider.md 3.6). */
const unknownPrice = 999
const pageTimeoutMs = 30_000

/** Prices in USD an hour, by size. */
export class Prices {
  readonly onDemand: ReadonlyMap<string, number>
  readonly spot: ReadonlyMap<string, number>

  constructor(onDemand: ReadonlyMap<string, number> = new Map(), spot: ReadonlyMap<string, number> = new Map()) {
    this.onDemand = onDemand
    this.spot = spot
  }

  get size(): number {
    return this.onDemand.size + this.spot.size
  }

  /** The price of a size. What a loaded list does not name costs `unknownPrice`; before any list was loaded prices are estimated. */
  priceOf(size: { readonly name: string } & SizeFacts, capacityType: 'spot' | 'on-demand'): number {
    if (this.size === 0) return estimatedPrice(size)
    return (capacityType === 'spot' ? this.spot : this.onDemand).get(size.name) ?? unknownPrice
  }
}

interface SizeFacts {
  readonly vCpus: number
  readonly memoryGib: number
  readonly gpus: number
}

/**
 * A rough price from what a VM holds, the same for both capacity types. It only has to put small before large until the first price list
 * arrives: a price API that is down must not stop a cluster from scaling.
 */
function estimatedPrice({ vCpus, memoryGib, gpus }: SizeFacts): number {
  return Math.round((vCpus * 0.035 + memoryGib * 0.004 + gpus * 0.9) * 10_000) / 10_000
}

export interface PriceItem {
  readonly armSkuName?: string
  readonly retailPrice?: number
  readonly productName?: string
  readonly meterName?: string
  readonly skuName?: string
}

interface PricePage {
  readonly Items?: readonly PriceItem[]
  readonly NextPageLink?: string | null
}

/** Reads the region's Linux prices from the retail price API, page by page (reference/azure-provider.md 3.7). */
export async function fetchPrices(endpoint: string, region: string): Promise<Prices> {
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
  for (let next: string | undefined = first.href; next !== undefined; ) {
    const page: PricePage = await readPage(next)
    items.push(...(page.Items ?? []))
    next = page.NextPageLink || undefined
  }
  return pricesOf(items)
}

async function readPage(url: string): Promise<PricePage> {
  const response = await request(url, { signal: AbortSignal.timeout(pageTimeoutMs) })
  if (response.statusCode !== 200)
    throw new Error(`retail prices: HTTP ${response.statusCode} from ${new URL(url).host}`)
  return (await response.body.json()) as PricePage
}

/** Linux prices among the items of price pages; the last one of a size wins. */
export function pricesOf(items: readonly PriceItem[]): Prices {
  const onDemand = new Map<string, number>()
  const spot = new Map<string, number>()
  for (const { armSkuName, retailPrice, productName = '', meterName = '', skuName = '' } of items) {
    if (armSkuName === undefined || retailPrice === undefined) continue
    if (productName.endsWith(' Windows') || meterName.endsWith(' Low Priority')) continue
    const list = skuName.endsWith(' Spot') ? spot : onDemand
    list.set(armSkuName, retailPrice)
  }
  return new Prices(onDemand, spot)
}
