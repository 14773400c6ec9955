import type { Logger } from 'pino'
import type { KubernetesClient } from './client.ts'
import type { ClusterCache } from './cluster-cache.ts'
import type { EventRecorder } from './event-recorder.ts'

/** What every Kubernetes activity works with; made once per process. */
export interface KubernetesDeps {
  readonly client: KubernetesClient
  readonly cache: ClusterCache
  readonly events: EventRecorder
  readonly log: Logger
  /** Epoch milliseconds. */
  readonly now: () => number
  readonly cluster: string
  /** Namespace of Joiner's own ConfigMaps and Leases. */
  readonly namespace: string
}
