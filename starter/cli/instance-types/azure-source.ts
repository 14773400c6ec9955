import type { ResourceSku, Usage } from '@azure/arm-compute'
import { readCloud } from '../../../activities/azure/access/azure-config.ts'
import { azureIdentity } from '../../../activities/azure/access/azure-identity.ts'
import { azureFailure, failureMessage } from '../../../activities/azure/arm/azure-failure.ts'
import { type AzureClient, createAzureClient } from '../../../activities/azure/arm/client.ts'
import { shortagesOf, type Usages, usagesOf } from '../../../activities/azure/capacity/quota-accounting.ts'
import { modelledPrices, type Prices } from '../../../activities/azure/catalogue/pricing.ts'
import { fetchPrices } from '../../../activities/azure/catalogue/retail-prices.ts'
import { readAzureAccess } from '../../../api/config.ts'
import { InputError } from '../../document/reported-error.ts'
import { readPrices } from '../../files/azure-files.ts'
import type { InputFile } from '../../files/input-file.ts'
import type { RegionSale } from './sources.ts'

/** Asks Azure, as the environment says. Errors: InputError with what the environment lacks, or with what Azure refuses. */
export async function readAzure(
  env: NodeJS.ProcessEnv,
  priceFiles: readonly InputFile[],
  asked: string | undefined,
): Promise<RegionSale> {
  const result = readAzureAccess({ ...env, ...(asked === undefined ? {} : { LOCATION: asked }) })
  if (result.kind === 'errors') throw new InputError(...result.errors, 'or give --catalog FILE, and Azure is not asked')
  const { config } = result
  const region = config.LOCATION.toLowerCase()
  const cloud = await readCloud(config)
  const azure = createAzureClient({ ...cloud, subscriptionId: config.ARM_SUBSCRIPTION_ID }, credential(config, cloud))
  const remarks: string[] = []
  const [skus, usages, prices] = await Promise.all([
    listSkus(azure, region),
    listUsages(azure, region, remarks),
    priceFiles.length > 0 ? readPrices(priceFiles, region) : listPrices(cloud.pricesEndpoint, region, remarks),
  ])
  return {
    region,
    skus,
    prices,
    hasRoom: (demand) => shortagesOf(usages, new Map(), demand).length === 0,
    cluster: {
      networkPlugin: config.NETWORK_PLUGIN,
      networkPluginMode: config.NETWORK_PLUGIN_MODE,
      vmMemoryOverheadPercent: config.VM_MEMORY_OVERHEAD_PERCENT,
    },
    remarks,
  }
}

function credential(...given: Parameters<typeof azureIdentity>) {
  try {
    return azureIdentity(...given).credential
  } catch (error) {
    throw new InputError(`${(error as Error).message}; or give --catalog FILE, and Azure is not asked`)
  }
}

async function listSkus({ compute }: AzureClient, region: string): Promise<readonly ResourceSku[]> {
  const skus: ResourceSku[] = []
  try {
    for await (const sku of compute.resourceSkus.list({ filter: `location eq '${region}'` })) skus.push(sku)
  } catch (error) {
    throw new InputError(`resource SKUs of region ${region}: ${refusal(error)}`)
  }
  return skus
}

async function listUsages({ compute }: AzureClient, region: string, remarks: string[]): Promise<Usages> {
  const items: Usage[] = []
  try {
    for await (const item of compute.usage.list(region)) items.push(item)
  } catch (error) {
    remarks.push(`quota counts as free: ${refusal(error)}`)
  }
  return usagesOf(items)
}

/** What Azure said and what to do about it; credentials report more than helps. */
function refusal(error: unknown): string {
  const failure = azureFailure(error)
  if (failure !== undefined) return failureMessage(error, failure)
  return (error as Error).message.split('\n')[0] ?? ''
}

async function listPrices(endpoint: string | undefined, region: string, remarks: string[]): Promise<Prices> {
  if (endpoint === undefined) {
    remarks.push('prices are modelled, since this cloud has no price list; add --prices FILE for real ones')
    return modelledPrices
  }
  try {
    const found = await fetchPrices(endpoint, region)
    if (found.region !== region) remarks.push(`prices are those of ${found.region}: ${endpoint} has none of ${region}`)
    return found.list
  } catch (error) {
    remarks.push(`prices are modelled: ${(error as Error).message}; add --prices FILE for real ones`)
    return modelledPrices
  }
}
