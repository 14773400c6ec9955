import type { Logger } from 'pino'
import type { Config } from '../../../api/config.ts'
import { pauseOf } from '../../abortable-wait.ts'
import { getIfAny } from '../../kubernetes/client/answers.ts'
import type { KubernetesClient } from '../../kubernetes/client/client.ts'
import { resourcePath } from '../../kubernetes/client/resources.ts'
import { LaunchBlocked } from '../arm/azure-failure.ts'
import type { AzureClient } from '../arm/client.ts'
import { parseSubnet } from '../launch/subnet.ts'
import type { FoundFacts } from './azure-config.ts'

/** DNS address of a cluster without the Service kube-dns (reference/azure-provider.md 9.1). */
const defaultDnsServiceIp = '10.0.0.10'
const retryMs = 5000

/** Returns the cluster IP of kube-dns, the nodes' DNS server. Errors: the API server's, other than that there is no such Service. */
export async function findDnsServiceIp(kubernetes: Pick<KubernetesClient, 'get'>): Promise<string> {
  const service = await getIfAny(kubernetes, '/api/v1/namespaces/kube-system/services/kube-dns')
  const { clusterIP = 'None' } = (service?.['spec'] ?? {}) as { clusterIP?: string }
  return clusterIP === 'None' ? defaultDnsServiceIp : clusterIP
}

/** Returns the UID of the Namespace kube-system: the identity of a cluster, whatever its name. Errors: the API server's. */
export async function findClusterUid(kubernetes: Pick<KubernetesClient, 'get'>): Promise<string> {
  const namespace = await kubernetes.get(resourcePath('namespaces', 'kube-system'))
  return (namespace['metadata'] as { readonly uid: string }).uid
}

/** Returns whether nodes need the GUID of their virtual network, and it is not configured (reference/azure-provider.md 9.1). */
export function needsVnetGuid(config: Config): boolean {
  return config.VNET_GUID === '' && config.NETWORK_PLUGIN === 'azure' && config.NETWORK_PLUGIN_MODE === 'overlay'
}

/** Returns resourceGuid of the virtual network of the nodes. Errors: ARM's, with the remedy. */
export async function findVnetGuid(network: AzureClient['network'], subnetId: string): Promise<string> {
  const subnet = parseSubnet(subnetId)
  if (subnet === undefined) throw new Error(`VNET_SUBNET_ID "${subnetId}" is not the id of a subnet; correct it`)
  const { resourceGroup, vnet } = subnet
  const { resourceGuid } = await network.virtualNetworks.get(resourceGroup, vnet)
  if (!resourceGuid)
    throw new Error(
      `virtual network "${vnet}" has no resourceGuid; set VNET_GUID to what this prints: az network vnet show --resource-group ${resourceGroup} --name ${vnet} --query resourceGuid -o tsv`,
    )
  return resourceGuid
}

export interface FactsInput {
  readonly config: Config
  readonly kubernetes: Pick<KubernetesClient, 'get'>
  readonly azure: Pick<AzureClient, 'network'>
  readonly log: Logger
  readonly signal: AbortSignal
}

/**
 * Finds facts for unset settings in the cluster and Azure. Waits for the API server, which everything needs. Does not wait for Azure, since a
 * process also manages existing nodes: its answer comes later, and launches wait for it. Errors: throws when the signal fires first.
 */
export async function findFacts(input: FactsInput): Promise<FoundFacts> {
  const { config, kubernetes, azure } = input
  const clusterUid = await readUntilKnown(
    { ...input, what: 'the Namespace kube-system', remedy: 'Check the rights of the ServiceAccount' },
    () => findClusterUid(kubernetes),
  )
  // The following facts go into custom data, which only this role writes.
  if (!config.JOINER_ROLES.includes('azure'))
    return { clusterUid, clusterDnsServiceIp: config.DNS_SERVICE_IP ?? defaultDnsServiceIp }
  const clusterDnsServiceIp =
    config.DNS_SERVICE_IP ??
    (await readUntilKnown({ ...input, what: 'the Service kube-system/kube-dns', remedy: 'Or set DNS_SERVICE_IP' }, () =>
      findDnsServiceIp(kubernetes),
    ))
  if (!needsVnetGuid(config)) return { clusterUid, clusterDnsServiceIp }
  return {
    clusterUid,
    clusterDnsServiceIp,
    vnetGuid: readBehind({ ...input, what: 'the GUID of the virtual network', remedy: 'Or set VNET_GUID' }, () =>
      findVnetGuid(azure.network, config.VNET_SUBNET_ID),
    ),
  }
}

interface Reading {
  readonly what: string
  readonly remedy: string
  readonly log: Logger
  readonly signal: AbortSignal
}

/** Reads in the background until it succeeds. Errors of the returned function: LaunchBlocked while the result is unknown. */
function readBehind(reading: Reading, read: () => Promise<string>): () => string {
  let known: string | undefined
  readUntilKnown(reading, read).then(
    (value) => {
      known = value
    },
    () => reading.log.debug(`${reading.what} is not looked for any more, since the process ends`),
  )
  return () => {
    if (known !== undefined) return known
    throw new LaunchBlocked(
      'ClusterNetworkUnknown',
      `${reading.what} is not known yet; the log says why. ${reading.remedy}`,
    )
  }
}

/** Reads until it succeeds; logs each failure with what it blocks. Errors: throws when the signal fires first. */
async function readUntilKnown<T>({ what, remedy, log, signal }: Reading, read: () => Promise<T>): Promise<T> {
  for (;;) {
    signal.throwIfAborted()
    try {
      return await read()
    } catch (error) {
      log.error({ err: error }, `${what} cannot be read, and no node can be made without it; trying again. ${remedy}`)
    }
    await pauseOf(retryMs, signal)
  }
}
