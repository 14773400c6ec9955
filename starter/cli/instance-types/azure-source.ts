import { readCloud } from '../../../activities/azure/access/azure-config.ts'
import { azureIdentity } from '../../../activities/azure/access/azure-identity.ts'
import { shortagesOf } from '../../../activities/azure/capacity/quota-accounting.ts'
import { readAzureAccess } from '../../../api/config.ts'
import { InputError } from '../../document/reported-error.ts'
import type { InputFile } from '../../files/input-file.ts'
import { ArmReader } from '../../picture/arm-reader.ts'
import { sceneOf, vmSkus, vmUsages } from '../../picture/from-azure.ts'
import { gapLines } from '../../picture/gaps.ts'
import { needed, readPicture } from '../../picture/picture.ts'
import { regionPrices } from '../../picture/prices.ts'
import type { RegionSale } from './sources.ts'

/** Asks Azure, as the environment says. Errors: InputError with what the environment lacks, LackingError with what Azure refuses. */
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
  const { credential, scope } = identityOf(config, cloud)
  const arm = new ArmReader(cloud.armEndpoint, credential, scope)
  const [read, { prices, remarks }] = await Promise.all([
    readPicture({ ...sceneOf({ arm, config }), region }, { skus: vmSkus, usages: vmUsages }),
    regionPrices({ files: priceFiles, endpoint: cloud.pricesEndpoint, region }, Date.now()),
  ])
  const { skus } = needed(read, { skus: vmSkus })
  const { usages } = read
  return {
    region,
    skus,
    prices,
    hasRoom: (demand) => usages === undefined || shortagesOf(usages, new Map(), demand).length === 0,
    cluster: {
      networkPlugin: config.NETWORK_PLUGIN,
      networkPluginMode: config.NETWORK_PLUGIN_MODE,
      vmMemoryOverheadPercent: config.VM_MEMORY_OVERHEAD_PERCENT,
    },
    remarks: [...gapLines(read).map((line) => `quota counts as free: ${line}`), ...remarks],
  }
}

function identityOf(...given: Parameters<typeof azureIdentity>) {
  try {
    return azureIdentity(...given)
  } catch (error) {
    throw new InputError(`${(error as Error).message}; or give --catalog FILE, and Azure is not asked`)
  }
}
