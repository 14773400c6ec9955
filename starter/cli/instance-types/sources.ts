import type { ResourceSku } from '@azure/arm-compute'
import type { AzureConfig } from '../../../activities/azure/azure-config.ts'
import type { Demand } from '../../../activities/azure/capacity/quota-accounting.ts'
import { modelledPrices, type Prices } from '../../../activities/azure/catalogue/pricing.ts'
import { type InputFile, inputName } from '../bounded/input.ts'
import { onlyValue, readPrices, regionOf, skusOf } from '../shared/azure-files.ts'
import { InputError } from '../simulate/input-error.ts'

/** What a region sells, wherever that was read. */
export interface RegionSale {
  readonly region: string
  readonly skus: readonly ResourceSku[]
  readonly prices: Prices
  /** Whether the subscription's quota leaves room for a VM. */
  readonly hasRoom: (demand: Demand) => boolean
  /** Settings of the cluster that decide about types. */
  readonly cluster: Pick<AzureConfig, 'networkPlugin' | 'networkPluginMode' | 'vmMemoryOverheadPercent'>
  /** What a reader should know about where this comes from. */
  readonly remarks: readonly string[]
}

/** The defaults of Joiner's own settings. */
const plainCluster: RegionSale['cluster'] = {
  networkPlugin: 'azure',
  networkPluginMode: 'overlay',
  vmMemoryOverheadPercent: 0.075,
}

/** Reads everything from files. Errors: InputError. */
export async function readFiles(
  catalogueFile: InputFile,
  priceFiles: readonly InputFile[],
  asked: string | undefined,
): Promise<RegionSale> {
  const catalogue = inputName(catalogueFile.file)
  const skus = skusOf(catalogue, await onlyValue(catalogueFile))
  if (skus === undefined)
    throw new InputError(`${catalogue}: holds no resource SKUs; give ARM's answer, or that of az vm list-skus -o json`)
  const region = regionOf(catalogue, skus)
  if (asked !== undefined && asked.toLowerCase() !== region)
    throw new InputError(`--region ${asked}: ${catalogue} holds the SKUs of ${region}; leave the option out`)
  return {
    region,
    skus,
    prices: priceFiles.length === 0 ? modelledPrices : await readPrices(priceFiles, region),
    hasRoom: () => true,
    cluster: plainCluster,
    remarks: priceFiles.length === 0 ? ['prices are modelled; add --prices FILE for real ones'] : [],
  }
}
