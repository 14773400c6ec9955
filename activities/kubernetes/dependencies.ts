import type { Logger } from 'pino'
import type { NodeRules } from '../../core/node-claim/node-health.ts'
import type { DisruptionMetrics } from '../disruption/metrics.ts'
import type { LifecycleMetrics } from '../telemetry/lifecycle-metrics.ts'
import type { Tracing } from '../telemetry/tracing.ts'
import type { ClusterCache } from './cache/cluster-cache.ts'
import type { KubernetesClient } from './client/client.ts'
import type { EventRecorder } from './event-recorder.ts'

/** What every Kubernetes activity works with; made once per process. */
export interface KubernetesDeps {
  readonly client: KubernetesClient
  readonly cache: ClusterCache
  readonly events: EventRecorder
  readonly log: Logger
  readonly lifecycleMetrics: LifecycleMetrics
  readonly disruptionMetrics: DisruptionMetrics
  readonly tracing: Tracing
  /** Epoch milliseconds. */
  readonly now: () => number
  readonly cluster: string
  /** Namespace of Joiner's own ConfigMaps and Leases. */
  readonly namespace: string
  /** What of a Node's conditions ends its NodeClaim. */
  readonly nodeRules: NodeRules
}
