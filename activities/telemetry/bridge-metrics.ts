import { Counter, type Registry } from 'prom-client'
import { WorkQueueMetrics } from './work-queue-metrics.ts'

/** Metrics of a process that turns watch events into signals. */
export interface BridgeMetrics {
  readonly queue: WorkQueueMetrics
  /** Counts workflow runs that were terminated because this version cannot replay them. */
  readonly restarted: (runs: number) => void
}

/** Creates the metrics. `now` is in epoch ms. */
export function bridgeMetrics(now: () => number, registry: Registry): BridgeMetrics {
  const restarted = new Counter({
    name: 'joiner_workflow_runs_restarted_total',
    help: 'Workflow runs that this version could not replay, and that were started again.',
    registers: [registry],
  })
  return { queue: new WorkQueueMetrics('bridge', now, registry), restarted: (runs) => restarted.inc(runs) }
}
