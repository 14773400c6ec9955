import { DurableDocument } from '../../activities/azure/catalogue/durable-document.ts'
import { keptPrices } from '../../activities/azure/catalogue/pricing.ts'
import type { KeptSource } from '../../activities/kubernetes/client/config-map.ts'
import { faultText } from '../../api/kept/document.ts'
import type { PriceOf } from '../../core/cost/report.ts'

/** The price list that Joiner keeps in the cluster. */
export interface KeptPrices {
  readonly priceOf: PriceOf
  readonly region: string
  /** Epoch ms: when it was read from Azure. */
  readonly readAtMs: number
}

export type FoundPrices =
  | ({ readonly kind: 'read' } & KeptPrices)
  | { readonly kind: 'none' }
  | { readonly kind: 'damaged'; readonly why: string }

/** Reads the price list. Errors: the API server's. */
export async function readPrices(source: KeptSource, now: () => number): Promise<FoundPrices> {
  const { client, namespace } = source
  const found = await new DurableDocument(client, keptPrices, { ...source, about: {}, now }).read()
  if (found.kind === 'damaged') return { kind: 'damaged', why: faultText(keptPrices.name, namespace, found.fault) }
  if (found.kind !== 'read') return { kind: 'none' }
  const { region, list } = found.value
  return {
    kind: 'read',
    region,
    readAtMs: found.readAtMs,
    // Azure lists sizes that it does not sell with a price of 0.
    priceOf: (size, capacityType) => (capacityType === 'spot' ? list.spot : list.onDemand).get(size) || undefined,
  }
}
