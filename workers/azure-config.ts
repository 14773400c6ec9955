import { readFile } from 'node:fs/promises'
import type { AzureConfig } from '../activities/azure/azure-config.ts'
import type { Config } from '../api/config.ts'

/** What the environment says of Azure, as activities use it. Errors: the file with the API server's CA cannot be read. */
export async function readAzureConfig(config: Config): Promise<AzureConfig> {
  return {
    subscriptionId: config.ARM_SUBSCRIPTION_ID,
    location: config.LOCATION,
    cloud: config.ARM_CLOUD,
    clusterResourceGroup: config.ARM_RESOURCE_GROUP,
    nodeResourceGroup: config.AZURE_NODE_RESOURCE_GROUP,
    clusterName: config.CLUSTER_NAME,
    clusterEndpoint: new URL(config.CLUSTER_ENDPOINT).host,
    clusterCaBundle: (await readFile(config.KUBELET_BOOTSTRAP_CA_FILE)).toString('base64'),
    subnetId: config.VNET_SUBNET_ID,
    systemNamespace: config.SYSTEM_NAMESPACE ?? config.JOINER_NAMESPACE,
    ...(config.JOINER_ARM_ENDPOINT === undefined ? {} : { armEndpoint: config.JOINER_ARM_ENDPOINT }),
    pricesEndpoint: config.JOINER_PRICES_ENDPOINT,
    nodeIdentities: config.NODE_IDENTITIES,
    kubeletIdentityClientId: config.KUBELET_IDENTITY_CLIENT_ID,
    tenantId: config.AZURE_TENANT_ID ?? '',
    adminUsername: config.LINUX_ADMIN_USERNAME,
    sshPublicKey: config.SSH_PUBLIC_KEY,
    networkPlugin: config.NETWORK_PLUGIN,
    networkPluginMode: config.NETWORK_PLUGIN_MODE,
    networkDataplane: config.NETWORK_DATAPLANE,
    networkPolicy: config.NETWORK_POLICY,
    ...(config.VNET_GUID === '' ? {} : { vnetGuid: config.VNET_GUID }),
    additionalTags: config.ADDITIONAL_TAGS,
    ...(config.NODE_OSDISK_DISKENCRYPTIONSET_ID === ''
      ? {}
      : { diskEncryptionSetId: config.NODE_OSDISK_DISKENCRYPTIONSET_ID }),
    ...(config.USE_SIG
      ? {
          sharedGallery: {
            subscriptionId: config.SIG_SUBSCRIPTION_ID,
            tokenServerUrl: config.SIG_ACCESS_TOKEN_SERVER_URL,
          },
        }
      : {}),
    billingExtension: config.JOINER_BILLING_EXTENSION,
    customCaCerts: [],
    azureReplicas: config.JOINER_AZURE_REPLICAS,
    clusterDnsServiceIp: config.DNS_SERVICE_IP,
    vmMemoryOverheadPercent: config.VM_MEMORY_OVERHEAD_PERCENT,
  }
}
