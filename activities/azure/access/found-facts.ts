import type { Logger } from 'pino'
import type { Config } from '../../../api/config.ts'
import { pauseOf } from '../../abortable-wait.ts'
import { isNotFound } from '../../kubernetes/client/api-error.ts'
import type { KubernetesClient } from '../../kubernetes/client/client.ts'
import { resourcePath } from '../../kubernetes/client/resources.ts'
import { LaunchBlocked } from '../arm/azure-failure.ts'
import type { AzureClient } from '../arm/client.ts'
import { parseSubnet } from '../launch/subnet.ts'
import type { FoundFacts } from './azure-config.ts'

/** What a cluster without the Service kube-dns is taken to have (reference/azure-provider.md 9.1). */
const defaultDnsServiceIp = '10.0.0.10'
const retryMs = 5000

/** The cluster IP of kube-dns, which nodes ask for names. Errors: what the API server says, other than that there is no such Service. */
export async function findDnsServiceIp(kubernetes: Pick<KubernetesClient, 'get'>): Promise<string> {
  try {
    const service = await kubernetes.get('/api/v1/namespaces/kube-system/services/kube-dns')
    const { clusterIP } = (service['spec'] ?? {}) as { clusterIP?: string }
    return clusterIP === undefined || clusterIP === 'None' ? defaultDnsServiceIp : clusterIP
  } catch (error) {
    if (isNotFound(error)) return defaultDnsServiceIp
    throw error
  }
}

/** The UID of the Namespace kube-system: the identity of a cluster, whatever its name. Errors: what the API server says. */
export async function findClusterUid(kubernetes: Pick<KubernetesClient, 'get'>): Promise<string> {
  const namespace = await kubernetes.get(resourcePath('namespaces', 'kube-system'))
  return (namespace['metadata'] as { readonly uid: string }).uid
}

/** Whether nodes need to be reported the GUID of their virtual network, and nobody configured it (reference/azure-provider.md 9.1). */
export function needsVnetGuid(config: Config): boolean {
  return config.VNET_GUID === '' && config.NETWORK_PLUGIN === 'azure' && config.NETWORK_PLUGIN_MODE === 'overlay'
}

/** resourceGuid of the virtual network of the nodes. Errors: what ARM says, with the remedy. */
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
 * What the cluster and Azure say where the environment is silent. The API server is waited for, as for all else; Azure is not, since a process
 * also looks after nodes that exist: its answer comes later, and launches wait for it. Errors: throws when the signal fires first.
 */
export async function findFacts(input: FactsInput): Promise<FoundFacts> {
  const { config, kubernetes, azure } = input
  const clusterUid = await readUntilKnown(
    { ...input, what: 'the Namespace kube-system', remedy: 'Check the rights of the ServiceAccount' },
    () => findClusterUid(kubernetes),
  )
  // What follows goes into custom data, which only this role writes.
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

/** Reads in the background until it succeeds. Errors of the function that it returns: LaunchBlocked while nothing is known. */
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

/** Reads until it succeeds; each failure is logged with what it holds up. Errors: throws when the signal fires first. */
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
