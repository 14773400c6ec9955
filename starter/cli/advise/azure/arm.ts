import { shortagesOf, type Usages } from '../../../../activities/azure/capacity/quota-accounting.ts'
import type { VmSize } from '../../../../activities/azure/catalogue/sku.ts'
import { versions } from '../../aks/arm-session.ts'
import type { ManagedCluster } from '../../aks/cluster.ts'
import { logIn } from '../../aks/login.ts'
import { reason } from '../../doctor/check.ts'
import { readSizes, readUsages } from '../../shared/buyable.ts'
import type { AzurePlace } from './place.ts'

/** What ARM says; what it does not say is unset, and why is in `unread`. */
export interface ArmFacts {
  /** The region's sizes by name. */
  readonly sizes?: ReadonlyMap<string, VmSize>
  /** Whether the subscription's quota leaves room for so many vCPUs of a family; spot: without a family. */
  readonly hasQuota?: (family: string, vCpus: number) => boolean
  readonly hasSpotQuota?: (family: string, vCpus: number) => boolean
  readonly cluster?: ManagedCluster
  readonly unread: readonly string[]
}

const remedy = 'log in: az login'

/** Reads the region's sizes, quotas and the AKS cluster with the caller's login. It only gets. */
export async function readArm(place: AzurePlace, env: NodeJS.ProcessEnv, signal: AbortSignal): Promise<ArmFacts> {
  const { subscriptionId, region, nodeResourceGroup } = place
  if (subscriptionId === undefined || region === undefined)
    return { unread: ['Azure was not asked: no node says which subscription and region it is in'] }
  let login: Awaited<ReturnType<typeof logIn>>
  try {
    login = await logIn(subscriptionId, env, signal)
  } catch (error) {
    return { unread: [`Azure was not asked: ${reason(error)} (${remedy})`] }
  }
  const { arm } = login
  const reader = { arm, config: { ARM_SUBSCRIPTION_ID: subscriptionId, LOCATION: region } }
  const unread: string[] = []
  const tried = async <T>(what: string, read: Promise<T>): Promise<T | undefined> => {
    try {
      return await read
    } catch (error) {
      unread.push(`${what}: ${reason(error)}`)
      return undefined
    }
  }
  const clustersPath = `/subscriptions/${subscriptionId}/providers/Microsoft.ContainerService/managedClusters?api-version=${versions.clusters}`
  const [sizes, usages, clusters] = await Promise.all([
    tried(`VM sizes of ${region} in subscription ${subscriptionId}`, readSizes(reader, signal)),
    tried(`quotas of ${region} in subscription ${subscriptionId}, which count as free`, readUsages(reader, signal)),
    tried(`AKS clusters of subscription ${subscriptionId}`, arm.list<ManagedCluster>(clustersPath, signal)),
  ])
  const own = clusters?.find(
    ({ properties }) => properties.nodeResourceGroup?.toLowerCase() === nodeResourceGroup?.toLowerCase(),
  )
  if (clusters !== undefined && own === undefined)
    unread.push(
      `AKS cluster: none of subscription ${subscriptionId} has the node resource group ${nodeResourceGroup ?? ''}`,
    )
  return {
    unread,
    ...(sizes === undefined || sizes.size === 0 ? {} : { sizes }),
    ...(usages === undefined ? {} : quotas(usages)),
    ...(own === undefined ? {} : { cluster: own }),
  }
}

function quotas(usages: Usages): Pick<ArmFacts, 'hasQuota' | 'hasSpotQuota'> {
  const room = (capacityType: string) => (family: string, vCpus: number) =>
    shortagesOf(usages, new Map(), { family, vCpus, capacityType }).length === 0
  return { hasQuota: room('on-demand'), hasSpotQuota: room('spot') }
}
