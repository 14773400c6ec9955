import { shortagesOf, type Usages } from '../../../../activities/azure/capacity/quota-accounting.ts'
import type { VmSize } from '../../../../activities/azure/catalogue/sku.ts'
import { aksClusters, vmSizes, vmUsages } from '../../../picture/from-azure.ts'
import { missingLines } from '../../../picture/missing.ts'
import { readPicture } from '../../../picture/picture.ts'
import type { ManagedCluster } from '../../aks/cluster.ts'
import { logIn } from '../../aks/login.ts'
import { reason } from '../../doctor/check.ts'
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
/** Azure answers in seconds, or hardly at all. */
const loginMs = 60_000

/** Reads the region's sizes, quotas and the AKS cluster with the caller's login. It only gets. */
export async function readArm(place: AzurePlace, env: NodeJS.ProcessEnv, now: number): Promise<ArmFacts> {
  const { subscriptionId, region, nodeResourceGroup } = place
  if (subscriptionId === undefined || region === undefined)
    return { unread: ['Azure was not asked: no node says which subscription and region it is in'] }
  let login: Awaited<ReturnType<typeof logIn>>
  try {
    login = await logIn(subscriptionId, env, AbortSignal.timeout(loginMs))
  } catch (error) {
    return { unread: [`Azure was not asked: ${reason(error)} (${remedy})`] }
  }
  const scene = { arm: login.arm, subscriptionId, region, now }
  const { missing, sizes, usages, clusters } = await readPicture(scene, {
    sizes: vmSizes,
    usages: vmUsages,
    clusters: aksClusters,
  })
  const cluster = clusters?.find(
    ({ properties }) => properties.nodeResourceGroup?.toLowerCase() === nodeResourceGroup?.toLowerCase(),
  )
  const unknown = missing.some(({ what }) => what === vmUsages.what) ? ['quotas are not known, and count as free'] : []
  const none =
    clusters === undefined || cluster !== undefined
      ? []
      : [`AKS cluster: none of subscription ${subscriptionId} has the node resource group ${nodeResourceGroup ?? ''}`]
  return {
    unread: [...missingLines(missing), ...unknown, ...none],
    ...(sizes !== undefined && sizes.size > 0 && { sizes }),
    ...(usages && quotas(usages)),
    ...(cluster && { cluster }),
  }
}

function quotas(usages: Usages): Pick<ArmFacts, 'hasQuota' | 'hasSpotQuota'> {
  const room = (capacityType: string) => (family: string, vCpus: number) =>
    shortagesOf(usages, new Map(), { family, vCpus, capacityType }).length === 0
  return { hasQuota: room('on-demand'), hasSpotQuota: room('spot') }
}
