import type { Logger } from 'pino'
import type { AzureClient } from '../activities/azure/client.ts'
import { parseSubnet } from '../activities/azure/subnet.ts'
import { isNotFound, type KubernetesClient } from '../activities/kubernetes/client.ts'
import type { Config } from '../api/config.ts'
import type { FoundFacts } from './azure-config.ts'
import { pauseOf } from './pause.ts'

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

/** Whether nodes need to be told the GUID of their virtual network, and nobody configured it (reference/azure-provider.md 9.1). */
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

/** What the cluster and Azure say where the environment is silent. Errors: throws when the signal fires first. */
export async function findFacts(input: {
  readonly config: Config
  readonly kubernetes: Pick<KubernetesClient, 'get'>
  readonly azure: Pick<AzureClient, 'network'>
  readonly log: Logger
  readonly signal: AbortSignal
}): Promise<FoundFacts> {
  const { config, kubernetes, azure, log, signal } = input
  const [clusterDnsServiceIp, vnetGuid] = await Promise.all([
    config.DNS_SERVICE_IP ??
      readUntilKnown({ what: 'the Service kube-system/kube-dns', remedy: 'Or set DNS_SERVICE_IP', log, signal }, () =>
        findDnsServiceIp(kubernetes),
      ),
    config.JOINER_ROLES.includes('azure') && needsVnetGuid(config)
      ? readUntilKnown({ what: 'the GUID of the virtual network', remedy: 'Or set VNET_GUID', log, signal }, () =>
          findVnetGuid(azure.network, config.VNET_SUBNET_ID),
        )
      : undefined,
  ])
  return { clusterDnsServiceIp, vnetGuid }
}

/** Reads until it succeeds; each failure is logged with what it holds up. Errors: throws when the signal fires first. */
async function readUntilKnown<T>(
  {
    what,
    remedy,
    log,
    signal,
  }: { readonly what: string; readonly remedy: string; readonly log: Logger; readonly signal: AbortSignal },
  read: () => Promise<T>,
): Promise<T> {
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
