import { makeTelemetryFilterString, Runtime, type Logger as TemporalLogger } from '@temporalio/worker'
import getPort from 'get-port'
import type { Logger } from 'pino'
import { request } from 'undici'
import { readWhole } from '../../activities/limited-body.ts'
import { noTracing, type Tracing } from '../../activities/telemetry/tracing.ts'

const timestampKey = Symbol.for('log_timestamp')

/**
 * Installs Temporal's runtime with its logs joined into ours. Must come before any connection or worker.
 * SIGINT and SIGTERM stay with us: polls and waits have to end before the workers drain.
 * Returns what reads the runtime's metrics: it serves them by itself, on a port of this machine only, from where they join ours.
 */
export async function installRuntime(log: Logger): Promise<() => Promise<string>> {
  const address = `127.0.0.1:${await getPort({ host: '127.0.0.1' })}`
  Runtime.install({
    logger: joinLogs(log.child({ component: 'temporal' })),
    shutdownSignals: [],
    telemetryOptions: {
      logging: { filter: makeTelemetryFilterString({ core: 'WARN', other: 'ERROR' }), forward: {} },
      metrics: { prometheus: { bindAddress: address, useSecondsForDurations: true, unitSuffix: true } },
    },
  })
  return async () => {
    const { body } = await request(`http://${address}/metrics`, { headersTimeout: 2000 })
    return readWhole(body, "metrics of Temporal's library")
  }
}

/** Each poll that is tried again is a line of the library's. What is behind it is logged once, by the process's link to Temporal. */
const retriedCall = /^gRPC call \w+ retried \d+ times/

function joinLogs(log: Logger): TemporalLogger {
  const write =
    (level: 'trace' | 'debug' | 'info' | 'warn' | 'error') =>
    (message: string, meta?: Record<string | symbol, unknown>) => {
      const { [timestampKey]: _, ...fields } = meta ?? {}
      log[retriedCall.test(message) ? 'debug' : level](fields, message)
    }
  const levels = {
    trace: write('trace'),
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
  }
  return { ...levels, log: (level, message, meta) => levels[level.toLowerCase() as keyof typeof levels](message, meta) }
}

type Environment = Readonly<Record<string, string | undefined>>

/** Spans as OpenTelemetry's environment asks for them; without an endpoint none, and then nothing of OpenTelemetry's SDK is loaded. */
export async function startTracing(env: Environment, log: Logger): Promise<Tracing> {
  const endpoint = env['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'] || env['OTEL_EXPORTER_OTLP_ENDPOINT']
  const isOff = env['OTEL_SDK_DISABLED'] === 'true' || env['OTEL_TRACES_EXPORTER'] === 'none'
  if (!endpoint || isOff) return noTracing
  const protocol = env['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL'] || env['OTEL_EXPORTER_OTLP_PROTOCOL'] || 'http/protobuf'
  if (protocol !== 'http/protobuf') {
    log.warn({ protocol }, 'traces are off: OTEL_EXPORTER_OTLP_PROTOCOL can be http/protobuf only; correct or unset it')
    return noTracing
  }
  const { openTelemetry } = await import('./open-telemetry.ts')
  log.info({ endpoint }, 'exporting traces')
  return openTelemetry(env, log)
}
