import type { Logger } from 'pino'
import { register } from 'prom-client'
import { exposition, type GaugeFamily } from '../../activities/telemetry/gauge-family.ts'

/** Answers what this process reports the cluster at this moment. */
export type GaugeSource = () => readonly GaugeFamily[]

interface MetricSources {
  readonly gauges: readonly GaugeSource[]
  /** Metrics of Temporal's library, where the process uses it. Errors: it does not answer. */
  readonly temporal?: () => Promise<string>
  readonly log: Logger
}

/** All metrics of a process: those that it counts, those that are computed now, and those of Temporal's library. */
export async function* metricsText({ gauges, temporal, log }: MetricSources): AsyncGenerator<string> {
  yield await register.metrics()
  yield* exposition(gauges.flatMap((source) => source()))
  if (temporal === undefined) return
  try {
    yield await temporal()
  } catch (error) {
    log.debug({ err: error }, "the metrics of Temporal's library could not be read; the next scrape tries again")
  }
}
