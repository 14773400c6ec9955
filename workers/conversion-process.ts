import type { Logger } from 'pino'
import { collectDefaultMetrics, register } from 'prom-client'
import { whenAborted } from '../activities/abortable-wait.ts'
import type { KubernetesClient } from '../activities/kubernetes/client/client.ts'
import { mayWriteCrds } from '../activities/kubernetes/client/installation.ts'
import type { ServerTime } from '../activities/kubernetes/client/server-time.ts'
import type { ConversionConfig } from '../api/config.ts'
import type { Installation } from '../core/installation.ts'
import { reportBuild } from './build-info.ts'
import { ConversionService } from './conversion/conversion-service.ts'
import { installed, untilOwned } from './identity.ts'
import { loadClient, serverTimeOf } from './kubernetes-client.ts'
import { Readiness } from './readiness.ts'
import { closeQuietly, startHealthServer } from './telemetry/health-server.ts'
import { metricsText } from './telemetry/metrics-text.ts'

/** What a process that converts waits for until it does, as `/readyz` names it. */
export const converting = 'the conversion webhook'

/** Starts the role `conversion` in this process; `onServing` is called once, when reviews are answered. */
export function startConversion({
  config,
  kubernetes,
  serverTime,
  own,
  log,
  onServing,
}: {
  readonly config: Pick<ConversionConfig, 'JOINER_NAMESPACE' | 'JOINER_CONVERSION_PORT'>
  readonly kubernetes: KubernetesClient
  readonly serverTime: ServerTime
  readonly own: Installation
  readonly log: Logger
  readonly onServing: () => void
}): ConversionService {
  const service = new ConversionService({
    client: kubernetes,
    namespace: config.JOINER_NAMESPACE,
    port: config.JOINER_CONVERSION_PORT,
    log,
    // The API server judges the certificate.
    now: () => serverTime.now(),
    onServing,
    mayWrite: (crd) => mayWriteCrds(kubernetes, crd, own),
  })
  service.start()
  return service
}

/**
 * Runs a process whose only role is `conversion` until the signal fires. It connects to the API server alone: whoever takes it over finds no
 * credentials of Temporal or Azure. Errors: the health port is taken, or the kubeconfig cannot be read.
 */
export async function runConversion({
  config,
  log,
  signal,
}: {
  readonly config: ConversionConfig
  readonly log: Logger
  readonly signal: AbortSignal
}): Promise<void> {
  const readiness = new Readiness(installed, converting)
  collectDefaultMetrics()
  reportBuild(config.JOINER_COMMIT)
  const health = await startHealthServer(config.JOINER_HEALTH_PORT, {
    secondPort: config.JOINER_METRICS_PORT,
    notReady: () => readiness.reasons,
    metrics: () => metricsText({ gauges: [], log }),
  })
  log.info({ address: health.address, roles: ['conversion'] }, 'serving health and metrics at all addresses')
  const serverTime = serverTimeOf(log, register)
  const kubernetes = await loadClient(config.KUBECONFIG, log, { serverTime })
  const ownership = {
    kubernetes,
    release: config.JOINER_RELEASE,
    namespace: config.JOINER_NAMESPACE,
    mayClaim: true,
    log,
  }
  let conversion: ConversionService | undefined
  try {
    const own = await untilOwned({ ownership, readiness, log, signal })
    if (own === undefined) return
    conversion = startConversion({
      config,
      kubernetes,
      serverTime,
      own,
      log,
      onServing: () => readiness.has(converting),
    })
    await whenAborted(signal)
  } finally {
    await conversion?.stop()
    await kubernetes.close()
    await closeQuietly(health, log)
  }
}
