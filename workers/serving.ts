// What works for the cluster in a process: caches, workers and bridge.
import type { Client } from '@temporalio/client'
import type { Logger } from 'pino'
import { whenAborted } from '../activities/abortable-wait.ts'
import { CostLedger } from '../activities/cost/cost-ledger.ts'
import { costGauges } from '../activities/cost/cost-metrics.ts'
import { disrupt } from '../activities/disruption/disrupt.ts'
import { Lease } from '../activities/kubernetes/lease.ts'
import { instanceTypes } from '../activities/node-overlays/pool-types.ts'
import { reportLostLaunches } from '../activities/provisioning/lost-launches.ts'
import { trackPodEvents } from '../activities/provisioning/pod-events.ts'
import { provision } from '../activities/provisioning/provision.ts'
import { bridgeMetrics } from '../activities/telemetry/bridge-metrics.ts'
import { ReconcileMetrics } from '../activities/telemetry/reconcile-metrics.ts'
import type { Config } from '../api/config.ts'
import { Bridge } from '../starter/bridge/bridge.ts'
import { GoneProcesses } from '../starter/bridge/gone-processes.ts'
import { JoinKeeper } from '../starter/bridge/join-keeper.ts'
import type { TemporalSettings } from '../starter/temporal/settings.ts'
import { bundleDigest } from './bundle.ts'
import { observeCluster } from './cluster-observer.ts'
import type { ProcessDeps } from './dependencies.ts'
import { plannerLease, planWhileLeading } from './planner-lease.ts'
import type { Readiness } from './readiness.ts'
import { runWorkers } from './running-workers.ts'
import { createPlanWorker, createTaskWorkers } from './task-workers.ts'
import type { GaugeSource } from './telemetry/metrics-text.ts'
import type { WorkerLink } from './temporal-link.ts'
import { workerVersioning } from './worker-version.ts'

export const working = 'workers'

/** What a process has before it is let in. */
export interface ServingProcess {
  readonly config: Config
  readonly settings: TemporalSettings
  readonly log: Logger
  readonly link: WorkerLink
  readonly workflowBundle: { readonly code: string }
  /** What this process still waits for. */
  readonly readiness: Readiness
  /** Where what is computed for a scrape enters. */
  readonly gauges: GaugeSource[]
  /** Called once the process works. */
  readonly onWorking: () => void
  /** Leases that this process may hold, by name, with what says whether it does. */
  readonly leases: Map<string, () => boolean>
}

interface Serving {
  readonly deps: ProcessDeps
  readonly identity: string
  readonly client: Client
  readonly bootstrap: () => Promise<void>
  readonly signal: AbortSignal
}

/** Runs what works for the cluster, once it is known to be this process's to work for. */
export async function serve(
  input: ServingProcess,
  { deps, identity, client, bootstrap, signal }: Serving,
): Promise<void> {
  const { config, settings, log, link, readiness, gauges, leases, workflowBundle } = input
  const { namespace } = settings
  const roles = new Set(config.JOINER_ROLES)
  const stopParts = startParts(deps, roles, readiness)
  const workflowCode = bundleDigest(workflowBundle.code)
  const versioning = workerVersioning(config, workflowCode)
  const gone: GoneProcesses = new GoneProcesses({
    deps,
    client,
    isLeader: () => bridge.isLeader,
    name: identity,
    signal,
  })
  const ofBridge = roles.has('bridge') ? bridgeMetrics(deps.now, deps.registry) : undefined
  const bridge = new Bridge({
    deps,
    client,
    connection: link.connection,
    bootstrap,
    temporalNamespace: namespace,
    identity,
    onLead: (from) => void (from !== '' && gone.isSilent(from)),
    resyncMs: config.JOINER_RESYNC_INTERVAL,
    version: versioning.own,
    ...(ofBridge === undefined ? {} : { metrics: ofBridge }),
  })
  if (roles.has('bridge')) leases.set('joiner-bridge', () => bridge.isLeader)
  const observer = observeCluster(deps, config, { isReported: () => bridge.isLeader })
  gauges.push(observer.families, () => deps.metrics.families())
  // An activity that looks into an empty cache would take nodes and pods that it does not know yet for gone.
  await Promise.race([deps.cache.synced(), whenAborted(signal)])
  const metrics = new ReconcileMetrics(deps.registry)
  const taskWorkers = () => ({
    metrics,
    link,
    namespace,
    settings,
    roles,
    deps,
    gone,
    workflowBundle,
    version: versioning.options,
  })
  const workers = await createTaskWorkers(taskWorkers())
  link.serve(workers)
  // Pods wait for NodeClaims, so these do not wait behind the requests of a mass drain.
  const planningClient = deps.client.withOwnConnections()
  let plans = false
  const ledger = roles.has('planner')
    ? new CostLedger({ ...deps, instanceTypes: () => instanceTypes(deps) })
    : undefined
  if (ledger !== undefined) {
    leases.set(plannerLease.name, () => plans)
    gauges.push(() => costGauges(() => ledger.rate()))
    ledger.start()
  }
  const running = Promise.all([
    runWorkers(workers, signal),
    ...(roles.has('planner')
      ? [
          planWhileLeading({
            lease: new Lease(deps, { ...plannerLease, identity }),
            work: async (planning) => {
              const process = { reconciles: metrics, signal: planning }
              await Promise.all([
                provision({ ...process, deps: { ...deps, client: planningClient } }),
                disrupt({ ...process, deps }),
              ])
            },
            makeWorker: () => createPlanWorker(taskWorkers()),
            onWorker: (worker) => {
              plans = worker !== undefined
              ledger?.lead(plans)
              link.serve(worker === undefined ? workers : [...workers, worker])
            },
            log,
            signal,
          }),
        ]
      : []),
  ])
  readiness.has(working)
  input.onWorking()
  log.info({ identity, roles: [...roles], workflowCode, version: versioning.options?.version }, 'started workers')
  const joins = new JoinKeeper({
    deps,
    connection: link.connection,
    isLeader: () => bridge.isLeader,
    onDone: (step) => ofBridge?.joined(step),
  })
  if (roles.has('bridge') && !signal.aborted) bridge.start()
  const stopJoins = joins.start()
  const stopLooking = gone.start()
  link.afterReconnect(() => void gone.connectionIsGone())
  try {
    await running
  } finally {
    observer.stop()
    stopJoins()
    stopLooking()
    await ledger?.stop()
    await bridge.stop()
    await stopParts()
  }
}

/** Starts caches, catalogue and solvers. Returns what ends them. */
function startParts(deps: ProcessDeps, roles: ReadonlySet<string>, readiness: Readiness): () => Promise<void> {
  if (roles.has('planner')) {
    deps.solver.start()
    deps.evaluator.start()
  }
  deps.cache.start()
  readiness.lacks('the watch caches')
  void deps.cache.synced().then(() => readiness.has('the watch caches'))
  // The bridge publishes what nodes cost.
  if (roles.has('azure') || roles.has('planner') || roles.has('bridge')) deps.catalogue.start()
  if (roles.has('azure') || roles.has('planner')) {
    deps.quota.start()
    deps.reservations.start()
    deps.unavailable.start()
  }
  if (roles.has('azure')) deps.network.warm()
  const endTracking = roles.has('planner') ? [trackPodEvents(deps), reportLostLaunches(deps)] : []
  return async () => {
    for (const end of endTracking) end()
    deps.catalogue.stop()
    deps.quota.stop()
    deps.reservations.stop()
    deps.unavailable.stop()
    deps.cache.stop()
    await deps.solver.stop()
    await deps.evaluator.stop()
  }
}
