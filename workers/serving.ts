// What works for the cluster in a process: caches, workers and bridge.

import type { Client } from '@temporalio/client'
import type { Worker, WorkerDeploymentOptions } from '@temporalio/worker'
import type { Logger } from 'pino'
import { pauseOf, whenAborted } from '../activities/abortable-wait.ts'
import { createMaintenanceActivities } from '../activities/azure/activities.ts'
import { Maintenance } from '../activities/azure/maintenance/maintenance.ts'
import { CostLedger } from '../activities/cost/cost-ledger.ts'
import { costGauges } from '../activities/cost/cost-metrics.ts'
import { createDisruptionActivities } from '../activities/disruption/activities.ts'
import { disrupt } from '../activities/disruption/disrupt.ts'
import { Lease } from '../activities/kubernetes/lease.ts'
import type { LeaseDeps } from '../activities/kubernetes/lease-object.ts'
import type { Peers } from '../activities/kubernetes/peers.ts'
import { type HeldInput, leaderTimes, whileHeld } from '../activities/kubernetes/while-held.ts'
import { instanceTypes } from '../activities/node-overlays/pool-types.ts'
import { reportLostLaunches } from '../activities/provisioning/lost-launches.ts'
import { trackPodEvents } from '../activities/provisioning/pod-events.ts'
import { provision } from '../activities/provisioning/provision.ts'
import { bridgeMetrics } from '../activities/telemetry/bridge-metrics.ts'
import { ReconcileMetrics } from '../activities/telemetry/reconcile-metrics.ts'
import type { Config } from '../api/config.ts'
import { maintenanceScheduleId } from '../core/task-queues.ts'
import { Bridge } from '../starter/bridge/bridge.ts'
import { type OwnVersion, ownDeployment } from '../starter/bridge/current-version.ts'
import { GoneProcesses } from '../starter/bridge/gone-processes.ts'
import { JoinKeeper } from '../starter/bridge/join-keeper.ts'
import type { TemporalSettings } from '../starter/temporal/settings.ts'
import { version } from './build-info.ts'
import type { WorkflowBundle } from './bundle.ts'
import { observeCluster } from './cluster-observer.ts'
import type { ProcessDeps } from './dependencies.ts'
import { connected, type Readiness } from './readiness.ts'
import { runWorkers } from './running-workers.ts'
import { createLeaderWorker, createTaskWorkers } from './task-workers.ts'
import type { GaugeSource } from './telemetry/metrics-text.ts'
import type { WorkerLink } from './temporal-link.ts'

export const working = 'workers'
const plannerLease = 'joiner-planner'

/** What a process has before it is let in. */
export interface ServingProcess {
  readonly config: Config
  readonly settings: TemporalSettings
  readonly log: Logger
  readonly link: WorkerLink
  readonly workflowBundle: WorkflowBundle
  /** What this process still waits for. */
  readonly readiness: Readiness
  /** Where what is computed for a scrape enters. */
  readonly gauges: GaugeSource[]
  /** Called once the process works. */
  readonly onWorking: () => void
  /** Leases that this process may hold, by name, with what says whether it does. */
  readonly leases: Map<string, () => boolean>
  readonly peers: Peers
}

interface Serving {
  readonly deps: ProcessDeps & Pick<LeaseDeps, 'onGoneBack'>
  readonly identity: string
  /** Until it resolves, or the signal fires, caches fill and nothing is changed. */
  readonly admitted: Promise<unknown>
  readonly client: Client
  readonly bootstrap: () => Promise<void>
  readonly signal: AbortSignal
}

/** Runs what works for the cluster: what only reads at once, and what writes once the cluster is known to be this process's to work for. */
export async function serve(
  input: ServingProcess,
  { deps, identity, admitted, client, bootstrap, signal }: Serving,
): Promise<void> {
  const { config, settings, log, link, readiness, gauges, leases, peers, workflowBundle } = input
  const { namespace } = settings
  const roles = new Set(config.JOINER_ROLES)
  const stopParts = startParts(deps, roles, readiness)
  const isLame = () => readiness.isLacking(connected)
  const workflowCode = workflowBundle.digest
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
    peers,
    isLame,
    // Its waits alone, even where it is gone: what it has just sent to Azure may not be seen there yet.
    onLead: (from) => void gone.isSilent(from),
    resyncMs: config.JOINER_RESYNC_INTERVAL,
    version: versioning.own,
    ...(ofBridge === undefined ? {} : { metrics: ofBridge }),
  })
  if (roles.has('bridge')) leases.set('joiner-bridge', () => bridge.isLeader)
  const observer = observeCluster(deps, config, { isReported: () => bridge.isLeader })
  gauges.push(observer.families, () => deps.metrics.families())
  // Temporal hands an attempt out again after up to a second, which passes while caches fill and workers start.
  const looking = admitted.then(
    () => (signal.aborted ? undefined : gone.start()),
    // Why it is not let in fails below.
    () => undefined,
  )
  const stopLooking = () => void looking.then((stop) => stop?.())
  // An activity that looks into an empty cache would take nodes and pods that it does not know yet for gone.
  await Promise.race([Promise.all([admitted, deps.cache.synced()]), whenAborted(signal)])
  if (signal.aborted) {
    observer.stop()
    stopLooking()
    return stopParts()
  }
  const metrics = new ReconcileMetrics(deps.registry)
  const taskWorkers = { ...input, metrics, namespace, roles, deps, gone, version: versioning.options }
  const workers = await createTaskWorkers(taskWorkers)
  const endTracking = roles.has('planner') ? [trackPodEvents(deps), reportLostLaunches(deps)] : []
  link.serve(workers)
  const ledger = roles.has('planner')
    ? new CostLedger({ ...deps, instanceTypes: () => instanceTypes(deps) })
    : undefined
  if (ledger !== undefined) {
    gauges.push(() => costGauges(() => ledger.rate()))
    ledger.start()
  }
  const leaders = new Map<string, Worker>()
  const leading = (name: string, led: Pick<LeadingInput, 'what' | 'isFenced' | 'work' | 'makeWorker'>) => {
    leases.set(name, () => leaders.has(name))
    // Without a fence only the time that has run out keeps two apart.
    const lease = new Lease(deps, { ...leaderTimes, name, identity, peers, takesFromDead: led.isFenced })
    const onWorker = (worker: Worker | undefined) => {
      if (worker === undefined) leaders.delete(name)
      else leaders.set(name, worker)
      ledger?.lead(leaders.has(plannerLease))
      link.serve([...workers, ...leaders.values()])
    }
    return workWhileLeading({ ...led, lease, isLame, onWorker, log, signal })
  }
  const plan = () => {
    // Pods wait for NodeClaims, so these do not wait behind the requests of a mass drain; and what a fence lets through goes at once.
    const planningDeps = { ...deps, client: deps.client.withOwnConnections() }
    return leading(plannerLease, {
      what: 'plans',
      isFenced: true,
      work: async (ends) => {
        const process = { reconciles: metrics, signal: ends }
        await Promise.all([provision({ ...process, deps: planningDeps }), disrupt({ ...process, deps: planningDeps })])
      },
      makeWorker: () => createLeaderWorker(taskWorkers, 'plan', createDisruptionActivities(planningDeps)),
    })
  }
  const maintain = () => {
    const schedule = client.schedule.getHandle(maintenanceScheduleId(deps.cluster))
    const maintenance = new Maintenance({ ...deps, reconciles: metrics, onUndecided: () => schedule.trigger() })
    return leading('joiner-maintenance', {
      what: 'maintains the cluster',
      isFenced: false,
      work: (ends) => maintenance.keepUp(ends),
      makeWorker: () => createLeaderWorker(taskWorkers, 'maintenance', createMaintenanceActivities(maintenance)),
    })
  }
  const running = Promise.all([
    runWorkers(workers, signal),
    ...(roles.has('planner') ? [plan()] : []),
    ...(roles.has('azure') ? [maintain()] : []),
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
  link.afterReconnect(() => void gone.connectionIsGone())
  try {
    await running
  } finally {
    observer.stop()
    stopJoins()
    stopLooking()
    for (const end of endTracking) end()
    await ledger?.stop()
    await bridge.stop()
    await stopParts()
  }
}

/** Starts caches, catalogue and solvers: they read, and store what Azure answered. Returns what ends them. */
function startParts(deps: ProcessDeps, roles: ReadonlySet<string>, readiness: Readiness): () => Promise<void> {
  // The evaluator starts with its first evaluation: a planner that stands by, or has no node, needs none.
  if (roles.has('planner')) deps.solver.start()
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
  return async () => {
    deps.catalogue.stop()
    deps.quota.stop()
    deps.reservations.stop()
    deps.unavailable.stop()
    deps.cache.stop()
    await deps.solver.stop()
    await deps.evaluator.stop()
  }
}

interface LeadingInput extends HeldInput {
  /** Works for as long as this process leads, with Temporal or without: until the signal fires. */
  readonly work: (signal: AbortSignal) => Promise<void>
  readonly makeWorker: () => Promise<Worker>
  /** Called with the worker of the process that leads, and with undefined once it has ended. */
  readonly onWorker: (worker: Worker | undefined) => void
}

/**
 * Works and runs a worker while this process holds the Lease, and stands by with warm caches while another does: what it has in memory (nominations,
 * back-offs, the last evaluation) is in one process. Returns when the signal fires. Errors: as `runWorkers`.
 */
export function workWhileLeading({ work, makeWorker, onWorker, ...held }: LeadingInput): Promise<void> {
  return whileHeld(held, async (ends, end) => {
    const working = work(ends)
    try {
      let worker: Worker | undefined
      for (let failures = 0; worker === undefined && !ends.aborted; failures++) {
        worker = await makeWorker().catch((error: unknown) => {
          // The connection says by itself why Temporal cannot be used.
          held.log[failures === 0 ? 'warn' : 'debug']({ err: error }, 'failed to make the worker of a leader, retrying')
          return pauseOf(2000, ends).then(() => undefined)
        })
      }
      if (worker === undefined) return
      onWorker(worker)
      await runWorkers([worker], ends)
    } finally {
      end()
      onWorker(undefined)
      await working
    }
  })
}

type VersionConfig = Pick<
  Config,
  'CLUSTER_NAME' | 'JOINER_WORKER_VERSIONING' | 'TEMPORAL_DEPLOYMENT_NAME' | 'TEMPORAL_WORKER_BUILD_ID'
>

/** What Temporal is sent about the version of this process, and who makes it the current one. */
interface WorkerVersioning {
  /** For the worker that runs workflows. Undefined: it is not versioned. */
  readonly options: WorkerDeploymentOptions | undefined
  /** What the bridge's leader keeps current. Undefined: somebody else does, such as Temporal's Worker Controller. */
  readonly own: OwnVersion | undefined
}

/**
 * Off by default. `JOINER_WORKER_VERSIONING` makes Joiner call its deployment `joiner-CLUSTER` and its builds VERSION-DIGEST of the workflow code;
 * the names that Temporal's Worker Controller sets stand before that, and then the controller decides which version is current. Runs follow the
 * current version (`AUTO_UPGRADE`), whose code replays all older histories (ADR 12).
 */
export function workerVersioning(config: VersionConfig, workflowCode: string): WorkerVersioning {
  const ownName = ownDeployment(config.CLUSTER_NAME)
  const { TEMPORAL_DEPLOYMENT_NAME: givenName, TEMPORAL_WORKER_BUILD_ID: givenBuild } = config
  if (givenName !== undefined && givenBuild !== undefined)
    return { options: optionsOf(givenName, givenBuild), own: undefined }
  if (!config.JOINER_WORKER_VERSIONING) return { options: undefined, own: { deploymentName: ownName } }
  const buildId = `${version}-${workflowCode}`
  return { options: optionsOf(ownName, buildId), own: { deploymentName: ownName, buildId } }
}

function optionsOf(deploymentName: string, buildId: string): WorkerDeploymentOptions {
  return { version: { deploymentName, buildId }, useWorkerVersioning: true, defaultVersioningBehavior: 'AUTO_UPGRADE' }
}
