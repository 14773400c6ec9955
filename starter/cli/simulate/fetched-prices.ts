import { fetchPriceItems } from '../../../activities/azure/catalogue/retail-prices.ts'
import { ReportedError } from '../../document/reported-error.ts'
import type { InputFile } from '../bounded/input.ts'

/**
 * Returns a region's prices as a file of them, read from the retail price API or from `JOINER_PRICES_ENDPOINT`. Errors: the API cannot be reached, or answers
 * something else.
 */
export async function fetchedPrices(region: string, env: NodeJS.ProcessEnv = process.env): Promise<InputFile> {
  const endpoint = env['JOINER_PRICES_ENDPOINT'] ?? 'https://prices.azure.com'
  console.error(`reading the prices of ${region} from ${endpoint} ...`)
  try {
    const items = await fetchPriceItems(endpoint, region)
    const bytes = new TextEncoder().encode(JSON.stringify({ Items: items }))
    return { file: `prices of ${region}`, bytes }
  } catch (error) {
    throw new ReportedError(`--fetch-prices ${region}: ${(error as Error).message}; use --prices FILE`)
  }
}
