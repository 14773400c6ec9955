// What VM sizes of a region cost, for commands that ask Azure themselves; what Joiner keeps of it is in kept.ts.
import { modelledPrices, type Prices } from '../../activities/azure/catalogue/pricing.ts'
import { fetchPrices } from '../../activities/azure/catalogue/retail-prices.ts'
import { readPrices } from '../files/azure-files.ts'
import { type InputFile, inputName } from '../files/input-file.ts'
import { whyOf } from './missing.ts'

/** Where prices are from, and how old they are. */
export interface PriceSource {
  readonly kind: 'price list' | 'file' | 'estimate'
  readonly text: string
  /** RFC 3339 time at which they were read; unset for what has no age. */
  readonly readAt?: string
}

export interface PricedRegion {
  readonly prices: Prices
  readonly source: PriceSource
  /** What a reader should know of them. */
  readonly remarks: readonly string[]
}

/** Where prices are looked for. */
export interface PricePlaces {
  readonly files: readonly InputFile[]
  /** Address of the retail price list; unset where the cloud has none. */
  readonly endpoint: string | undefined
  /** Unset: not known. */
  readonly region: string | undefined
}

/** Returns the address of the list of prices that the environment names, or the public one. */
export function priceEndpoint(env: NodeJS.ProcessEnv): string {
  return env['JOINER_PRICES_ENDPOINT'] ?? 'https://prices.azure.com'
}

/** Reads prices of files, else of the list, else models them. `now`: epoch ms. Errors: InputError for a file. */
export async function regionPrices({ files, endpoint, region }: PricePlaces, now: number): Promise<PricedRegion> {
  if (files.length > 0) {
    const text = files.map(({ file }) => inputName(file)).join(', ')
    return { prices: await readPrices(files, region ?? ''), source: { kind: 'file', text }, remarks: [] }
  }
  if (endpoint === undefined) return modelled(', since this cloud has no price list')
  if (region === undefined) return modelled(': no node has the label topology.kubernetes.io/region')
  try {
    const found = await fetchPrices(endpoint, region)
    const text = `retail prices of ${found.region}, pay as you go, from ${endpoint}`
    return {
      prices: found.list,
      source: { kind: 'price list', text, readAt: new Date(now).toISOString() },
      remarks:
        found.region === region ? [] : [`prices are those of ${found.region}: ${endpoint} has none of ${region}`],
    }
  } catch (error) {
    return modelled(`: ${whyOf(error)}`)
  }
}

function modelled(why: string): PricedRegion {
  return {
    prices: modelledPrices,
    source: { kind: 'estimate', text: 'estimated from vCPUs, memory and GPUs of each size, not read' },
    remarks: [`prices are modelled${why}; add --prices FILE for real ones`],
  }
}
