// Parts of a picture that ARM reports.
import type { ResourceSku, Usage } from '@azure/arm-compute'
import { azureFailure, failureMessage } from '../../activities/azure/arm/azure-failure.ts'
import { usagesOf } from '../../activities/azure/capacity/quota-accounting.ts'
import { parseSku, type VmSize } from '../../activities/azure/catalogue/sku.ts'
import type { Config } from '../../api/config.ts'
import { type ArmReader, versions } from './arm-reader.ts'
import type { ManagedCluster } from './managed-cluster.ts'
import { SourceError, whyOf } from './missing.ts'
import type { Moment, Part } from './picture.ts'

/** A region, as one subscription sees it. */
export interface AzureScene extends Moment {
  readonly arm: Pick<ArmReader, 'list'>
  readonly subscriptionId: string
  readonly region: string
}

/** The region of Joiner's nodes, by its settings. */
export const sceneOf = ({
  config,
  arm,
}: Pick<AzureScene, 'arm'> & { readonly config: Pick<Config, 'ARM_SUBSCRIPTION_ID' | 'LOCATION'> }): AzureScene => ({
  arm,
  subscriptionId: config.ARM_SUBSCRIPTION_ID,
  region: config.LOCATION,
  now: 0,
})

const limitMs = 60_000
const remedy = 'az login renews a login; joiner doctor says which rights are missing at Azure'

function asked<T>(what: string, read: (scene: AzureScene, signal: AbortSignal) => Promise<T>): Part<T, AzureScene> {
  return {
    what,
    limitMs,
    read: async (scene) => {
      try {
        return await read(scene, AbortSignal.timeout(limitMs))
      } catch (error) {
        const failure = azureFailure(error)
        throw new SourceError(failure === undefined ? whyOf(error) : failureMessage(error, failure), remedy)
      }
    },
  }
}

/** What Microsoft.Compute sells in the region, as ARM has it. */
export const vmSkus = asked('VM sizes at Azure', ({ arm, subscriptionId, region }, signal) => {
  const filter = encodeURIComponent(`location eq '${region}'`)
  const path = `/subscriptions/${subscriptionId}/providers/Microsoft.Compute/skus?api-version=2021-07-01&$filter=${filter}`
  return arm.list<ResourceSku>(path, signal)
})

/** The sizes of the region, by name. */
export const vmSizes: Part<ReadonlyMap<string, VmSize>, AzureScene> = {
  ...vmSkus,
  read: async (scene) => {
    const read = (await vmSkus.read(scene)).map((sku) => parseSku(sku, scene.region))
    return new Map(read.flatMap((sku) => (sku.kind === 'size' ? [[sku.size.name, sku.size]] : [])))
  },
}

/** The subscription's usages in the region. */
export const vmUsages = asked('quotas at Azure', async ({ arm, subscriptionId, region }, signal) => {
  const path = `/subscriptions/${subscriptionId}/providers/Microsoft.Compute/locations/${region}/usages?api-version=2024-07-01`
  return usagesOf(await arm.list<Usage>(path, signal))
})

/** The clusters of the subscription. */
export const aksClusters = asked('AKS clusters at Azure', ({ arm, subscriptionId }, signal) =>
  arm.list<ManagedCluster>(
    `/subscriptions/${subscriptionId}/providers/Microsoft.ContainerService/managedClusters?api-version=${versions.clusters}`,
    signal,
  ),
)
