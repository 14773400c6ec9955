import type { HttpClient } from '@azure/core-rest-pipeline'
import { jsonIn } from '../../../core/values/json.ts'
import { notJson, readWhole } from '../../limited-body.ts'
import { plainGet } from '../answers/plain-get.ts'
import { type PriceItem, pricesOf, type RegionPrices } from './pricing.ts'

/** Region whose prices are used where the region has none, or none by that name, as upstream: only the order matters. */
const fallbackRegion = 'eastus'
const pageAttempts = 4
/** Longest wait of a throttled read; after a longer one the next refresh reads again. */
const longestWaitMs = 60_000
const mostPages = 1000

interface PricePage {
  readonly Items?: readonly PriceItem[] | null
  readonly NextPageLink?: string | null
}

/**
 * Reads the region's Linux prices from the retail price API (reference/azure-provider.md 3.7); those of another region where it knows none.
 * `http` carries the requests, where it is not the default.
 * Errors: the endpoint cannot be reached, answers something else than pages, or has no prices at all.
 */
export async function fetchPrices(endpoint: string, region: string, http?: HttpClient): Promise<RegionPrices> {
  for (const asked of new Set([region, fallbackRegion])) {
    const list = pricesOf(await fetchPriceItems(endpoint, asked, http))
    if (list.size > 0) return { region: asked, list }
  }
  throw new Error(`retail prices: ${endpoint} has none, neither of region "${region}" nor of "${fallbackRegion}"`)
}

/** Reads all pages of the region's prices. Errors: the endpoint cannot be reached, or answers something else than pages. */
export async function fetchPriceItems(
  endpoint: string,
  region: string,
  http?: HttpClient,
): Promise<readonly PriceItem[]> {
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
  const asked = new Set<string>()
  for (let next: string | undefined = first.href; next !== undefined; ) {
    if (asked.has(next) || asked.size >= mostPages)
      throw new Error(
        `retail prices: the list of ${endpoint} does not end: ${asked.has(next) ? 'a page continues with one before it' : `it has more than ${mostPages} pages`}`,
      )
    asked.add(next)
    const page: PricePage = await readPage(next, http)
    items.push(...(page.Items ?? []))
    next = page.NextPageLink || undefined
    const { origin } = new URL(next ?? first, first)
    if (origin !== first.origin)
      throw new Error(`retail prices: the next page is at ${origin}, not at ${first.origin}, so it is not asked for`)
  }
  return items
}

/** Reads a page. The API throttles readers of many pages, and says for how long. */
async function readPage(url: string, http: HttpClient | undefined): Promise<PricePage> {
  for (let attempt = 1; ; attempt++) {
    const what = `retail prices: GET ${new URL(url).host}`
    const response = await plainGet(url, { http })
    const text = await readWhole(response.body, what)
    if (response.status === 200) {
      const page = jsonIn(text)
      if (page !== undefined) return page
      throw new Error(notJson(what, { text, contentType: response.header('content-type') }))
    }
    const isPassing = response.status === 429 || response.status >= 500
    const asked = Number(response.header('retry-after'))
    const waitMs = Number.isFinite(asked) ? asked * 1000 : 500 * 2 ** attempt
    if (!isPassing || attempt >= pageAttempts || waitMs > longestWaitMs)
      throw new Error(`retail prices: HTTP ${response.status} from ${new URL(url).host}`)
    await new Promise((resolve) => setTimeout(resolve, waitMs).unref())
  }
}
