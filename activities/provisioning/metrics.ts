import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import { isTrue } from '../../core/conditions.ts'
import type { Pod } from '../../core/objects.ts'
import { labels } from '../../core/requirements/labels.ts'
import type { PlannedNodeClaim } from '../../core/scheduling/snapshot.ts'
import { stateNodes } from '../../core/scheduling/state-nodes.ts'
import type { ClusterCache } from '../kubernetes/cache/cluster-cache.ts'
import { keyOf } from '../kubernetes/cache/object-key.ts'
import type { ThreadPlan } from '../scheduler-thread/keyed-plan.ts'
import { durationBuckets } from '../telemetry/buckets.ts'
import type { GaugeFamily } from '../telemetry/gauge-family.ts'
import { hasStarted, type PodWaits, waitsFromPlan } from '../telemetry/pod-waits.ts'

/** The name that upstream's provisioner has in its metrics. */
const controller = 'provisioner'

interface Waiting {
  readonly pod: Pod
  readonly sinceMs: number
  isDecided: boolean
}

/** A running pass; its start is in epoch ms. */
interface Pass {
  readonly startedAt: number
  readonly pods: number
}

/** The scheduler's and the provisioner's metrics, by the names that Karpenter gives them (reference/karpenter-core.md 6.1). */
export class PlanningMetrics {
  readonly #now: () => number
  readonly #cache: ClusterCache
  readonly #all: ReturnType<typeof create>
  /** Pods that need a place, by UID, since they were first seen to. */
  readonly #waiting = new Map<string, Waiting>()
  /** When a plan first had a place for a pod in a healthy pool, by UID in epoch ms, until the pod is ready. Another plan resets this. */
  readonly #plannedAt = new Map<string, number>()
  readonly #waits: readonly PodWaits[]
  /** Running passes, by id. */
  readonly #passes = new Map<string, Pass>()

  constructor({ cache, now }: { readonly cache: ClusterCache; readonly now: () => number }, registry: Registry) {
    this.#now = now
    this.#cache = cache
    this.#all = create(registry)
    observeCluster(cache, now, registry)
    observePasses(this.#passes, now, [registry])
    undecidedTime(this.#waiting, now, registry)
    this.#waits = waitsFromPlan({ now, plannedAt: ({ metadata }) => this.#plannedAt.get(metadata.uid) }, registry)
    cache.onChange(({ kind, before, after }) => {
      if (kind === 'Pod') this.#podChanged(before as Pod | undefined, after as Pod | undefined)
    })
  }

  /** Records pods that newly need a place, and forgets those that no longer do. */
  waiting(pods: readonly Pod[]): void {
    const present = new Set(pods.map(({ metadata }) => metadata.uid))
    for (const uid of this.#waiting.keys()) if (!present.has(uid)) this.#waiting.delete(uid)
    for (const pod of pods) {
      if (this.#waiting.has(pod.metadata.uid)) continue
      this.#waiting.set(pod.metadata.uid, { pod, sinceMs: this.#now(), isDecided: false })
    }
  }

  /** Returns since when the longest undecided of these pods has waited, in epoch ms: now if none has. */
  undecidedSince(pods: readonly Pod[]): number {
    let since = this.#now()
    for (const { metadata } of pods) {
      const waiting = this.#waiting.get(metadata.uid)
      if (waiting !== undefined && !waiting.isDecided) since = Math.min(since, waiting.sinceMs)
    }
    return since
  }

  /** Records the start of a pass. Returns the function that records its end. */
  passBegins(id: string, pods: number): () => void {
    const startedAt = this.#now()
    this.#passes.set(id, { startedAt, pods })
    return () => {
      this.#all.duration.observe({ controller }, (this.#now() - startedAt) / 1000)
      this.#passes.delete(id)
    }
  }

  /** Records the result of a pass. */
  passed({ newNodeClaims, existing, unschedulable, ignored, zones }: ThreadPlan): void {
    this.#all.ignored.set(ignored)
    this.#all.unschedulable.set({ controller }, unschedulable.length - ignored)
    this.#all.byZone.reset()
    for (const [zone, pods] of zones) this.#all.byZone.set({ controller, zone }, pods)
    for (const { nodePool, pods } of newNodeClaims) this.#placed(pods, nodePool)
    for (const { node, nodeClaim, pods } of existing) this.#placed(pods, this.#poolOf(node, nodeClaim))
    for (const { pod } of unschedulable) this.#plannedAt.delete(pod.metadata.uid)
    const placed = [...newNodeClaims, ...existing].flatMap(({ pods }) => pods)
    for (const pod of [...placed, ...unschedulable.map((one) => one.pod)]) this.#decided(pod)
  }

  #poolOf(node: string, nodeClaim = ''): string | undefined {
    const found = this.#cache.nodeClaims.get(nodeClaim) ?? this.#cache.nodes.get(node)
    return found?.metadata.labels[labels.nodePool]
  }

  /** A wait counts from the first plan with a pool whose nodes join. A pod that is planned for a sick pool by now has no such plan any more. */
  #placed(pods: readonly Pod[], nodePool = ''): void {
    const isHealthy = isTrue(this.#cache.nodePools.get(nodePool)?.conditions ?? [], 'NodeRegistrationHealthy')
    for (const { metadata, nodeName } of pods) {
      if (nodeName !== undefined) continue
      // A pod that went or started during the pass would never be removed.
      const current = this.#cache.pods.get(keyOf(metadata))
      if (!isHealthy) this.#plannedAt.delete(metadata.uid)
      else if (current?.metadata.uid === metadata.uid && !hasStarted(current) && !this.#plannedAt.has(metadata.uid))
        this.#plannedAt.set(metadata.uid, this.#now())
    }
  }

  /** The gauges of pods that this process has planned and that have not started. */
  families(): readonly GaugeFamily[] {
    return this.#waits.map((wait) => wait.family())
  }

  #podChanged(before: Pod | undefined, after: Pod | undefined): void {
    for (const wait of this.#waits) wait.changed(before, after)
    if (after === undefined || hasStarted(after)) this.#plannedAt.delete((after ?? before)?.metadata.uid ?? '')
  }

  /** Counts a created NodeClaim: for pods, or to replace others for a reason such as `drifted`. */
  created({ nodePool, minValuesRelaxed = false }: PlannedNodeClaim, reason = 'provisioned'): void {
    this.#all.created.inc({ reason, nodepool: nodePool, min_values_relaxed: String(minValuesRelaxed) })
  }

  /** Counts a planned NodeClaim that the API server refused. */
  refused({ nodePool }: PlannedNodeClaim): void {
    this.#all.refused.inc({ nodepool: nodePool })
  }

  #decided({ metadata: { uid } }: Pod): void {
    const waiting = this.#waiting.get(uid)
    if (waiting === undefined || waiting.isDecided) return
    waiting.isDecided = true
    this.#all.decision.observe((this.#now() - waiting.sinceMs) / 1000)
  }
}

function undecidedTime(waiting: ReadonlyMap<string, Waiting>, now: () => number, registry: Registry): Gauge {
  return new Gauge({
    name: 'karpenter_pods_provisioning_scheduling_undecided_time_seconds',
    help: 'Time for which a pod has waited for its first scheduling decision.',
    labelNames: ['name', 'namespace'],
    registers: [registry],
    collect() {
      this.reset()
      for (const { pod, sinceMs, isDecided } of waiting.values()) {
        const { name, namespace = 'default' } = pod.metadata
        if (!isDecided) this.set({ name, namespace }, (now() - sinceMs) / 1000)
      }
    },
  })
}

function create(registry: Registry) {
  const registers = [registry]
  return {
    duration: new Histogram({
      name: 'karpenter_scheduler_scheduling_duration_seconds',
      help: 'Duration of a pass of the scheduler, from the snapshot of the cluster to the plan.',
      labelNames: ['controller'],
      buckets: durationBuckets,
      registers,
    }),
    ignored: new Gauge({
      name: 'karpenter_scheduler_ignored_pods_count',
      help: 'Pods that the last pass left out because they are not valid, or must not run on nodes of Karpenter.',
      registers,
    }),
    unschedulable: new Gauge({
      name: 'karpenter_scheduler_unschedulable_pods_count',
      help: 'Pods for which the last pass found no place.',
      labelNames: ['controller'],
      registers,
    }),
    byZone: new Gauge({
      name: 'karpenter_scheduler_pending_pods_by_effective_zone_count',
      help: 'Pods of the last pass by the zone that they and their volumes allow: its name, flexible, or none.',
      labelNames: ['controller', 'zone'],
      registers,
    }),
    decision: new Histogram({
      name: 'karpenter_pods_scheduling_decision_duration_seconds',
      help: 'Time from seeing that a pod needs a place to the first decision about it.',
      buckets: durationBuckets,
      registers,
    }),
    created: new Counter({
      name: 'karpenter_nodeclaims_created_total',
      help: 'NodeClaims that were created.',
      labelNames: ['reason', 'nodepool', 'min_values_relaxed'],
      registers,
    }),
    refused: new Counter({
      name: 'joiner_nodeclaims_refused_total',
      help: 'Planned NodeClaims that the API server refused.',
      labelNames: ['nodepool'],
      registers,
    }),
  }
}

/** Gauges of running passes, computed on each scrape. Between two passes there is a zero without an id, as a pass is seldom met by a scrape. */
function observePasses(passes: ReadonlyMap<string, Pass>, now: () => number, registers: Registry[]): void {
  const observe = (name: string, help: string, value: (pass: Pass) => number) =>
    new Gauge({
      name: `karpenter_scheduler_${name}`,
      help,
      labelNames: ['controller', 'scheduling_id'],
      registers,
      collect() {
        this.reset()
        if (passes.size === 0) this.set({ controller }, 0)
        for (const [id, pass] of passes) this.set({ controller, scheduling_id: id }, value(pass))
      },
    })
  observe('queue_depth', 'Pods that a running pass has to place.', ({ pods }) => pods)
  observe(
    'unfinished_work_seconds',
    'Time for which a running pass has been at work.',
    ({ startedAt }) => (now() - startedAt) / 1000,
  )
}

/** Registers the gauges of the cluster state (reference/karpenter-core.md 6.1), which are computed on each scrape. `now`: epoch ms. */
function observeCluster(cache: ClusterCache, now: () => number, registry: Registry): void {
  const startedAt = now()
  const isSynced = () => cache.unsynced.length === 0
  const observe = (name: string, help: string, value: () => number) =>
    new Gauge({
      name: `karpenter_cluster_state_${name}`,
      help,
      registers: [registry],
      collect() {
        this.set(value())
      },
    })
  observe(
    'node_count',
    'Nodes and NodeClaims without a Node that are known.',
    () => stateNodes({ nodes: [...cache.nodes.values()], nodeClaims: [...cache.nodeClaims.values()] }).length,
  )
  observe('synced', 'Whether every watch of this process has its first list.', () => Number(isSynced()))
  observe('unsynced_time_seconds', 'Time for which the watches have not had their first list.', () =>
    isSynced() ? 0 : (now() - startedAt) / 1000,
  )
}
