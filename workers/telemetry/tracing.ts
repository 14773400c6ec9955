import type { Logger } from 'pino'
import { noTracing, type Tracing } from '../../activities/telemetry/tracing.ts'

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
