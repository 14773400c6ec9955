import type { Client } from '@temporalio/client'
import type { Logger } from 'pino'
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
import { readAzureConfig } from './azure-config.ts'

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
