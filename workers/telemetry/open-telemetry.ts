import { type Attributes, type Context, context, DiagLogLevel, diag, SpanStatusCode, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources'
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  RandomIdGenerator,
  type Sampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import type { Logger } from 'pino'
import { scrubbedMessage } from '../../activities/azure/arm/azure-error.ts'
import type { SpanAttributes, SpanOptions, Tracing } from '../../activities/telemetry/tracing.ts'

type Environment = Readonly<Record<string, string | undefined>>

/**
 * Spans by OpenTelemetry's SDK, sent by OTLP over HTTP. Endpoint, headers, certificates, timeout and compression are read from the environment by
 * the exporter; service name, resource, sampler and batches here, since the SDK reads them no longer.
 */
export function openTelemetry(env: Environment, log: Logger): Tracing {
  const failures = log.child({ component: 'opentelemetry' })
  const warn = (message: string, ...more: unknown[]) => failures.warn({ more: more.map(String) }, message)
  diag.setLogger({ error: warn, warn, info() {}, debug() {}, verbose() {} }, DiagLogLevel.WARN)
  context.setGlobalContextManager(new AsyncLocalStorageContextManager())
  const ids = new ChosenIds()
  const provider = new TracerProvider({
    resource: defaultResource()
      .merge(resourceFromAttributes({ 'service.name': 'joiner' }))
      .merge(detectResources({ detectors: [envDetector] })),
    sampler: samplerOf(env),
    idGenerator: ids,
    spanProcessors: [new BatchSpanProcessor({ exporter: new OTLPTraceExporter(), ...batches(env) })],
  })
  const tracer = provider.getTracer('joiner')
  const begin = (name: string, { parent, attributes = {}, startMs }: SpanOptions) => {
    const options = { attributes: known(attributes), ...(startMs === undefined ? {} : { startTime: startMs }) }
    return tracer.startSpan(name, options, contextOf(parent))
  }
  return {
    isOn: true,
    async span(name, options, work) {
      const span = begin(name, options)
      try {
        return await context.with(trace.setSpan(context.active(), span), () =>
          work((attributes) => span.setAttributes(known(attributes))),
        )
      } catch (error) {
        // A wait that was called off is no failure: its time was over, or another was first.
        if (isCancellation(error)) span.setAttribute('joiner.outcome', 'cancelled')
        else span.setStatus({ code: SpanStatusCode.ERROR, message: scrubbedMessage(error) })
        throw error
      } finally {
        span.end()
      }
    },
    past(name, { spanId, error, ...options }) {
      const span = ids.using(spanId, () => begin(name, options))
      if (error !== undefined) span.setStatus({ code: SpanStatusCode.ERROR, message: error })
      span.end()
    },
    current() {
      const of = trace.getActiveSpan()?.spanContext()
      return of && `00-${of.traceId}-${of.spanId}-${of.traceFlags.toString(16).padStart(2, '0')}`
    },
    stop: () =>
      provider.shutdown().catch((error: unknown) => failures.debug({ err: error }, 'the last spans were not sent')),
  }
}

function isCancellation(error: unknown): boolean {
  return error instanceof Error && (error.name === 'AbortError' || error.name === 'CancelledFailure')
}

/** The id of one span can be chosen: that of a span which others have the id of already. */
class ChosenIds extends RandomIdGenerator {
  #chosen: string | undefined

  override generateSpanId(): string {
    return this.#chosen ?? super.generateSpanId()
  }

  using<T>(spanId: string | undefined, begin: () => T): T {
    this.#chosen = spanId
    try {
      return begin()
    } finally {
      this.#chosen = undefined
    }
  }
}

function contextOf(parent: string | undefined): Context {
  if (parent === undefined) return context.active()
  const [, traceId = '', spanId = '', flags = '0'] = parent.split('-')
  return trace.setSpanContext(context.active(), {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16),
    isRemote: true,
  })
}

function known(attributes: SpanAttributes): Attributes {
  return Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== undefined))
}

/** `OTEL_TRACES_SAMPLER` and its argument; what is not known samples everything, as without it. */
export function samplerOf(env: Environment): Sampler {
  const name = env['OTEL_TRACES_SAMPLER'] || 'parentbased_always_on'
  const roots: Readonly<Record<string, () => Sampler>> = {
    always_off: () => new AlwaysOffSampler(),
    traceidratio: () => new TraceIdRatioBasedSampler(Number(env['OTEL_TRACES_SAMPLER_ARG'] || 1)),
  }
  const root = (roots[name.replace('parentbased_', '')] ?? (() => new AlwaysOnSampler()))()
  return name.startsWith('parentbased_') ? new ParentBasedSampler({ root }) : root
}

/** `OTEL_BSP_*`, as far as they are numbers. */
function batches(env: Environment) {
  const settings = {
    scheduledDelayMillis: env['OTEL_BSP_SCHEDULE_DELAY'],
    exportTimeoutMillis: env['OTEL_BSP_EXPORT_TIMEOUT'],
    maxQueueSize: env['OTEL_BSP_MAX_QUEUE_SIZE'],
    maxExportBatchSize: env['OTEL_BSP_MAX_EXPORT_BATCH_SIZE'],
  }
  const numbers = Object.entries(settings).map(([name, text]) => [name, Number(text || Number.NaN)] as const)
  return Object.fromEntries(numbers.filter(([, value]) => value > 0))
}
