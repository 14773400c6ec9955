import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import { type Decision, type DisruptionMethod, methodFacts, methodNames } from '../../core/disruption/command.ts'
import type { NodeClaim, NodePool } from '../../core/objects.ts'
import { labels } from '../../core/requirements/labels.ts'
import { durationMs } from '../../core/values/duration.ts'
import { durationBuckets } from '../telemetry/buckets.ts'
import { snakeCase } from '../telemetry/snake-case.ts'

/** The part of a command that its metrics show. */
interface CommandFacts {
  readonly method: DisruptionMethod
  readonly decision: Decision
}

/** A node that is deleted, for a command or for another reason such as `expired`. */
interface DisruptedNode {
  readonly nodeClaim: NodeClaim
  /** The method of its command; a reason of upstream's list where there is no command. */
  readonly why: { readonly method: DisruptionMethod } | { readonly reason: string }
  /** Unset when the pool is gone. */
  readonly policy?: NodePool['disruption']['consolidationPolicy'] | undefined
  /** Pods that have to go elsewhere. */
  readonly reschedulablePods: number
}

/** How a proposal ended: begun, or rejected by the live validation. */
type ProposalOutcome = 'committed' | 'rejected'

/** A move without any disruption has an infinite score; the sum of the histogram must stay finite. */
const mostScore = 1000

/**
 * Metrics of disruption as it happens, by Karpenter's names and with the labels of 1.15 (reference/karpenter-core.md 6.1,
 * reference/karpenter-1.15.md 6). Budgets, commands in flight and costs are computed on each scrape: `budget-metrics.ts`,
 * `node-pool-cost.ts`.
 */
export class DisruptionMetrics {
  readonly #all: ReturnType<typeof create>

  constructor(registry: Registry) {
    this.#all = create(registry)
  }

  /** Sets what alerts watch to zero, so that its first increase is seen. Called in processes that plan. */
  startAtZero(): void {
    for (const method of methodNames) {
      this.#all.failedValidations.inc({ consolidation_type: labelsOf(method).consolidation_type }, 0)
      for (const decision of ['delete', 'replace'] as const) {
        this.#all.decisions.inc({ decision, ...labelsOf(method) }, 0)
        this.#all.queueFailures.inc({ decision, ...labelsOf(method) }, 0)
      }
    }
  }

  /** Measures a method's search for a command in milliseconds, whether it found one or not. */
  evaluated(method: DisruptionMethod, ms: number): void {
    this.#all.evaluation.observe(labelsOf(method), ms / 1000)
  }

  /** Sets the number of a method's candidates, before budgets. Multi-node and single-node share their reason, as upstream: the later one stays. */
  eligible(method: DisruptionMethod, nodes: number): void {
    this.#all.eligible.set({ reason: labelsOf(method).reason }, nodes)
  }

  /** Counts a begun command: its candidates are marked and its replacements created. Each pool among the candidates counts once. */
  decided({ method, decision }: CommandFacts, nodePools: Iterable<string>): void {
    const of = { decision, ...labelsOf(method) }
    this.#all.decisions.inc(of)
    for (const nodepool of new Set(nodePools)) this.#all.decisionsByPool.inc({ nodepool, ...of })
  }

  /** Counts the failed candidates of a proposal that did not hold after the validation delay. */
  validationFailed(method: DisruptionMethod, candidates: number): void {
    this.#all.failedValidations.inc({ consolidation_type: methodFacts[method].consolidationType }, candidates)
  }

  /** Counts the uninitialized replacements of a command that was undone. */
  queueFailed({ method, decision }: CommandFacts, uninitialized: number): void {
    this.#all.queueFailures.inc({ decision, ...labelsOf(method) }, uninitialized)
  }

  /** Counts a NodeClaim that was deleted for one of the reasons that upstream counts. Only consolidation names the pool's policy. */
  disrupted({ nodeClaim, why, policy, reschedulablePods }: DisruptedNode): void {
    const { reason, consolidation_type: type } =
      'method' in why ? labelsOf(why.method) : { ...why, consolidation_type: '' as const }
    const of = {
      reason,
      nodepool: nodeClaim.metadata.labels[labels.nodePool] ?? '',
      capacity_type: nodeClaim.metadata.labels[labels.capacityType] ?? '',
      consolidation_policy: type === '' || policy === undefined ? '' : snakeCase(policy),
      termination_mode: terminationMode(nodeClaim),
    }
    this.#all.disrupted.inc(of)
    this.#all.pods.inc(of, reschedulablePods)
  }

  /** Counts a consolidation judged by its pool's policy. Only Balanced gives a score, which may be infinite. */
  scored({
    decision,
    nodePool,
    policy,
    score,
  }: {
    readonly decision: 'approved' | 'rejected'
    readonly nodePool: string
    readonly policy: NodePool['disruption']['consolidationPolicy']
    readonly score?: number
  }): void {
    const of = { decision, nodepool: nodePool, policy }
    this.#all.moves.inc(of)
    if (score !== undefined) this.#all.score.observe(of, Math.min(score, mostScore))
  }

  /** Counts what a pool saves by a finished command, in USD an hour. An increase, as by drift, is not counted. */
  saved(method: DisruptionMethod, nodePool: string, dollarsPerHour: number): void {
    const { reason } = labelsOf(method)
    this.#all.savings.inc({ nodepool: nodePool, reason }, Math.max(0, dollarsPerHour))
  }

  /** Counts a proposal that ended. */
  proposed(method: DisruptionMethod, outcome: ProposalOutcome): void {
    this.#all.proposals.inc({ ...labelsOf(method), outcome })
  }
}

/** Returns upstream's labels of a method. The type of drift, which is no consolidation, is empty (reference/karpenter-core.md 4.1). */
function labelsOf(method: DisruptionMethod) {
  const { reason, consolidationType } = methodFacts[method]
  return { reason: reason.toLowerCase(), consolidation_type: consolidationType }
}

/** Returns whether a drain is unbounded, bounded by a time, or gets no time at all (reference/karpenter-core.md 6.1). */
function terminationMode({ spec }: NodeClaim): 'graceful' | 'eventual' | 'forceful' {
  const grace = durationMs(spec.terminationGracePeriod)
  if (grace === undefined) return 'graceful'
  return grace > 0 ? 'eventual' : 'forceful'
}

const ofMethod = ['reason', 'consolidation_type'] as const
const ofCommand = ['decision', ...ofMethod] as const
const ofNode = ['reason', 'nodepool', 'capacity_type', 'consolidation_policy', 'termination_mode'] as const
const ofMove = ['decision', 'nodepool', 'policy'] as const

function create(registry: Registry) {
  const counter = <Label extends string>(name: string, labelNames: readonly Label[], help: string) =>
    new Counter({ name, help, labelNames, registers: [registry] })
  const gauge = <Label extends string>(name: string, labelNames: readonly Label[], help: string) =>
    new Gauge({ name, help, labelNames, registers: [registry] })
  const voluntary = 'karpenter_voluntary_disruption'
  return {
    evaluation: new Histogram({
      name: `${voluntary}_decision_evaluation_duration_seconds`,
      help: 'Duration of the search for a command, by method.',
      labelNames: ofMethod,
      buckets: durationBuckets,
      registers: [registry],
    }),
    eligible: gauge(`${voluntary}_eligible_nodes`, ['reason'], 'Nodes that could be disrupted for a reason.'),
    decisions: counter(`${voluntary}_decisions_total`, ofCommand, 'Disruption commands that were begun.'),
    decisionsByPool: counter(
      `${voluntary}_decisions_by_nodepool_total`,
      ['nodepool', ...ofCommand],
      'Disruption commands that were begun, by NodePool.',
    ),
    failedValidations: counter(
      `${voluntary}_failed_validations_total`,
      ['consolidation_type'],
      'Candidates of consolidations that did not hold when they were looked at again.',
    ),
    queueFailures: counter(
      `${voluntary}_queue_failures_total`,
      ofCommand,
      'Replacements that were not initialized when their command was undone.',
    ),
    disrupted: counter('karpenter_nodeclaims_disrupted_total', ofNode, 'NodeClaims that were disrupted.'),
    pods: counter(
      'karpenter_pods_disruption_initiated_total',
      ofNode,
      'Pods that had to go elsewhere when their node was disrupted.',
    ),
    ...scores(registry),
    savings: counter(
      'joiner_disruption_savings_dollars_per_hour_total',
      ['nodepool', 'reason'],
      'What finished commands took off the cost of a NodePool, in USD an hour.',
    ),
    proposals: counter(
      'joiner_disruption_proposals_total',
      [...ofMethod, 'outcome'],
      'Proposed disruptions by how they ended: committed, or rejected by the last look at the cluster.',
    ),
  }
}

/** Of consolidations under the policy Balanced. */
function scores(registry: Registry) {
  const registers = [registry]
  return {
    score: new Histogram({
      name: 'karpenter_consolidation_score',
      help: 'Score of a consolidation under the policy Balanced: the share of the cost that it saves, by the share of the disruption that it causes.',
      labelNames: ofMove,
      buckets: [0.1, 0.25, 0.33, 0.5, 1, 2, 5, 10],
      registers,
    }),
    moves: new Counter({
      name: 'karpenter_consolidation_moves_total',
      help: 'Consolidations of single nodes that were judged.',
      labelNames: ofMove,
      registers,
    }),
  }
}
