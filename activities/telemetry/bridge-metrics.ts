import { Counter, Gauge, type Registry } from 'prom-client'
import { WorkQueueMetrics } from './work-queue-metrics.ts'

/** Metrics of a process that turns watch events into signals. */
export interface BridgeMetrics {
  readonly queue: WorkQueueMetrics
  /** Counts workflow runs that were terminated because this version cannot replay them. */
  readonly restarted: (runs: number) => void
  /** Counts what was done for a Node that joined while Temporal was away. */
  readonly joined: (step: 'registered' | 'initialized') => void
  /** Publishes how many objects in Temporal have each fault; none by a process that does not lead. */
  readonly found: (counts: ReadonlyMap<string, number>) => void
}

/** Creates the metrics. `now` is in epoch ms. */
export function bridgeMetrics(now: () => number, registry: Registry): BridgeMetrics {
  const restarted = new Counter({
    name: 'joiner_workflow_runs_restarted_total',
    help: 'Workflow runs that this version could not replay, and that were started again.',
    registers: [registry],
  })
  const joined = new Counter({
    name: 'joiner_nodes_joined_without_temporal_total',
    help: 'Nodes that the leader of the bridge registered or initialized, since Temporal did not answer.',
    labelNames: ['step'],
    registers: [registry],
  })
  for (const step of ['registered', 'initialized']) joined.inc({ step }, 0)
  const findings = new Gauge({
    name: 'joiner_temporal_findings',
    help: 'Objects in Temporal that are not as they should be, by their fault, as the leader of the bridge found them last.',
    labelNames: ['fault'],
    registers: [registry],
  })
  return {
    queue: new WorkQueueMetrics('bridge', now, registry),
    restarted: (runs) => restarted.inc(runs),
    joined: (step) => joined.inc({ step }),
    found: (counts) => {
      findings.reset()
      for (const [fault, count] of counts) findings.set({ fault }, count)
    },
  }
}
