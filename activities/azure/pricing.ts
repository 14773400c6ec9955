import { request } from 'undici'

/** Price of what no price list names: deprioritised, not excluded (reference/azure-provider.md 3.6). */
export const unknownPrice = 999

/** Prices in USD an hour, by size. */
export class Prices {
  readonly #onDemand: ReadonlyMap<string, number>
  readonly #spot: ReadonlyMap<string, number>

  constructor(onDemand: ReadonlyMap<string, number> = new Map(), spot: ReadonlyMap<string, number> = new Map()) {
    this.#onDemand = onDemand
    this.#spot = spot
  }

  get size(): number {
    return this.#onDemand.size + this.#spot.size
  }

  /** A spot price that no list names is taken to be the on-demand price. */
  priceOf(instanceType: string, capacityType: 'spot' | 'on-demand'): number {
    const onDemand = this.#onDemand.get(instanceType) ?? unknownPrice
    return capacityType === 'spot' ? (this.#spot.get(instanceType) ?? onDemand) : onDemand
  }
}

interface PriceItem {
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
export async function fetchPrices(endpoint: string, region: string, signal?: AbortSignal): Promise<Prices> {
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
  const onDemand = new Map<string, number>()
  const spot = new Map<string, number>()
  for (let next: string | undefined = first.href; next !== undefined; ) {
    const page: PricePage = await readPage(next, signal)
    for (const item of page.Items ?? []) enter(item, onDemand, spot)
    next = page.NextPageLink ?? undefined
  }
  return new Prices(onDemand, spot)
}

async function readPage(url: string, signal?: AbortSignal): Promise<PricePage> {
  const response = await request(url, signal === undefined ? {} : { signal })
  if (response.statusCode !== 200)
    throw new Error(`retail prices: HTTP ${response.statusCode} from ${new URL(url).host}`)
  return (await response.body.json()) as PricePage
}

function enter(
  { armSkuName, retailPrice, productName = '', meterName = '', skuName = '' }: PriceItem,
  onDemand: Map<string, number>,
  spot: Map<string, number>,
): void {
  if (armSkuName === undefined || retailPrice === undefined) return
  if (productName.endsWith(' Windows') || meterName.endsWith(' Low Priority')) return
  ;(skuName.endsWith(' Spot') ? spot : onDemand).set(armSkuName, retailPrice)
}
