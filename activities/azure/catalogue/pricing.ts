import { z } from 'zod'
import { mapOf, mostUsd, name, usd } from '../../../api/kept/document.ts'
import type { KeptFormat } from './durable-document.ts'
import type { VmSize } from './sku.ts'

/** Price of sizes that no price list names: deprioritised, not excluded (reference/azure-provider.md 3.6). */
export const unknownPrice = 999

/** Azure lists sizes that it does not sell yet with a price of 0, which is none (reference/real-aks.md 2). */
const isPrice = (price: number | undefined): price is number => price !== undefined && price > 0

/** Whether a price stands for one that is not known. */
export const isUnknownPrice = (price: number) => price >= unknownPrice

/** Prices of sizes in USD an hour. */
export interface Prices {
  priceOf(size: PricedSize, capacityType: 'spot' | 'on-demand'): number
}

/** A price list of a region's Linux VMs, by size. */
export class PriceList implements Prices {
  readonly onDemand: ReadonlyMap<string, number>
  readonly spot: ReadonlyMap<string, number>

  constructor(onDemand: ReadonlyMap<string, number>, spot: ReadonlyMap<string, number>) {
    this.onDemand = onDemand
    this.spot = spot
  }

  get size(): number {
    return this.onDemand.size + this.spot.size
  }

  priceOf({ name }: { readonly name: string }, capacityType: 'spot' | 'on-demand'): number {
    const price = (capacityType === 'spot' ? this.spot : this.onDemand).get(name)
    return isPrice(price) ? price : unknownPrice
  }
}

/** Prices while no list was ever read: an estimate of each size. */
export const modelledPrices: Prices = { priceOf: modelledPrice }

/** A price list with its region, which may differ from the requested one. */
export interface RegionPrices {
  readonly region: string
  readonly list: PriceList
}

/** The columns of the retail price API that are read. */
export interface PriceItem {
  readonly armSkuName?: string
  readonly retailPrice?: number
  readonly productName?: string
  readonly meterName?: string
  readonly skuName?: string
}

/** Returns Linux prices among the items of price pages; the last one of a size wins. */
export function pricesOf(items: readonly PriceItem[]): PriceList {
  const onDemand = new Map<string, number>()
  const spot = new Map<string, number>()
  for (const { armSkuName, retailPrice, productName = '', meterName = '', skuName = '' } of items) {
    if (armSkuName === undefined || retailPrice === undefined || !(retailPrice >= 0 && retailPrice <= mostUsd)) continue
    if (productName.endsWith(' Windows') || meterName.endsWith(' Low Priority')) continue
    const list = skuName.endsWith(' Spot') ? spot : onDemand
    list.set(armSkuName, retailPrice)
  }
  return new PriceList(onDemand, spot)
}

const amounts = mapOf(usd, 20_000)

/** The region's prices in the ConfigMap. */
export const keptPrices: KeptFormat<RegionPrices> = {
  name: 'joiner-prices',
  version: '1',
  schema: z.codec(z.object({ region: name, onDemand: amounts, spot: amounts }), z.custom<RegionPrices>(), {
    decode: ({ region, onDemand, spot }) => ({
      region,
      list: new PriceList(new Map(Object.entries(onDemand)), new Map(Object.entries(spot))),
    }),
    encode: ({ region, list: { onDemand, spot } }) => ({
      region,
      onDemand: Object.fromEntries(onDemand),
      spot: Object.fromEntries(spot),
    }),
  }),
}

/** The part of a size that the price model reads. */
export type PricedSize = Pick<VmSize, 'name' | 'seriesFamily' | 'arch' | 'vCpus' | 'memoryGib' | 'gpus' | 'gpuName'>

/** USD an hour of a vCPU by the family's letter, without its memory. Rounded from the prices of such sizes. */
const ofVCpu: Readonly<Record<string, number>> = {
  A: 0.035,
  B: 0.022,
  D: 0.033,
  E: 0.03,
  F: 0.042,
  G: 0.2,
  H: 0.02,
  L: 0.05,
  M: 0.05,
  N: 0.03,
}
const ofAnyVCpu = 0.04
const ofGib = 0.0045
/** USD an hour of one GPU by its name in the size's; a value in between for one that the name does not give. */
const ofGpu: Readonly<Record<string, number>> = {
  A10: 0.1,
  A100: 2.2,
  GB200: 12,
  GB300: 14,
  H100: 7,
  H200: 9,
  RTXPRO6000BSE: 2.5,
  T4: 0.25,
  V710: 0.2,
}
const ofAnyGpu = 1.5
const arm64Share = 0.8
/** Share of the on-demand price for spot, about the middle of market prices. */
const spotShare = 0.25

/**
 * Estimates a size's price by its family and contents, in USD an hour. It is used only while no price list was ever read: it puts small before
 * large, Arm before x64 and spot before on-demand. So an unreachable price API does not keep a new cluster from scaling.
 */
export function modelledPrice(size: PricedSize, capacityType: 'spot' | 'on-demand'): number {
  const { seriesFamily, arch, vCpus, memoryGib, gpus, gpuName = '' } = size
  const machine = vCpus * (ofVCpu[seriesFamily] ?? ofAnyVCpu) + memoryGib * ofGib
  const price = machine * (arch === 'arm64' ? arm64Share : 1) + gpus * (ofGpu[gpuName] ?? ofAnyGpu)
  return Math.round(price * (capacityType === 'spot' ? spotShare : 1) * 100_000) / 100_000
}
