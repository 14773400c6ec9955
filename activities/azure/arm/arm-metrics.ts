import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import { type ArmBucket, armBuckets } from './arm-limits.ts'

/** Metrics of requests to Azure Resource Manager and their waits. */
export interface ArmMetrics {
  /** A request was answered; `status` is the HTTP status, or `error` when no answer came. */
  readonly answered: (operation: string, status: string, seconds: number) => void
  /** A request had waited for its tokens; `bucket` kept it last. */
  readonly waited: (bucket: ArmBucket, seconds: number) => void
  /** Azure refused a request for lack of tokens. */
  readonly throttled: (bucket: ArmBucket | 'alone') => void
}

/** Creates the metrics. `levels` returns the tokens of each bucket. */
export function createArmMetrics(levels: () => ReadonlyMap<ArmBucket, number>, registry: Registry): ArmMetrics {
  const registers = [registry]
  const requests = new Counter({
    name: 'joiner_arm_requests_total',
    help: 'Requests to Azure Resource Manager that were answered, by operation and HTTP status; status error: no answer came.',
    labelNames: ['operation', 'status'],
    registers,
  })
  const duration = new Histogram({
    name: 'joiner_arm_request_duration_seconds',
    help: 'Time from sending a request to Azure Resource Manager to its answer, without the wait for its tokens.',
    labelNames: ['operation'],
    buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers,
  })
  const waits = new Histogram({
    name: 'joiner_arm_bucket_wait_seconds',
    help: 'Time that a request waited for its tokens, by the bucket that kept it last; those that did not wait are counted with their own.',
    labelNames: ['bucket'],
    buckets: [0.01, 0.1, 0.5, 1, 2.5, 5, 10, 20, 30, 60],
    registers,
  })
  const throttled = new Counter({
    name: 'joiner_arm_throttled_total',
    help: 'Requests that Azure refused with 429, by bucket; alone: a limit of the one resource.',
    labelNames: ['bucket'],
    registers,
  })
  for (const bucket of armBuckets) throttled.inc({ bucket }, 0)
  tokensOf(levels, registers)
  return {
    answered: (operation, status, seconds) => {
      requests.inc({ operation, status })
      duration.observe({ operation }, seconds)
    },
    waited: (bucket, seconds) => waits.observe({ bucket }, seconds),
    throttled: (bucket) => throttled.inc({ bucket }),
  }
}

/** Gauge of tokens, computed on each scrape. */
function tokensOf(levels: () => ReadonlyMap<ArmBucket, number>, registers: Registry[]): Gauge {
  return new Gauge({
    name: 'joiner_arm_bucket_tokens',
    help: 'Requests that this process may send at once, by bucket: its share of what Azure grants.',
    labelNames: ['bucket'],
    registers,
    collect() {
      for (const [bucket, tokens] of levels()) this.set({ bucket }, tokens)
    },
  })
}
