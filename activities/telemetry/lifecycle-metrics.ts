import { Counter, Histogram, type Registry, Summary } from 'prom-client'
import { conditionOf } from '../../core/conditions.ts'
import type { CommandRepair } from '../../core/disruption/command.ts'
import type { RebootFailure } from '../../core/node-repair/reboot.ts'
import type { Node, NodeClaim } from '../../core/objects.ts'
import { labels, terminationFinalizer } from '../../core/requirements/labels.ts'
import { doublingBuckets, lifetimeBuckets, summaryQuantiles } from './buckets.ts'
import { snakeCase } from './snake-case.ts'

/** Metrics of the lifecycles of NodeClaims and nodes, by Karpenter's names (reference/karpenter-core.md 6.1, counted as in 5.1, 5.4 to 5.6). */
export class LifecycleMetrics {
  readonly #all: ReturnType<typeof create>
  readonly #now: () => number

  constructor(now: () => number, registry: Registry) {
    this.#now = now
    this.#all = create(registry)
  }

  /** Counts a registered Node of a claim. */
  nodeCreated(claim: NodeClaim): void {
    this.#all.nodesCreated.inc(nodeLabels(claim))
  }

  /** Counts an answer to an eviction by its HTTP status; 200 whenever the pod goes. */
  evictionAnswered(code: number): void {
    this.#all.evictions.inc({ code: String(code) })
  }

  /** Counts a pod that was evicted because of the reason its node goes. */
  podDrained(reason: string): void {
    this.#all.podsDrained.inc({ reason })
  }

  /** Counts a claim that was deleted because a condition of its Node lasted too long. `boundMs`: how long its pods have to leave. */
  repaired(claim: NodeClaim, { condition, boundMs }: Pick<CommandRepair, 'condition' | 'boundMs'>): void {
    this.#all.repaired.inc({
      condition: snakeCase(condition),
      ...poolLabel(claim),
      capacity_type: claim.metadata.labels[labels.capacityType] ?? '',
      image_id: claim.status.imageId ?? '',
      termination_mode: boundMs === undefined ? 'graceful' : boundMs > 0 ? 'eventual' : 'forceful',
    })
  }

  /** Counts a reboot that ended, with its time since it was requested and since the restart. */
  rebooted(
    result: RebootFailure | 'succeeded',
    { totalMs, recoveryMs }: { readonly totalMs: number; readonly recoveryMs: number },
  ): void {
    this.#all.reboots.inc({ result })
    this.#all.rebootDuration.observe({ result }, totalMs / 1000)
    if (result === 'succeeded') this.#all.rebootRecovery.observe(recoveryMs / 1000)
  }

  /** Measures a drain: the last pod has left a claim's Node. */
  nodeDrained(claim: NodeClaim): void {
    this.#all.nodesDrained.inc(poolLabel(claim))
  }

  /** Measures the deletion of a claim's VM, which is gone, since the condition InstanceTerminating. */
  instanceTerminated(claim: NodeClaim): void {
    const since = conditionOf(claim.status.conditions, 'InstanceTerminating')?.lastTransitionTime
    if (since !== undefined) this.#all.instanceTermination.observe(poolLabel(claim), this.#secondsSince(since))
  }

  /** Counts a Node that lost its finalizer. A Node without one was counted earlier. */
  nodeTerminated(node: Node, claim: NodeClaim): void {
    if (!node.metadata.finalizers.includes(terminationFinalizer)) return
    this.#all.nodesTerminated.inc(nodeLabels(claim))
    const { creationTimestamp, deletionTimestamp } = node.metadata
    this.#all.lifetime.observe(poolLabel(claim), this.#secondsSince(creationTimestamp))
    if (deletionTimestamp !== undefined)
      this.#all.nodeTermination.observe(poolLabel(claim), this.#secondsSince(deletionTimestamp))
  }

  /** Counts a NodeClaim that lost its finalizer, likewise. */
  nodeClaimTerminated(claim: NodeClaim): void {
    if (!claim.metadata.finalizers.includes(terminationFinalizer)) return
    this.#all.claimsTerminated.inc({
      ...nodeLabels(claim),
      capacity_type: claim.metadata.labels[labels.capacityType] ?? '',
    })
    const { deletionTimestamp } = claim.metadata
    if (deletionTimestamp !== undefined)
      this.#all.claimTermination.observe(poolLabel(claim), this.#secondsSince(deletionTimestamp))
  }

  #secondsSince(time: string): number {
    return Math.max(0, (this.#now() - Date.parse(time)) / 1000)
  }
}

/** Seconds (reference/karpenter-1.15.md 6). */
const rebootBuckets = [10, 20, 40, 80, 160, 320, 640, 1280]

function poolLabel({ metadata }: NodeClaim) {
  return { nodepool: metadata.labels[labels.nodePool] ?? '' }
}

function nodeLabels(claim: NodeClaim) {
  return { ...poolLabel(claim), zone: claim.metadata.labels[labels.zone] ?? '' }
}

function create(registry: Registry) {
  return { ...metricsOfNodes(registry), ...metricsOfEnds(registry) }
}

const counterIn =
  (registry: Registry) =>
  <Label extends string>(name: string, labelNames: readonly Label[], help: string) =>
    new Counter({ name: `karpenter_${name}`, help, labelNames, registers: [registry] })

/** Of what becomes of nodes and NodeClaims, and of the repair of sick nodes. */
function metricsOfNodes(registry: Registry) {
  const registers = [registry]
  const counter = counterIn(registry)
  return {
    nodesCreated: counter('nodes_created_total', ['nodepool', 'zone'], 'Nodes that joined and were registered.'),
    nodesTerminated: counter('nodes_terminated_total', ['nodepool', 'zone'], 'Nodes that were drained and deleted.'),
    nodesDrained: counter('nodes_drained_total', ['nodepool'], 'Nodes that the last pod has left.'),
    claimsTerminated: counter(
      'nodeclaims_terminated_total',
      ['nodepool', 'capacity_type', 'zone'],
      'NodeClaims that have come to their end.',
    ),
    repaired: counter(
      'nodeclaims_unhealthy_disrupted_total',
      ['condition', 'nodepool', 'capacity_type', 'image_id', 'termination_mode'],
      'NodeClaims that were deleted because their Nodes were unhealthy.',
    ),
    reboots: counter(
      'nodes_reboots_total',
      ['result'],
      'Reboots of the VMs of sick nodes that ended, by their result.',
    ),
    rebootDuration: new Histogram({
      name: 'karpenter_nodes_reboot_duration_seconds',
      help: 'Time of a reboot since it was requested, by its result.',
      labelNames: ['result'],
      buckets: rebootBuckets,
      registers,
    }),
    rebootRecovery: new Histogram({
      name: 'karpenter_nodes_reboot_recovery_duration_seconds',
      help: 'Time from the restart of a VM to its node being ready.',
      buckets: rebootBuckets,
      registers,
    }),
  }
}

/** Of drains, and of how long the ends of nodes take. */
function metricsOfEnds(registry: Registry) {
  const registers = [registry]
  const counter = counterIn(registry)
  const histogram = (name: string, buckets: number[], help: string) =>
    new Histogram({ name: `karpenter_${name}`, help, labelNames: ['nodepool'] as const, buckets, registers })
  return {
    evictions: counter(
      'pods_eviction_requests_total',
      ['code'],
      'Evictions that were asked for, by the HTTP status of the answer.',
    ),
    podsDrained: counter(
      'pods_drained_total',
      ['reason'],
      'Pods that were evicted because their node goes, by why it goes.',
    ),
    instanceTermination: histogram(
      'nodeclaims_instance_termination_duration_seconds',
      doublingBuckets(1, 11),
      'Time from the deletion of a VM being asked for to the VM being gone.',
    ),
    claimTermination: histogram(
      'nodeclaims_termination_duration_seconds',
      doublingBuckets(1, 12),
      'Time from the deletion of a NodeClaim being asked for to its end.',
    ),
    lifetime: histogram('nodes_lifetime_duration_seconds', lifetimeBuckets, 'Age of nodes at their end.'),
    nodeTermination: new Summary({
      name: 'karpenter_nodes_termination_duration_seconds',
      help: 'Time from the deletion of a Node being asked for to its end.',
      labelNames: ['nodepool'],
      percentiles: summaryQuantiles,
      maxAgeSeconds: 600,
      ageBuckets: 5,
      registers,
    }),
  }
}
