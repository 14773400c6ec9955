import { readFile } from 'node:fs/promises'
import type { Client } from '@temporalio/client'
import type { Logger } from 'pino'
import type { AzureConfig } from '../activities/azure/azure-config.ts'
import { Catalogue } from '../activities/azure/catalogue.ts'
import { createAzureClient } from '../activities/azure/client.ts'
import { UnavailableOfferings } from '../activities/azure/unavailable-offerings.ts'
import { VmList } from '../activities/azure/vm-list.ts'
import type { KubernetesClient } from '../activities/kubernetes/client.ts'
import { ClusterCache } from '../activities/kubernetes/cluster-cache.ts'
import { EventRecorder } from '../activities/kubernetes/event-recorder.ts'
import type { PlanningDeps } from '../activities/planning/dependencies.ts'
import { LifecycleStarter } from '../activities/planning/lifecycle-starter.ts'
import { PlanningMetrics } from '../activities/planning/metrics.ts'
import { Nominations } from '../activities/planning/nominations.ts'
import { SolverThread } from '../activities/planning/solver/solver-thread.ts'
import type { Config } from '../api/config.ts'
import { gateWarnings } from '../api/scheduler-settings.ts'

/** Everything that activities, bridge and bootstrap work with, wired in one place and shared by all roles of a process. */
export async function createDependencies(
  config: Config,
  kubernetes: KubernetesClient,
  client: Client,
  log: Logger,
): Promise<PlanningDeps> {
  const azureConfig = await readAzureConfig(config)
  const azure = createAzureClient(azureConfig, {
    ...(config.AZURE_TENANT_ID === undefined ? {} : { tenantId: config.AZURE_TENANT_ID }),
    ...(config.AZURE_CLIENT_ID === undefined ? {} : { clientId: config.AZURE_CLIENT_ID }),
    ...(config.AZURE_FEDERATED_TOKEN_FILE === undefined ? {} : { tokenFilePath: config.AZURE_FEDERATED_TOKEN_FILE }),
    ...(config.AZURE_AUTHORITY_HOST === undefined ? {} : { authorityHost: config.AZURE_AUTHORITY_HOST }),
  })
  const now = () => Date.now()
  for (const warning of gateWarnings(config.FEATURE_GATES)) log.warn(warning)
  const cache = new ClusterCache(kubernetes, log, {
    placement: config.JOINER_ROLES.includes('planner'),
    defaultSpread: config.SCHEDULER_CONFIG.length > 0,
  })
  const unavailable = new UnavailableOfferings(kubernetes, config.JOINER_NAMESPACE, now)
  return {
    client: kubernetes,
    cache,
    events: new EventRecorder(kubernetes, log),
    log,
    now,
    cluster: config.CLUSTER_NAME,
    namespace: config.JOINER_NAMESPACE,
    azure,
    config: azureConfig,
    unavailable,
    catalogue: new Catalogue({ azure, config: azureConfig, unavailable, log, now }),
    vms: new VmList(() => azure.compute.virtualMachines.list(azureConfig.nodeResourceGroup), log),
    lifecycles: new LifecycleStarter(client, config.CLUSTER_NAME),
    nominations: new Nominations(config.BATCH_MAX_DURATION),
    metrics: new PlanningMetrics({ cache, now }),
    solver: new SolverThread(cache, log),
    scheduling: {
      preferencePolicy: config.PREFERENCE_POLICY,
      minValuesPolicy: config.MIN_VALUES_POLICY,
      reservedCapacity: config.FEATURE_GATES['ReservedCapacity'] ?? true,
      defaultSpread: config.SCHEDULER_CONFIG,
    },
    batchIdleMs: config.BATCH_IDLE_DURATION,
    batchMaxMs: config.BATCH_MAX_DURATION,
  }
}

async function readAzureConfig(config: Config): Promise<AzureConfig> {
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
