import { DurableDocument } from '../../activities/azure/catalogue/durable-document.ts'
import { decodePrices } from '../../activities/azure/catalogue/pricing.ts'
import type { KubernetesClient } from '../../activities/kubernetes/client/client.ts'
import type { PriceOf } from '../cli/status/status.ts'

/** The price list that Joiner keeps in the cluster. */
export interface KeptPrices {
  readonly priceOf: PriceOf
  /** Epoch ms: when it was read from Azure. */
  readonly readAtMs: number
}

/** Reads the price list; undefined: there is none. Errors: the API server's, and those of a damaged list. */
export async function readPrices(client: KubernetesClient, namespace: string): Promise<KeptPrices | undefined> {
  const kept = await new DurableDocument(client, { namespace, name: 'joiner-prices', about: {} }).read()
  if (kept === undefined) return undefined
  const { list } = decodePrices(kept.json)
  return {
    readAtMs: kept.readAtMs,
    // Azure lists sizes that it does not sell with a price of 0.
    priceOf: (size, capacityType) => (capacityType === 'spot' ? list.spot : list.onDemand).get(size) || undefined,
  }
}
