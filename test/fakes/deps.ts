import pino from 'pino'
import { Registry } from 'prom-client'
import { DisruptionMetrics } from '../../activities/disruption/metrics.ts'
import type { KubernetesActivityDeps } from '../../activities/kubernetes/activities.ts'
import { ServerTime } from '../../activities/kubernetes/client/server-time.ts'
import type { EventInput } from '../../activities/kubernetes/event-recorder.ts'
import { LifecycleMetrics } from '../../activities/telemetry/lifecycle-metrics.ts'
import { noTracing } from '../../activities/telemetry/tracing.ts'
import { noNodeRules } from '../../core/node-claim/node-health.ts'
import type { FakeCluster } from './cluster.ts'

/** Events as they were recorded, for a look at who was reported what. */
interface ReportedEvent {
  readonly reason: string
  readonly about: string
  readonly message: string
}

/** What Kubernetes activities work with, over a cluster in memory. */
export function kubernetesDeps(cluster: FakeCluster) {
  const reported: ReportedEvent[] = []
  const logged: string[] = []
  const registry = new Registry()
  const now = () => Date.now()
  const log = pino({ level: 'info' }, { write: (line: string) => void logged.push(line) })
  const events = {
    record: ({ reason, about, message }: EventInput) =>
      void reported.push({ reason, about: `${about.kind}/${about.metadata.name}`, message }),
    recordTransitions: () => {},
  }
  const deps: KubernetesActivityDeps & { readonly cluster: string } = {
    client: cluster.client,
    cache: cluster.cacheOf(),
    events: events as never,
    log,
    lifecycleMetrics: new LifecycleMetrics(now, registry),
    disruptionMetrics: new DisruptionMetrics(registry),
    tracing: noTracing,
    now,
    cluster: 'test',
    namespace: 'joiner',
    nodeRules: noNodeRules,
    repairPolicies: [],
    serverTime: new ServerTime({ log }),
  }
  return { deps, reported, logged, registry }
}

/** Lines of the metrics that begin like this. */
export async function metricLines(registry: Registry, start: string): Promise<readonly string[]> {
  return (await registry.metrics()).split('\n').filter((line) => line.startsWith(start))
}
