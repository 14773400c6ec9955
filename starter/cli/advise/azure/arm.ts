import { shortagesOf, type Usages } from '../../../../activities/azure/capacity/quota-accounting.ts'
import type { VmSize } from '../../../../activities/azure/catalogue/sku.ts'
import type { Node } from '../../../../core/objects.ts'
import { labels } from '../../../../core/requirements/labels.ts'
import { defined } from '../../../../core/values/defined.ts'
import { logIn } from '../../../picture/azure-login.ts'
import { aksClusters, vmSizes, vmUsages } from '../../../picture/from-azure.ts'
import type { ManagedCluster } from '../../../picture/managed-cluster.ts'
import { missingLines, whyOf } from '../../../picture/missing.ts'
import { readPicture } from '../../../picture/picture.ts'

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
    return { unread: [`Azure was not asked: ${whyOf(error)} (${remedy})`] }
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

/** Where a cluster is at Azure, as its nodes say. */
export interface AzurePlace {
  readonly subscriptionId?: string
  readonly nodeResourceGroup?: string
  readonly region?: string
}

const vmId = /^azure:\/\/\/subscriptions\/([^/]+)\/resourceGroups\/([^/]+)\//i

/** Returns what most nodes say. */
export function placeOf(nodes: readonly Node[]): AzurePlace {
  const ids = nodes.map(({ providerId = '' }) => vmId.exec(providerId))
  const subscriptionId = mostFrequent(ids.map((id) => id?.[1]))
  const nodeResourceGroup = mostFrequent(ids.map((id) => id?.[2]))
  const region = mostFrequent(nodes.map(({ metadata }) => metadata.labels[labels.region]))
  return { ...defined({ subscriptionId, nodeResourceGroup, region }) }
}

function mostFrequent(values: readonly (string | undefined)[]): string | undefined {
  const counts = new Map<string, number>()
  for (const value of values) if (value) counts.set(value, (counts.get(value) ?? 0) + 1)
  return [...counts].toSorted(([, a], [, b]) => b - a)[0]?.[0]
}
