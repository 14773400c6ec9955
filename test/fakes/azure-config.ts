import { fileURLToPath } from 'node:url'
import type { AzureConfig } from '../../activities/azure/azure-config.ts'
import { type Config, readConfig } from '../../api/config.ts'
import { goldenConfig } from '../vectors/golden-cases.ts'

/** A cluster in westus2 whose nodes lie in the resource group of `FakeAzure`. */
export const azureConfig: AzureConfig = goldenConfig('westus2', {
  clusterName: 'test',
  nodeResourceGroup: 'MC_group',
  networkPlugin: 'azure',
  networkPluginMode: 'overlay',
  vmMemoryOverheadPercent: 0.075,
})

/** The environment of a cluster `demo` in the group `clusters`. */
export function azureEnvironment(subscription: string): Readonly<Record<string, string>> {
  return {
    CLUSTER_NAME: 'demo',
    CLUSTER_ENDPOINT: 'https://demo',
    // Any file does for a CA that is not read.
    KUBELET_BOOTSTRAP_CA_FILE: fileURLToPath(import.meta.url),
    ARM_SUBSCRIPTION_ID: subscription,
    LOCATION: 'westus2',
    AZURE_NODE_RESOURCE_GROUP: 'MC_demo',
    ARM_RESOURCE_GROUP: 'clusters',
    VNET_SUBNET_ID: `/subscriptions/${subscription}/resourceGroups/net/providers/Microsoft.Network/virtualNetworks/vnet/subnets/nodes`,
    SSH_PUBLIC_KEY: 'ssh-rsa AAAA',
  }
}

/** The same as settings, as the doctor gets them. Errors: `settings` are none. */
export function doctorConfig(subscription: string, settings: Readonly<Record<string, string>>): Config {
  const read = readConfig({ TEMPORAL_ADDRESS: 'temporal:7233', ...azureEnvironment(subscription), ...settings })
  if (read.kind === 'errors') throw new Error(read.errors.join())
  return read.config
}
