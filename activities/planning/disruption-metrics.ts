import { Counter, Gauge, Histogram, type Registry, register } from 'prom-client'
import { durationMs } from '../../core/duration.ts'
import { labels } from '../../core/labels.ts'
import type { NodeClaim, NodePool } from '../../core/objects.ts'
import { durationBuckets } from './metrics.ts'

/** What upstream calls the kinds of consolidation; drift is none, and its label stays empty (reference/karpenter-core.md 4.1). */
type ConsolidationType = 'empty' | 'multi' | 'single' | ''

const methods = {
  emptiness: { reason: 'empty', consolidation_type: 'empty' },
  'static-drift': { reason: 'drifted', consolidation_type: '' },
  drift: { reason: 'drifted', consolidation_type: '' },
  'multi-node': { reason: 'underutilized', consolidation_type: 'multi' },
  'single-node': { reason: 'underutilized', consolidation_type: 'single' },
} as const satisfies Readonly<
  Record<string, { readonly reason: string; readonly consolidation_type: ConsolidationType }>
>

type Method = keyof typeof methods

/** As much of a command as its metrics tell. */
interface CommandFacts {
  readonly method: Method
  readonly decision: 'delete' | 'replace' | 'terminate-first'
}

/** A node that is deleted, for a command or for another reason such as `expired`. */
interface DisruptedNode {
  readonly nodeClaim: NodeClaim
  /** The method of its command; a reason of upstream's list where there is no command. */
  readonly why: { readonly method: Method } | { readonly reason: string }
  /** Absent: the pool is gone. */
  readonly policy?: NodePool['disruption']['consolidationPolicy'] | undefined
  /** Pods that have to go elsewhere. */
  readonly reschedulablePods: number
}

/** How a proposal ended before it was a command: begun, refused by the live look, or given up when a signal came. */
type ProposalOutcome = 'committed' | 'rejected' | 'abandoned'

/** A move without any disruption scores without bound; the sum of the histogram should stay a number. */
const mostScore = 1000

/** The metrics of disruption, by Karpenter's names and with the labels of 1.15 (reference/karpenter-core.md 6.1, karpenter-1.15.md 6). */
export class DisruptionMetrics {
  readonly #all: ReturnType<typeof create>

  constructor(registry: Registry = register) {
    this.#all = create(registry)
  }

  /** A method looked for a command, for so many milliseconds; whether it found one or not. */
  evaluated(method: Method, ms: number): void {
    this.#all.evaluation.observe(methods[method], ms / 1000)
  }

  /** So many nodes are candidates of a method, before budgets. Multi-node and single-node share their reason, as upstream: the later one stays. */
  eligible(method: Method, nodes: number): void {
    this.#all.eligible.set({ reason: methods[method].reason }, nodes)
  }

  /** A command was begun: its candidates are marked and its replacements created. Each pool among the candidates counts once. */
  decided({ method, decision }: CommandFacts, nodePools: Iterable<string>): void {
    const of = { decision, ...methods[method] }
    this.#all.decisions.inc(of)
    for (const nodepool of new Set(nodePools)) this.#all.decisionsByPool.inc({ nodepool, ...of })
  }

  /** A method ended at its time limit with what it had by then. */
  timedOut(method: Method): void {
    this.#all.timeouts.inc({ consolidation_type: methods[method].consolidation_type })
  }

  /** A proposal did not hold after the validation delay; counts its candidates that failed. */
  validationFailed(method: Method, candidates: number): void {
    this.#all.failedValidations.inc({ consolidation_type: methods[method].consolidation_type }, candidates)
  }

  /** A command was undone; counts its replacements that had not been initialized. */
  queueFailed({ method, decision }: CommandFacts, uninitialized: number): void {
    this.#all.queueFailures.inc({ decision, ...methods[method] }, uninitialized)
  }

  /** What a pool's budgets allow for a reason in all, and how many nodes use of it now. Reasons are those of budgets, such as `Empty`. */
  budget({
    nodePool,
    reason,
    allowed,
    consuming,
  }: {
    readonly nodePool: string
    readonly reason: string
    readonly allowed: number
    readonly consuming: number
  }): void {
    const of = { nodepool: nodePool, reason: reason.toLowerCase() }
    this.#all.allowed.set(of, allowed)
    this.#all.consuming.set(of, consuming)
  }

  /** A NodePool is gone: nothing is told of its budgets any more. */
  poolGone(nodePool: string): void {
    for (const { reason } of Object.values(methods)) {
      this.#all.allowed.remove({ nodepool: nodePool, reason })
      this.#all.consuming.remove({ nodepool: nodePool, reason })
    }
  }

  /** A NodeClaim was deleted for one of the reasons that upstream counts. Only consolidation names the pool's policy. */
  disrupted({ nodeClaim, why, policy, reschedulablePods }: DisruptedNode): void {
    const { reason, consolidation_type: type } =
      'method' in why ? methods[why.method] : { ...why, consolidation_type: '' as const }
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

  /** A consolidation was judged by its pool's policy. Only Balanced gives a score, which may be infinite. */
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

  /** The commands that run now, all of them. */
  inFlight(commands: Iterable<Pick<CommandFacts, 'method'>>): void {
    this.#all.inFlight.reset()
    for (const { method } of commands) this.#all.inFlight.inc(methods[method])
  }

  /** A command is done, and a pool costs so many USD an hour less than before. What costs more, as drift may, is not counted. */
  saved(method: Method, nodePool: string, dollarsPerHour: number): void {
    const { reason } = methods[method]
    this.#all.savings.inc({ nodepool: nodePool, reason }, Math.max(0, dollarsPerHour))
  }

  /** A proposal has come to its end. */
  proposed(method: Method, outcome: ProposalOutcome): void {
    this.#all.proposals.inc({ ...methods[method], outcome })
  }
}

/** Whether a drain is bounded: not at all, by a time, or by none at all (reference/karpenter-core.md 6.1). */
function terminationMode({ spec }: NodeClaim): 'graceful' | 'eventual' | 'forceful' {
  const grace = durationMs(spec.terminationGracePeriod)
  if (grace === undefined) return 'graceful'
  return grace > 0 ? 'eventual' : 'forceful'
}

/** `WhenEmpty` as `when_empty`. */
function snakeCase(text: string): string {
  return text.replace(/(?<=[a-z])(?=[A-Z])/g, '_').toLowerCase()
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
    timeouts: counter(
      `${voluntary}_consolidation_timeouts_total`,
      ['consolidation_type'],
      'Searches for a consolidation that ended at their time limit.',
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
    ...budgetGauges(gauge),
    disrupted: counter('karpenter_nodeclaims_disrupted_total', ofNode, 'NodeClaims that were disrupted.'),
    pods: counter(
      'karpenter_pods_disruption_initiated_total',
      ofNode,
      'Pods that had to go elsewhere when their node was disrupted.',
    ),
    score: new Histogram({
      name: 'karpenter_consolidation_score',
      help: 'Score of a consolidation under the policy Balanced: the share of the cost that it saves, by the share of the disruption that it causes.',
      labelNames: ofMove,
      buckets: [0.1, 0.25, 0.33, 0.5, 1, 2, 5, 10],
      registers: [registry],
    }),
    moves: counter('karpenter_consolidation_moves_total', ofMove, 'Consolidations of single nodes that were judged.'),
    inFlight: gauge('joiner_disruption_commands_in_flight', ofMethod, 'Disruption commands that are running.'),
    savings: counter(
      'joiner_disruption_savings_dollars_per_hour_total',
      ['nodepool', 'reason'],
      'What finished commands took off the cost of a NodePool, in USD an hour.',
    ),
    proposals: counter(
      'joiner_disruption_proposals_total',
      [...ofMethod, 'outcome'],
      'Proposed disruptions by how they ended: committed, rejected by the last look at the cluster, or abandoned.',
    ),
  }
}

function budgetGauges(gauge: <L extends string>(name: string, labelNames: readonly L[], help: string) => Gauge<L>) {
  return {
    allowed: gauge(
      'karpenter_nodepools_allowed_disruptions',
      ['nodepool', 'reason'],
      'Nodes that the budgets of a NodePool let be disrupted at once, those that are already included.',
    ),
    consuming: gauge(
      'karpenter_nodepools_nodes_consuming_budgets',
      ['nodepool', 'reason'],
      'Nodes of a NodePool that are being disrupted, deleted or not ready, and so use up its budgets.',
    ),
  }
}
