import { flushCompileCache } from 'node:module'
import { hostname } from 'node:os'
import { Client, Connection } from '@temporalio/client'
import { NativeConnection } from '@temporalio/worker'
import type { Logger } from 'pino'
import { collectDefaultMetrics } from 'prom-client'
import type { Cloud } from '../activities/azure/arm/clouds.ts'
import type { KubernetesClient } from '../activities/kubernetes/client.ts'
import { trackPodEvents } from '../activities/planning/pod-events.ts'
import type { Tracing } from '../activities/telemetry/tracing.ts'
import type { Config } from '../api/config.ts'
import { Bridge } from '../starter/bridge.ts'
import { readCloud } from './azure-config.ts'
import { type AzureIdentity, azureIdentity, untilIdentified } from './azure-identity.ts'
import { tellBuild } from './build-info.ts'
import { bundleDigest, workflowBundle } from './bundle.ts'
import { observeCluster } from './cluster-observer.ts'
import { converting, startConversion } from './conversion-process.ts'
import { createDependencies } from './dependencies.ts'
import { closeQuietly, startHealthServer } from './health-server.ts'
import { giveBackWhenIdle } from './idle-memory.ts'
import { loadClient } from './kubernetes-client.ts'
import { type GaugeSource, metricsText } from './metrics-text.ts'
import { pauseOf, whenAborted } from './pause.ts'
import { createTaskWorkers } from './task-workers.ts'
import { workerVersioning } from './worker-version.ts'

const retryMs = 2000
const azureToken = 'an access token of Azure'

export interface JoinerProcess {
  readonly config: Config
  readonly log: Logger
  /** Ends the process in order. */
  readonly signal: AbortSignal
  /** The metrics of Temporal's own library. */
  readonly temporal: () => Promise<string>
  readonly tracing: Tracing
}

/**
 * Runs a process's roles until the signal fires, then ends polls and waits and lets writes finish. While Temporal or the API server
 * cannot be reached it serves health and tries again. Errors: a worker that failed for good ends the process.
 */
export async function runJoiner({ config, log, signal, temporal, tracing }: JoinerProcess): Promise<void> {
  const roles = new Set(config.JOINER_ROLES)
  const cloud = await readCloud(config)
  const identity = roles.has('azure') ? azureIdentity(config, cloud) : undefined
  const missing = new Set([
    'temporal',
    ...(roles.has('conversion') ? [converting] : []),
    ...(identity ? [azureToken] : []),
  ])
  const gauges: GaugeSource[] = []
  collectDefaultMetrics()
  tellBuild(config.JOINER_COMMIT)
  const health = await startHealthServer(config.JOINER_HEALTH_PORT, {
    notReady: () => [...missing].map((what) => `waiting for ${what}`),
    metrics: () => metricsText({ gauges, temporal, log }),
  })
  log.info({ address: health.address, roles: config.JOINER_ROLES }, 'serving health and metrics')
  const kubernetes = await loadClient(config.KUBECONFIG, log)
  // It comes before all that may have to be waited for: while nobody converts, old manifests cannot be read or applied.
  const conversion = roles.has('conversion')
    ? startConversion({ config, kubernetes, log, onServing: () => missing.delete(converting) })
    : undefined
  if (identity) void untilIdentified(identity, log, signal).then((isKnown) => isKnown && missing.delete(azureToken))
  try {
    const connection = await connect(config, log, signal)
    if (connection !== undefined)
      await work({ config, cloud, identity, kubernetes, log, signal, connection, missing, gauges, tracing })
  } finally {
    await conversion?.stop()
    await kubernetes.close()
    await closeQuietly(health, log)
  }
}

/** Tries until Temporal answers. Undefined: the process is to end. */
async function connect(config: Config, log: Logger, signal: AbortSignal): Promise<NativeConnection | undefined> {
  const aborted = whenAborted(signal)
  for (let attempt = 1; !signal.aborted; attempt++) {
    try {
      // A server that accepts and never answers must not hold up the end of the process.
      return await Promise.race([connectOnce(config), aborted])
    } catch (error) {
      if (attempt % 15 === 1)
        log.warn(
          { address: config.TEMPORAL_ADDRESS, err: error },
          'Temporal cannot be reached; trying again. Check TEMPORAL_ADDRESS and TEMPORAL_NAMESPACE',
        )
      await pauseOf(retryMs, signal)
    }
  }
  return undefined
}

/** One connection for clients and workers. It would wait for ever on a server that accepts and never answers, so one with a limit asks first. */
async function connectOnce({
  TEMPORAL_ADDRESS: address,
  TEMPORAL_NAMESPACE: namespace,
}: Config): Promise<NativeConnection> {
  // Connections of one process would share the socket that got no answer, and wait for that one each time.
  const channelArgs = { 'grpc.use_local_subchannel_pool': 1 }
  const probe = await Connection.connect({ address, connectTimeout: '5s', channelArgs })
  try {
    await probe.withDeadline(Date.now() + 5000, () => probe.workflowService.describeNamespace({ namespace }))
  } finally {
    await probe.close()
  }
  return NativeConnection.connect({ address })
}

interface Work {
  readonly config: Config
  readonly cloud: Cloud
  readonly identity: AzureIdentity | undefined
  readonly kubernetes: KubernetesClient
  readonly log: Logger
  readonly signal: AbortSignal
  readonly connection: NativeConnection
  readonly tracing: Tracing
  /** What this process still waits for. */
  readonly missing: Set<string>
  /** Where what is computed for a scrape enters. */
  readonly gauges: GaugeSource[]
}

async function work(input: Work): Promise<void> {
  const { config, log, signal, connection, missing, gauges } = input
  const identity = config.JOINER_IDENTITY ?? `${hostname()}/${process.pid}`
  const client = new Client({ connection, namespace: config.TEMPORAL_NAMESPACE, identity })
  const deps = await createDependencies({ ...input, client })
  const roles = new Set(config.JOINER_ROLES)
  if (roles.has('planner')) {
    deps.solver.start()
    deps.evaluator.start()
  }
  deps.cache.start()
  missing.add('the watch caches')
  void deps.cache.synced().then(() => missing.delete('the watch caches'))
  // The bridge publishes what nodes cost.
  if (roles.has('azure') || roles.has('planner') || roles.has('bridge')) deps.catalogue.start()
  if (roles.has('azure') || roles.has('planner')) {
    deps.quota.start()
    deps.unavailable.start()
  }
  if (roles.has('azure')) deps.network.warm()
  const endTracking = roles.has('planner') ? trackPodEvents(deps) : () => {}
  const bundle = await workflowBundle(config.JOINER_WORKFLOW_BUNDLE)
  const workflowCode = bundleDigest(bundle.code)
  const versioning = workerVersioning(config, workflowCode)
  const bridge = new Bridge({
    deps,
    client,
    connection,
    temporalNamespace: config.TEMPORAL_NAMESPACE,
    identity,
    resyncMs: config.JOINER_RESYNC_INTERVAL,
    version: versioning.own,
  })
  const observer = observeCluster(deps, config, { isTold: () => bridge.isLeader })
  gauges.push(observer.families, () => deps.metrics.families())
  // An unregistered search attribute would fail every start, so bootstrap comes before the workers.
  await bridge.bootstrapUntilDone(signal)
  // An activity that looks into an empty cache would take nodes and pods that it does not know yet for gone.
  await Promise.race([deps.cache.synced(), whenAborted(signal)])
  const workers = await createTaskWorkers({
    connection,
    namespace: config.TEMPORAL_NAMESPACE,
    roles,
    deps,
    identity,
    workflowBundle: bundle,
    version: versioning.options,
  })
  missing.delete('temporal')
  log.info({ identity, roles: [...roles], workflowCode, version: versioning.options?.version }, 'workers run')
  if (roles.has('bridge')) bridge.start()
  // By now all is loaded. Left to its end, a process that is killed would keep nothing for the one after it.
  flushCompileCache()
  const endGivingBack = giveBackWhenIdle(log)
  const running = Promise.all(workers.map((worker) => worker.run()))
  const stop = () => {
    for (const worker of workers) if (worker.getState() === 'RUNNING') worker.shutdown()
  }
  signal.addEventListener('abort', stop, { once: true })
  if (signal.aborted) stop()
  try {
    await running
  } finally {
    stop()
    endGivingBack()
    endTracking()
    observer.stop()
    await bridge.stop()
    deps.catalogue.stop()
    deps.quota.stop()
    deps.unavailable.stop()
    deps.cache.stop()
    await deps.solver.stop()
    await deps.evaluator.stop()
    await connection
      .close()
      .catch((error: unknown) => log.debug({ err: error }, 'the connection to Temporal was closed already'))
  }
}
