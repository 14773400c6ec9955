import { readFileSync } from 'node:fs'
import type { FastifyInstance } from 'fastify'
import type { SimulatorConfig } from '../server/config.ts'
import { type PriceItem, priceItems, sizesUpTo } from './catalogue.ts'

type PriceConfig = Pick<SimulatorConfig, 'location' | 'pricesFiles' | 'catalogueFile' | 'mostVCpus'>

/** The retail price API, `GET /api/retail/prices`, in pages. Errors at start: a file of prices that cannot be read. */
export function registerPrices(app: FastifyInstance, config: PriceConfig): void {
  const items = readPrices(config)
  app.get<{ Querystring: Record<string, string> }>('/api/retail/prices', (request) => {
    const found = filtered(items, request.query['$filter'] ?? '')
    const skip = Number(request.query['$skip'] ?? 0)
    const page = found.slice(skip, skip + pageSize)
    const next = new URL(request.url, `https://${request.host}`)
    next.searchParams.set('$skip', String(skip + pageSize))
    return {
      BillingCurrency: 'USD',
      CustomerEntityId: 'Default',
      CustomerEntityType: 'Retail',
      Items: page,
      NextPageLink: skip + pageSize < found.length ? next.href : null,
      Count: page.length,
    }
  })
}

/** Returns the price of a size in USD an hour, by the same rows; undefined where there is none. Errors: as `registerPrices`. */
export function priceLookup(config: PriceConfig): (size: string, isSpot: boolean) => number | undefined {
  const prices = new Map<string, number>()
  for (const { armSkuName, armRegionName, productName, skuName, retailPrice } of readPrices(config)) {
    const isOther = String(productName).endsWith(' Windows') || String(skuName).endsWith(' Low Priority')
    if (isOther || armRegionName !== config.location) continue
    prices.set(priceKey(String(armSkuName), String(skuName).endsWith(' Spot')), Number(retailPrice))
  }
  return (size, isSpot) => prices.get(priceKey(size, isSpot))
}

function priceKey(size: string, isSpot: boolean): string {
  return `${size.toLowerCase()}/${isSpot}`
}

/** Azure's page has 100 rows. */
const pageSize = 100

function readPrices({ location, pricesFiles, catalogueFile, mostVCpus }: PriceConfig): readonly PriceItem[] {
  if (pricesFiles !== undefined) return pricesFiles.flatMap(readPriceFile)
  // Sizes from a file have no built-in prices.
  return catalogueFile === undefined ? sizesUpTo(mostVCpus).flatMap((size) => priceItems(size, location)) : []
}

function readPriceFile(file: string): readonly PriceItem[] {
  const { Items } = JSON.parse(readFileSync(file, 'utf8')) as { readonly Items?: readonly PriceItem[] }
  if (!Array.isArray(Items))
    throw new Error(`pricesFiles "${file}" has no list "Items"; give it an answer of the retail price API`)
  return Items
}

/** Conditions `field eq 'value'` of an OData filter, all of which must hold; a row without the field passes. Without a region: none. */
function filtered(items: readonly PriceItem[], filter: string): readonly PriceItem[] {
  const conditions = [...filter.matchAll(/(\w+) eq '([^']*)'/g)].map(
    ([, field = '', value = '']) => [field === 'priceType' ? 'type' : field, value] as const,
  )
  if (!conditions.some(([field]) => field === 'armRegionName')) return []
  return items.filter((item) =>
    conditions.every(([field, value]) => item[field] === undefined || item[field] === value),
  )
}
