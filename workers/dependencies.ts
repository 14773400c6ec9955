import type { HttpClient } from '@azure/core-rest-pipeline'
import type { TokenCredential } from '@azure/identity'
import type { Client } from '@temporalio/client'
import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import { AttributedStarts } from '../activities/attributed-starts.ts'
import { azureConfig, sharedGalleryOf } from '../activities/azure/access/azure-config.ts'
import type { AzureIdentity } from '../activities/azure/access/azure-identity.ts'
import { findFacts } from '../activities/azure/access/found-facts.ts'
import { LateLists } from '../activities/azure/answers/late-list.ts'
import { ArmBudget } from '../activities/azure/arm/arm-budget.ts'
import { armBudgetPolicy } from '../activities/azure/arm/arm-budget-policy.ts'
import { createArmMetrics } from '../activities/azure/arm/arm-metrics.ts'
import { createAzureClient } from '../activities/azure/arm/client.ts'
import type { Cloud } from '../activities/azure/arm/clouds.ts'
import { requestLog } from '../activities/azure/arm/request-log.ts'
import { paceWithin, VmList } from '../activities/azure/arm/vm-list.ts'
import { observeCapacity } from '../activities/azure/capacity/capacity-metrics.ts'
import { LaunchHealth } from '../activities/azure/capacity/launch-health.ts'
import { Quota } from '../activities/azure/capacity/quota.ts'
import { keptUsages } from '../activities/azure/capacity/quota-accounting.ts'
import { RefusedAttempts } from '../activities/azure/capacity/refused-attempts.ts'
import { UnavailableOfferings } from '../activities/azure/capacity/unavailable-offerings.ts'
import { Catalogue } from '../activities/azure/catalogue/catalogue.ts'
import { observeCatalogue } from '../activities/azure/catalogue/catalogue-metrics.ts'
import { DurableDocument } from '../activities/azure/catalogue/durable-document.ts'
import { NetworkFacts } from '../activities/azure/launch/network-facts.ts'
import { vmCreateMetrics } from '../activities/azure/launch/vm-create-metrics.ts'
import { machineDeps } from '../activities/azure/machines/launch-machine.ts'
import { CapacityReservations } from '../activities/azure/reservations/capacity-reservations.ts'
import { keptGroups } from '../activities/azure/reservations/stored-groups.ts'
import { BufferRoom } from '../activities/capacity-buffers/buffer-room.ts'
import { CommandStarter } from '../activities/disruption/command-starter.ts'
import { Committer } from '../activities/disruption/commit/committer.ts'
import { DisruptionMetrics } from '../activities/disruption/metrics.ts'
import { VerdictRecorder } from '../activities/disruption/verdicts.ts'
import { ClusterCache } from '../activities/kubernetes/cache/cluster-cache.ts'
import type { KubernetesClient } from '../activities/kubernetes/client/client.ts'
import type { ServerTime } from '../activities/kubernetes/client/server-time.ts'
import { EventRecorder } from '../activities/kubernetes/event-recorder.ts'
import { KeptFaults } from '../activities/kubernetes/kept-faults.ts'
import { instanceTypes } from '../activities/node-overlays/pool-types.ts'
import { Findings } from '../activities/provisioning/findings/findings.ts'
import { LifecycleStarter } from '../activities/provisioning/lifecycle-starter.ts'
import { PlanningMetrics } from '../activities/provisioning/metrics.ts'
import { observePoolOfferings } from '../activities/provisioning/node-pool-offerings.ts'
import { NodeRefusals } from '../activities/provisioning/node-refusals/node-refusals.ts'
import { Nominations } from '../activities/provisioning/nominations.ts'
import { RefusedClaims } from '../activities/provisioning/refused-claims.ts'
import { HeavyPods } from '../activities/scheduler-thread/heavy-pods.ts'
import { Quarantine } from '../activities/scheduler-thread/quarantine.ts'
import { QuarantineStore } from '../activities/scheduler-thread/quarantine-store.ts'
import { SolverThread } from '../activities/scheduler-thread/solver-thread.ts'
import type { StartThread } from '../activities/scheduler-thread/supervised-thread.ts'
import { CloudProviderMetrics } from '../activities/telemetry/cloud-provider-metrics.ts'
import { LifecycleMetrics } from '../activities/telemetry/lifecycle-metrics.ts'
import type { Tracing } from '../activities/telemetry/tracing.ts'
import { type Config, managesMachines } from '../api/config.ts'
import { repairRules } from '../api/reason-pattern.ts'
import { gateWarnings } from '../api/settings/scheduler-settings.ts'
import type { NodeRules } from '../core/node-claim/node-health.ts'
import type { RepairRule } from '../core/node-repair/repair-policy.ts'

export interface DependencyInput {
  readonly config: Config
  readonly cloud: Cloud
  /** Undefined in a process without the role azure. */
  readonly identity: AzureIdentity | undefined
  /** What requests to Azure go through, where it is not the default. */
  readonly azureHttp?: HttpClient
  readonly kubernetes: KubernetesClient
  readonly serverTime: ServerTime
  readonly client: Client
  readonly log: Logger
  readonly tracing: Tracing
  /** The metrics of this process. */
  readonly registry: Registry
  /** Ends the wait for what the cluster and Azure are asked at start. */
  readonly signal: AbortSignal
  /** How the solvers' threads start. Default: as threads of Node. */
  readonly solverThread?: StartThread
}

/** Everything that activities, bridge and bootstrap work with, wired in one place and shared by all roles of a process. */
export async function createDependencies(input: DependencyInput) {
  const { config, cloud, identity, kubernetes, serverTime, client, log, tracing, registry, signal, solverThread } =
    input
  const metrics = createArmMetrics(() => budget.levels(), registry)
  const budget = new ArmBudget({ share: armShare(config), now: () => performance.now(), waited: metrics.waited })
  const limits = armBudgetPolicy({ budget, metrics, replicas: config.JOINER_AZURE_REPLICAS })
  const azure = createAzureClient(
    { ...cloud, ...sharedGalleryOf(config), subscriptionId: config.ARM_SUBSCRIPTION_ID },
    identity?.credential ?? noCredential,
    { policies: [limits, ...(config.ENABLE_AZURE_SDK_LOGGING ? [requestLog(log)] : [])], http: input.azureHttp },
  )
  const settings = await azureConfig(config, cloud, await findFacts({ config, kubernetes, azure, log, signal }))
  const now = () => serverTime.now()
  const cloudProvider = new CloudProviderMetrics(registry)
  for (const warning of gateWarnings(config.FEATURE_GATES)) log.warn(warning)
  const nodeRules = nodeRulesOf(config)
  const cache = new ClusterCache(kubernetes, log, {
    nodeRules,
    roles: config.JOINER_ROLES,
    defaultSpread: config.SCHEDULER_CONFIG.length > 0,
    overlays: config.FEATURE_GATES.NodeOverlay,
    machines: managesMachines(config),
    buffers: config.FEATURE_GATES.CapacityBuffer,
  })
  const namespace = config.JOINER_NAMESPACE
  const events = new EventRecorder(kubernetes, log)
  const { note } = new KeptFaults({ events, log, namespace }, registry)
  const own = { namespace, note, log, now }
  const unavailable = new UnavailableOfferings({ client: kubernetes, ...own })
  // Without the role azure nothing is asked of Azure: sizes, prices and quota are what a process with that role stores.
  const asked = config.JOINER_ROLES.includes('azure') ? azure : undefined
  const ofSubscription = { ...own, about: { subscription: config.ARM_SUBSCRIPTION_ID, region: config.LOCATION } }
  const quota: Quota = new Quota({
    azure: asked,
    document: new DurableDocument(kubernetes, keptUsages, ofSubscription),
    location: settings.location,
    cache,
    sizeOf: (name) => catalogue.size(name),
    log,
    now,
  })
  const reservations = new CapacityReservations({
    azure: asked,
    document: new DurableDocument(kubernetes, keptGroups, ofSubscription),
    config: settings,
    cache,
    // A machine of AKS names no capacity reservation group.
    isEnabled: config.FEATURE_GATES.ReservedCapacity && settings.makesMachines === undefined,
    log,
    now,
  })
  const lateLists = new LateLists({ client: kubernetes, namespace, log, now }, registry)
  const store = new QuarantineStore({ client: kubernetes, ...own })
  const quarantine = new Quarantine({ cache, store, events, log, now }, registry)
  const catalogue = new Catalogue({
    azure: asked,
    config: settings,
    unavailable,
    quota,
    reservations,
    kubernetes,
    ...own,
  })
  observeCapacity({ quota, unavailable }, registry)
  if (config.JOINER_ROLES.some((role) => role === 'azure' || role === 'planner'))
    observeCatalogue({ catalogue, nodeClasses: () => cache.nodeClasses.values(), now }, registry)
  const threads = { quarantine, ...(solverThread && { start: solverThread }) }
  const disruptionMetrics = new DisruptionMetrics(registry)
  if (config.JOINER_ROLES.includes('planner')) {
    disruptionMetrics.startAtZero()
    observePoolOfferings(
      { nodePools: () => cache.nodePools.values(), instanceTypes: () => instanceTypes({ cache, catalogue }) },
      registry,
    )
  }
  return {
    client: kubernetes,
    cache,
    events,
    log,
    registry,
    now,
    serverTime,
    cluster: config.CLUSTER_NAME,
    namespace,
    note,
    nodeRules,
    azure,
    budget,
    config: settings,
    unavailable,
    quota,
    reservations,
    catalogue,
    network: new NetworkFacts(
      {
        securityGroups: () => azure.network.networkSecurityGroups.list(settings.nodeResourceGroup),
        loadBalancers: () => azure.network.loadBalancers.list(settings.nodeResourceGroup),
      },
      { nodeResourceGroup: settings.nodeResourceGroup, log, now },
    ),
    launchHealth: new LaunchHealth(now),
    refusedAttempts: new RefusedAttempts(now),
    vmCreates: vmCreateMetrics(registry),
    vms: new VmList(
      () => azure.compute.virtualMachines.list(settings.nodeResourceGroup).byPage(),
      lateLists.of('VMs'),
      paceWithin(armShare(config)),
    ),
    ...machineDeps({ azure, config: settings, log }, lateLists.of('AKS machines')),
    ...workflowStarters(client, config.CLUSTER_NAME, now),
    nominations: new Nominations(config.BATCH_MAX_DURATION),
    refusedClaims: new RefusedClaims(),
    nodeRefusals: new NodeRefusals(registry),
    heavyPods: new HeavyPods(),
    metrics: new PlanningMetrics({ cache, now }, registry),
    findings: new Findings(now, registry),
    disruptionMetrics,
    lifecycleMetrics: new LifecycleMetrics(now, registry),
    cloudProvider,
    tracing,
    verdicts: new VerdictRecorder(),
    quarantine,
    buffers: new BufferRoom({ client: kubernetes, cache, log, now }),
    solver: new SolverThread(cache, log, threads),
    evaluator: new SolverThread(cache, log, threads),
    repairPolicies: config.LEGACY_NODE_REPAIR ? [] : repairsOf(config),
    spotToSpotConsolidation: config.FEATURE_GATES.SpotToSpotConsolidation,
    terminateFirst: {
      drift: config.FEATURE_GATES.TerminateFirstDrift,
      repair: config.FEATURE_GATES.TerminateFirstRepair,
    },
    staticCapacity: config.FEATURE_GATES.StaticCapacity,
    scheduling: {
      preferencePolicy: config.PREFERENCE_POLICY,
      minValuesPolicy: config.MIN_VALUES_POLICY,
      reservedCapacity: config.FEATURE_GATES.ReservedCapacity,
      defaultSpread: config.SCHEDULER_CONFIG,
    },
    batchIdleMs: config.BATCH_IDLE_DURATION,
    batchMaxMs: config.BATCH_MAX_DURATION,
  }
}

/** All parts of a process. Each consumer declares which of them it needs. */
export type ProcessDeps = Awaited<ReturnType<typeof createDependencies>>

/** In a process without the role azure nothing may ask Azure. */
const noCredential: TokenCredential = {
  getToken: () => Promise.reject(new Error('a process without the role azure asks Azure for nothing')),
}

/** Interruptions are acted on always, sick nodes only where the gate is on: by their lifecycles as Karpenter 1.14 did, or by disruption. */
function nodeRulesOf(config: Config): NodeRules {
  return {
    interruptions: config.JOINER_INTERRUPTION_CONDITIONS,
    repairs: config.LEGACY_NODE_REPAIR ? repairsOf(config) : [],
  }
}

function repairsOf({ FEATURE_GATES, JOINER_REPAIR_POLICIES }: Config): readonly RepairRule[] {
  return FEATURE_GATES.NodeRepair ? repairRules(JOINER_REPAIR_POLICIES) : []
}

/** Which part of Azure's limits is this process's. */
function armShare({ JOINER_ARM_BUDGET_SHARE, JOINER_AZURE_REPLICAS }: Config): number {
  return JOINER_ARM_BUDGET_SHARE / JOINER_AZURE_REPLICAS
}

/** What starts a process's workflows, and what commits for them. `now`: epoch ms. */
function workflowStarters(client: Client, cluster: string, now: () => number) {
  const starts = new AttributedStarts(now)
  return {
    starts,
    lifecycles: new LifecycleStarter(client, cluster, starts),
    commands: new CommandStarter({ client, cluster, starts, now }),
    committer: new Committer(),
  }
}
