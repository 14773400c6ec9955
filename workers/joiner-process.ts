import { flushCompileCache } from 'node:module'
import { hostname } from 'node:os'
import { Client } from '@temporalio/client'
import type { Logger } from 'pino'
import { collectDefaultMetrics, register } from 'prom-client'
import { readCloud } from '../activities/azure/access/azure-config.ts'
import { azureIdentity, untilIdentified } from '../activities/azure/access/azure-identity.ts'
import { connectToPeer } from '../activities/kubernetes/peers.ts'
import type { Tracing } from '../activities/telemetry/tracing.ts'
import type { Config } from '../api/config.ts'
import { bootstrap } from '../starter/bridge/bootstrap.ts'
import { type NameOwner, nameOwner, nameProblem } from '../starter/bridge/cluster-loops.ts'
import { temporalClient } from '../starter/temporal/connect.ts'
import { isDenied } from '../starter/temporal/grpc-code.ts'
import { explainTemporal, messageOf, problemText } from '../starter/temporal/problem.ts'
import type { TemporalSettings } from '../starter/temporal/settings.ts'
import { reportBuild } from './build-info.ts'
import { workflowBundle } from './bundle.ts'
import type { ConversionService } from './conversion/conversion-service.ts'
import { converting, startConversion } from './conversion-process.ts'
import { createDependencies, type DependencyInput } from './dependencies.ts'
import {
  type Answer,
  askStillOwned,
  installed,
  type OwnershipInput,
  untilOwned,
  untilYes,
  watchIdentity,
} from './identity.ts'
import { admissionTo, loadClient, serverTimeOf } from './kubernetes-client.ts'
import { connected, Readiness } from './readiness.ts'
import { type ServingProcess, serve, working } from './serving.ts'
import { closeQuietly, startHealthServer } from './telemetry/health-server.ts'
import { giveBackWhenIdle } from './telemetry/idle-memory.ts'
import { type GaugeSource, metricsText } from './telemetry/metrics-text.ts'
import { observeProcess } from './telemetry/process-metrics.ts'
import { TemporalLink } from './temporal-link.ts'

const azureToken = 'an access token of Azure'

export interface JoinerProcess {
  readonly config: Config
  readonly settings: TemporalSettings
  readonly log: Logger
  /** Ends the process in order. */
  readonly signal: AbortSignal
  /** The metrics of Temporal's own library. */
  readonly temporal: () => Promise<string>
  readonly tracing: Tracing
}

/**
 * Runs a process's roles until the signal fires, then ends polls and waits and lets writes finish. While Temporal or the API server
 * cannot be reached, or another installation or cluster has what this one needs, it serves health and tries again. Errors: a worker that failed for
 * good, and an identity that somebody else took over, end the process.
 */
export async function runJoiner({ config, settings, log, signal, temporal, tracing }: JoinerProcess): Promise<void> {
  const roles = new Set(config.JOINER_ROLES)
  const cloud = await readCloud(config)
  const identity = roles.has('azure') ? azureIdentity(config, cloud) : undefined
  const readiness = new Readiness(
    installed,
    connected,
    ...(roles.has('conversion') ? [converting] : []),
    ...(identity ? [azureToken] : []),
  )
  const gauges: GaugeSource[] = []
  collectDefaultMetrics()
  reportBuild(config.JOINER_COMMIT)
  const leases = new Map<string, () => boolean>()
  let isTemporalReachable = false
  observeProcess({
    roles: config.JOINER_ROLES,
    notReady: () => readiness.reasons,
    isTemporalReachable: () => isTemporalReachable,
    leases: () => [...leases].map(([name, isHeld]) => [name, isHeld()] as const),
  })
  const health = await startHealthServer(config.JOINER_HEALTH_PORT, {
    secondPort: config.JOINER_METRICS_PORT,
    notReady: () => readiness.reasons,
    metrics: () => metricsText({ gauges, temporal, log }),
  })
  log.info({ address: health.address, roles: config.JOINER_ROLES }, 'serving health and metrics at all addresses')
  const serverTime = serverTimeOf(log, register)
  const kubernetes = await loadClient(config.KUBECONFIG, log, { admission: admissionTo(register), serverTime })
  const ownership: OwnershipInput = {
    kubernetes,
    release: config.JOINER_RELEASE,
    namespace: config.JOINER_NAMESPACE,
    mayClaim: roles.has('conversion'),
    log,
  }
  // Temporal is waited for meanwhile.
  const linking = TemporalLink.connect({
    settings,
    log,
    signal,
    onState: (problem) => {
      isTemporalReachable = problem === undefined
      if (problem === undefined) readiness.has(connected)
      else readiness.lacks(connected, problem)
    },
  })
  const bundled = workflowBundle(config.JOINER_WORKFLOW_BUNDLE, settings.keys === undefined ? 'plain' : 'encrypted')
  // Who waits for it hears of a failure.
  bundled.catch(() => undefined)
  if (identity) void untilIdentified(identity, log, signal).then((isKnown) => isKnown && readiness.has(azureToken))
  const endGivingBack = giveBackWhenIdle(log)
  let conversion: ConversionService | undefined
  try {
    const own = await untilOwned({ ownership, readiness, log, signal })
    if (own === undefined) return
    // It comes before all that may have to be waited for: while nobody converts, old manifests cannot be read or applied.
    if (roles.has('conversion'))
      conversion = startConversion({
        config,
        kubernetes,
        serverTime,
        own,
        log,
        onServing: () => readiness.has(converting),
      })
    const link = await linking
    isTemporalReachable = link !== undefined
    if (link !== undefined)
      await workAs({
        workflowBundle: await bundled,
        config,
        settings,
        cloud,
        identity,
        kubernetes,
        serverTime,
        ownership,
        log,
        signal,
        link,
        readiness,
        gauges,
        leases,
        peers: { address: ownAddress(config.JOINER_POD_IP, health.address), connect: connectToPeer },
        tracing,
        registry: register,
        // By now all is loaded. Left to its end, a process that is killed would keep nothing for the one after it.
        onWorking: () => flushCompileCache(),
      })
  } finally {
    endGivingBack()
    await (await linking)?.stop()
    await conversion?.stop()
    await kubernetes.close()
    await closeQuietly(health, log)
  }
}

/** Where other processes of Joiner reach the health server of this one. */
function ownAddress(ip: string | undefined, served: string): string | undefined {
  if (ip === undefined) return undefined
  return `${ip.includes(':') ? `[${ip}]` : ip}:${new URL(served).port || 80}`
}

/** A process that may work: it is connected, and the CRDs are its installation's. */
export interface WorkingProcess extends ServingProcess, Omit<DependencyInput, 'client'> {
  readonly ownership: OwnershipInput
}

/**
 * Works as the process's roles until the signal fires. Errors: a worker that failed for good, an identity that somebody else took over,
 * a cluster that has gone back in time.
 */
export async function workAs(input: WorkingProcess): Promise<void> {
  const { config, settings, log, link, readiness, ownership } = input
  const { connection } = link
  const { namespace } = settings
  const lost = new AbortController()
  const signal = AbortSignal.any([input.signal, lost.signal])
  const identity = config.JOINER_IDENTITY ?? `${hostname()}/${process.pid}`
  const client = temporalClient(connection, settings, identity)
  const onLost = (problem: string) => lost.abort(new Error(`this process ends, since ${problem}`))
  const deps = await createDependencies({ ...input, client })
  const name = {
    client: new Client({ connection, namespace, identity }),
    cluster: deps.cluster,
    clusterUid: deps.config.clusterUid,
  }
  const reported = new Set<string>()
  const known = {}
  const bootstrapOnce = () =>
    bootstrap({
      ...name,
      client,
      plainClient: name.client,
      connection,
      namespace,
      isBundled: config.JOINER_TEMPORAL_BUNDLED,
      log,
      reported,
      known,
      onAttributes: (areUsable) => deps.starts.useAttributes(areUsable),
    })
  const answerOf = (owner: NameOwner): Answer<undefined> => {
    const problem = nameProblem(owner, name, namespace)
    return problem === undefined ? { kind: 'yes', value: undefined } : { kind: 'no', problem, isForeign: true }
  }
  readiness.lacks(working)
  readiness.has(connected)
  // Only the bootstrap knows which search attributes a start may name, and another cluster's tasks are not ours, so it comes before the workers.
  const admitted = untilYes({
    ask: async () => answerOf(await bootstrapOnce()),
    what: 'the preparation of Temporal',
    explain: async (error) =>
      isDenied(error) ? problemText(await explainTemporal(settings, error)) : messageOf(error),
    onProblem: (problem) => readiness.lacks(working, problem),
    log,
    signal,
  }).then(() =>
    watchIdentity({
      everyMs: config.JOINER_RESYNC_INTERVAL,
      checks: [() => askStillOwned(ownership), async () => answerOf(await nameOwner(name))],
      onLost,
      log,
    }),
  )
  try {
    await serve(input, {
      // Its caches are what it has to lose: a watch goes on from a version that is still to come, and brings nothing.
      deps: { ...deps, onGoneBack: onLost },
      identity,
      admitted,
      bootstrap: async () => void (await bootstrapOnce()),
      client,
      signal,
    })
  } finally {
    // Not awaited: where serving failed, Temporal may still be asked in vain.
    void admitted.then(
      (stopWatching) => stopWatching(),
      () => undefined,
    )
  }
  lost.signal.throwIfAborted()
}
