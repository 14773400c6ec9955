import { stringify } from 'yaml'

/** Every NodeClaim that lacks a condition, with the time for which it has. */
const without = (types: string) =>
  `operator_nodeclaim_status_condition_current_status_seconds{type=~"${types}", status!="True"}`

/** Errors of Azure that another choice of size or zone does not avoid. */
const unexpectedErrors = 'error!~"InsufficientCapacityError|NodeClassNotReadyError"'

const nodes: readonly Alert[] = [
  {
    name: 'JoinerNodePoolAtLimit',
    severity: 'warning',
    expr: () =>
      'max by (nodepool, resource_type) (karpenter_nodepools_usage) / max by (nodepool, resource_type) (karpenter_nodepools_limit) >= 0.95',
    forMinutes: 15,
    summary:
      'NodePool {{ $labels.nodepool }} uses {{ $value | humanizePercentage }} of its limit of {{ $labels.resource_type }}',
  },
  {
    name: 'JoinerNodePoolWithoutOfferings',
    severity: 'critical',
    expr: () => 'max by (nodepool) (joiner_nodepools_launchable_offerings) == 0',
    forMinutes: 5,
    summary:
      'No offering that NodePool {{ $labels.nodepool }} allows can be launched: Azure refused them, quota is used up, or they are not sold',
  },
  {
    name: 'JoinerNodesNotInitialized',
    severity: 'warning',
    expr: ({ seconds }) =>
      `max by (name, karpenter_sh_nodepool) (${without('Initialized')}) > ${seconds(15)} unless on (name) operator_nodeclaim_termination_current_time_seconds`,
    forMinutes: 5,
    summary:
      'NodeClaim {{ $labels.name }} of NodePool {{ $labels.karpenter_sh_nodepool }} is not initialized after {{ $value | humanizeDuration }}',
  },
  {
    name: 'JoinerLifecycleStuck',
    severity: 'warning',
    expr: ({ seconds }) =>
      `max by (name, type) (${without('Launched|Registered')}) > ${seconds(20)} or label_replace(max by (name) (operator_nodeclaim_termination_current_time_seconds) > ${seconds(120)}, "type", "Terminated", "", "")`,
    forMinutes: 5,
    summary: 'NodeClaim {{ $labels.name }} has not become {{ $labels.type }} for {{ $value | humanizeDuration }}',
  },
  {
    name: 'JoinerPodsPending',
    severity: 'critical',
    expr: ({ seconds }) =>
      `count by (namespace) (max by (namespace, name) (karpenter_pods_unbound_time_seconds) > ${seconds(15)})`,
    forMinutes: 5,
    summary: '{{ $value }} pods of namespace {{ $labels.namespace }} have had no node for more than 15 minutes',
  },
  {
    name: 'JoinerGarbageCollected',
    severity: 'warning',
    expr: ({ range }) => `sum by (resource) (increase(joiner_garbage_collected_total[${range(60)}])) > 0`,
    forMinutes: 0,
    summary: 'Garbage collection deleted a {{ $labels.resource }} that no lifecycle had cleaned up',
  },
]

const azure: readonly Alert[] = [
  {
    name: 'JoinerCloudProviderErrors',
    severity: 'warning',
    expr: ({ range }) =>
      `sum by (method, error) (increase(karpenter_cloudprovider_errors_total{${unexpectedErrors}}[${range(15)}])) > 3`,
    forMinutes: 5,
    summary: 'Azure answered {{ $labels.method }} with {{ $labels.error }} {{ $value | humanize }} times in 15 minutes',
  },
  {
    name: 'JoinerArmThrottled',
    severity: 'warning',
    expr: ({ range }) => `sum by (bucket) (increase(joiner_arm_throttled_total[${range(15)}])) > 20`,
    forMinutes: 5,
    summary: 'Azure refused {{ $value | humanize }} requests of the bucket {{ $labels.bucket }} with 429 in 15 minutes',
  },
]

const disruption: readonly Alert[] = [
  {
    name: 'JoinerConsolidationStuck',
    severity: 'warning',
    expr: ({ range }) =>
      [
        'max(karpenter_voluntary_disruption_eligible_nodes{reason="empty"} and on (job, instance) leader_election_master_status{name="joiner-planner"} == 1) > 0',
        'and on () max(karpenter_nodepools_allowed_disruptions{reason="empty"}) > 0',
        `unless on () sum(increase(karpenter_voluntary_disruption_decisions_total{reason="empty"}[${range(60)}])) > 0`,
      ].join(' '),
    forMinutes: 60,
    summary:
      '{{ $value }} empty nodes stay, although budgets allow their disruption and none was disrupted for an hour',
  },
  {
    name: 'JoinerReplacementsFail',
    severity: 'warning',
    expr: ({ range }) =>
      `sum by (reason) (increase(karpenter_voluntary_disruption_queue_failures_total[${range(60)}])) > 3`,
    forMinutes: 0,
    summary: '{{ $value | humanize }} replacements for nodes that are {{ $labels.reason }} did not come in an hour',
  },
]

const roles = ['core', 'azure', 'planner', 'bridge', 'conversion'] as const

const processes: readonly Alert[] = [
  {
    name: 'JoinerReplicaDown',
    severity: 'warning',
    expr: ({ range }) =>
      `up == 0 and on (job, instance) max by (job, instance) (last_over_time(karpenter_build_info[${range(1440)}]))`,
    forMinutes: 5,
    summary: 'The process of Joiner at {{ $labels.instance }} does not answer',
  },
  {
    name: 'JoinerRoleMissing',
    severity: 'critical',
    expr: () =>
      [
        'max by (role) (joiner_process_ready) == 0',
        ...roles.map((role) => `absent(joiner_process_ready{role="${role}"})`),
      ].join(' or '),
    forMinutes: 5,
    summary: 'No process with the role {{ $labels.role }} is ready',
  },
  {
    name: 'JoinerNoLeader',
    severity: 'critical',
    expr: () => 'sum by (name) (leader_election_master_status{name=~"joiner-.*"}) == 0',
    forMinutes: 5,
    summary: 'No process holds the Lease {{ $labels.name }}',
  },
  {
    name: 'JoinerPassStuck',
    severity: 'critical',
    expr: ({ seconds }) => `max(karpenter_scheduler_unfinished_work_seconds) > ${seconds(3)}`,
    forMinutes: 2,
    summary: 'A pass of the scheduler has run for {{ $value | humanizeDuration }}',
  },
  {
    name: 'JoinerClockWrong',
    severity: 'warning',
    expr: () => 'max by (job, instance) (abs(joiner_clock_off_seconds)) > 60',
    forMinutes: 5,
    summary:
      'The clock of the process of Joiner at {{ $labels.instance }} is {{ $value | humanizeDuration }} off: by it no node expires and none is repaired',
  },
  {
    name: 'JoinerMemoryNearLimit',
    severity: 'warning',
    expr: () => 'process_resident_memory_bytes / on (job, instance) joiner_process_memory_limit_bytes > 0.9',
    forMinutes: 10,
    summary: 'The process of Joiner at {{ $labels.instance }} uses {{ $value | humanizePercentage }} of its memory',
  },
  {
    name: 'JoinerQuarantineNotEmpty',
    severity: 'warning',
    expr: () => 'max by (kind) (joiner_quarantined_objects) > 0',
    forMinutes: 0,
    summary:
      '{{ $value }} objects of kind {{ $labels.kind }} are left out of planning, since they crashed the scheduler',
  },
]

const temporal: readonly Alert[] = [
  {
    name: 'JoinerTemporalUnreachable',
    severity: 'critical',
    expr: () => 'min by (job, instance) (joiner_temporal_reachable) == 0',
    forMinutes: 3,
    summary: 'The process of Joiner at {{ $labels.instance }} cannot use Temporal',
  },
  {
    name: 'JoinerWorkflowsRestarted',
    severity: 'warning',
    expr: ({ range }) => `sum(increase(joiner_workflow_runs_restarted_total[${range(60)}])) > 0`,
    forMinutes: 0,
    summary: '{{ $value | humanize }} workflow runs could not be replayed by this version and were started again',
  },
  {
    name: 'JoinerTemporalFindings',
    severity: 'warning',
    // Both last: an identity that may not read something, and an old server, are known to who runs them.
    expr: () => 'max by (fault) (joiner_temporal_findings{fault!~"not allowed|server too old"}) > 0',
    forMinutes: 5,
    summary: 'In Temporal {{ $value }} objects of Joiner are not as they should be: {{ $labels.fault }}',
  },
]

/** All alerts, by the group of Prometheus that they are evaluated in. */
export const alertGroups: ReadonlyMap<string, readonly Alert[]> = new Map([
  ['joiner-nodes', nodes],
  ['joiner-azure', azure],
  ['joiner-disruption', disruption],
  ['joiner-processes', processes],
  ['joiner-temporal', temporal],
])

/** Stands in the chart's file for where runbooks are, which the chart's values name. */
const runbooksPlaceholder = 'RUNBOOKS'

/** Returns the rules as Prometheus and PrometheusRule have them: `groups` at the top. */
export function rulesText(durations: Durations = realDurations): string {
  const groups = [...alertGroups].map(([name, alerts]) => ({
    name,
    rules: alerts.map(({ name: alert, expr, forMinutes, severity, summary }) => ({
      alert,
      expr: expr(durations),
      ...(forMinutes === 0 ? {} : { for: durations.range(forMinutes) }),
      labels: { severity },
      annotations: { summary, runbook_url: `${runbooksPlaceholder}#${alert.toLowerCase()}` },
    })),
  }))
  return stringify({ groups }, { lineWidth: 0 })
}

/** How much sleep an alert is worth: `critical` wakes somebody, `warning` waits for the morning. */
type Severity = 'critical' | 'warning'

/** Durations of alerts: `range` of a selector and of `for`, and `seconds` of a threshold. A test runs through them sixty times as fast. */
interface Durations {
  readonly range: (minutes: number) => string
  readonly seconds: (minutes: number) => number
}

/** An alert. Its runbook is the section of its name in `docs/runbooks.md`. */
interface Alert {
  readonly name: string
  readonly severity: Severity
  readonly expr: (durations: Durations) => string
  /** How long the condition has to hold. */
  readonly forMinutes: number
  /** A line with the labels that say what it is about. */
  readonly summary: string
}

/** Durations as they are. */
export const realDurations: Durations = {
  range: (minutes) => (minutes % 60 === 0 && minutes > 0 ? `${minutes / 60}h` : `${minutes}m`),
  seconds: (minutes) => minutes * 60,
}
