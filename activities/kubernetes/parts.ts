import type { Logger } from 'pino'
import type { NodeRules } from '../../core/node-claim/node-health.ts'
import type { RepairRule } from '../../core/node-repair/repair-policy.ts'
import type { DisruptionMetrics } from '../disruption/metrics.ts'
import type { LifecycleMetrics } from '../telemetry/lifecycle-metrics.ts'
import type { Tracing } from '../telemetry/tracing.ts'
import type { ClusterCache } from './cache/cluster-cache.ts'
import type { KubernetesClient } from './client/client.ts'
import type { OwnClock } from './client/server-time.ts'
import type { EventRecorder } from './event-recorder.ts'

/** What every role of a process works with. A function declares by `Pick` which of it it takes, so that a test makes no more than that. */
export interface Parts {
  readonly client: KubernetesClient
  readonly cache: ClusterCache
  readonly events: EventRecorder
  readonly log: Logger
  /** Epoch milliseconds. */
  readonly now: () => number
  readonly serverTime: OwnClock
  /** The namespace that Joiner runs in. */
  readonly namespace: string
  /** Name of the cluster. */
  readonly cluster: string
  readonly tracing: Tracing
  readonly lifecycleMetrics: LifecycleMetrics
  readonly disruptionMetrics: DisruptionMetrics
  readonly nodeRules: NodeRules
  /** By which sick nodes are repaired; empty while they are not (feature gate NodeRepair). */
  readonly repairPolicies: readonly RepairRule[]
  /** Whether static NodePools keep their replicas (feature gate StaticCapacity). */
  readonly staticCapacity: boolean
}

/** What a write of an object under its version takes. */
export type WriteDeps = Pick<Parts, 'client' | 'cache' | 'events' | 'now'>
