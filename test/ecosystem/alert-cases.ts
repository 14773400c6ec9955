/** Series of a case by their selectors, with values a minute apart as promtool writes them, and the alerts that fire at the end. */
interface AlertCase {
  readonly series: Readonly<Record<string, string>>
  /** When to look. */
  readonly at: string
  /** Labels of the alerts that have to fire; none: it must not. */
  readonly expected: readonly Readonly<Record<string, string>>[]
}

const pool = 'nodepool="web"'
const two = 'job="karpenter",instance="a:8080"'
const claim = 'name="web-1",karpenter_sh_nodepool="web"'
const condition = (type: string) =>
  `operator_nodeclaim_status_condition_current_status_seconds{type="${type}",status="Unknown",${claim}}`
const roles = ['core', 'azure', 'planner', 'bridge', 'conversion'] as const
const ready = (role: string) => `joiner_process_ready{role="${role}",${two}}`

/** Cases by alert: one at least in which it fires, and one in which it does not. */
export const alertCases: Readonly<Record<string, readonly AlertCase[]>> = {
  JoinerNodePoolAtLimit: [
    {
      // The bridge moved: two processes report, the old one no longer.
      series: {
        [`karpenter_nodepools_usage{${pool},resource_type="cpu",instance="a:8080"}`]: '96x5 _x30',
        [`karpenter_nodepools_usage{${pool},resource_type="cpu",instance="b:8080"}`]: '_x5 98x30',
        [`karpenter_nodepools_limit{${pool},resource_type="cpu",instance="a:8080"}`]: '100x5 _x30',
        [`karpenter_nodepools_limit{${pool},resource_type="cpu",instance="b:8080"}`]: '_x5 100x30',
        [`karpenter_nodepools_usage{${pool},resource_type="memory",instance="b:8080"}`]: '50x35',
        [`karpenter_nodepools_limit{${pool},resource_type="memory",instance="b:8080"}`]: '100x35',
      },
      at: '30m',
      expected: [{ nodepool: 'web', resource_type: 'cpu' }],
    },
    {
      series: {
        [`karpenter_nodepools_usage{${pool},resource_type="cpu"}`]: '100x10 50x30',
        [`karpenter_nodepools_limit{${pool},resource_type="cpu"}`]: '100x40',
      },
      at: '20m',
      expected: [],
    },
  ],
  JoinerNodePoolWithoutOfferings: [
    {
      series: {
        [`joiner_nodepools_launchable_offerings{${pool}}`]: '12 0x20',
        'joiner_nodepools_launchable_offerings{nodepool="batch"}': '4x20',
      },
      at: '8m',
      expected: [{ nodepool: 'web' }],
    },
    {
      // One planner of two has not read the catalogue yet.
      series: {
        [`joiner_nodepools_launchable_offerings{${pool},instance="a:8080"}`]: '0x20',
        [`joiner_nodepools_launchable_offerings{${pool},instance="b:8080"}`]: '12x20',
      },
      at: '10m',
      expected: [],
    },
  ],
  JoinerNodesNotInitialized: [
    { series: { [condition('Initialized')]: '0+60x40' }, at: '25m', expected: [{ name: 'web-1' }] },
    {
      series: {
        [condition('Initialized')]: '0+60x40',
        [`operator_nodeclaim_termination_current_time_seconds{${claim}}`]: '_x10 0+60x30',
      },
      at: '25m',
      expected: [],
    },
  ],
  JoinerLifecycleStuck: [
    { series: { [condition('Launched')]: '0+60x60' }, at: '30m', expected: [{ name: 'web-1', type: 'Launched' }] },
    {
      series: { [`operator_nodeclaim_termination_current_time_seconds{${claim}}`]: '0+60x200' },
      at: '130m',
      expected: [{ name: 'web-1', type: 'Terminated' }],
    },
    {
      series: {
        [condition('Registered')]: '0+60x10',
        [`operator_nodeclaim_termination_current_time_seconds{${claim}}`]: '0+60x90',
      },
      at: '90m',
      expected: [],
    },
  ],
  JoinerPodsPending: [
    {
      series: { 'karpenter_pods_unbound_time_seconds{namespace="shop",name="web-0"}': '0+60x40' },
      at: '25m',
      expected: [{ namespace: 'shop' }],
    },
    {
      series: { 'karpenter_pods_unbound_time_seconds{namespace="shop",name="web-0"}': '0+60x10 _x30' },
      at: '25m',
      expected: [],
    },
  ],
  JoinerGarbageCollected: [
    {
      series: {
        'joiner_garbage_collected_total{resource="disk"}': '0x10 1x20',
        'joiner_garbage_collected_total{resource="node"}': '0x30',
      },
      at: '15m',
      expected: [{ resource: 'disk' }],
    },
    { series: { 'joiner_garbage_collected_total{resource="disk"}': '1x80' }, at: '70m', expected: [] },
  ],
  JoinerCloudProviderErrors: [
    {
      series: { 'karpenter_cloudprovider_errors_total{method="Create",error="CreateError",nodepool="web"}': '0+1x40' },
      at: '25m',
      expected: [{ method: 'Create', error: 'CreateError' }],
    },
    {
      // Refused offerings are the order of the day.
      series: {
        'karpenter_cloudprovider_errors_total{method="Create",error="InsufficientCapacityError",nodepool="web"}':
          '0+1x40',
        'karpenter_cloudprovider_errors_total{method="Get",error="unknown"}': '0x10 1x30',
      },
      at: '25m',
      expected: [],
    },
  ],
  JoinerArmThrottled: [
    {
      series: { 'joiner_arm_throttled_total{bucket="createVm"}': '0+3x40' },
      at: '25m',
      expected: [{ bucket: 'createVm' }],
    },
    { series: { 'joiner_arm_throttled_total{bucket="createVm"}': '0x10 5x40' }, at: '25m', expected: [] },
  ],
  JoinerConsolidationStuck: [
    {
      series: {
        [`karpenter_voluntary_disruption_eligible_nodes{reason="empty",${two}}`]: '3x200',
        [`leader_election_master_status{name="joiner-planner",${two}}`]: '1x200',
        [`karpenter_nodepools_allowed_disruptions{reason="empty",${pool}}`]: '1x200',
        [`karpenter_voluntary_disruption_decisions_total{reason="empty",decision="delete",${two}}`]: '5x200',
      },
      at: '130m',
      expected: [{ severity: 'warning' }],
    },
    {
      // One is disrupted now and then.
      series: {
        [`karpenter_voluntary_disruption_eligible_nodes{reason="empty",${two}}`]: '3x200',
        [`leader_election_master_status{name="joiner-planner",${two}}`]: '1x200',
        [`karpenter_nodepools_allowed_disruptions{reason="empty",${pool}}`]: '1x200',
        [`karpenter_voluntary_disruption_decisions_total{reason="empty",decision="delete",${two}}`]:
          '0x30 1x30 2x30 3x30 4x80',
      },
      at: '130m',
      expected: [],
    },
    {
      // A planner that stands by shows what it found when it led.
      series: {
        [`karpenter_voluntary_disruption_eligible_nodes{reason="empty",${two}}`]: '3x200',
        [`leader_election_master_status{name="joiner-planner",${two}}`]: '0x200',
        [`karpenter_nodepools_allowed_disruptions{reason="empty",${pool}}`]: '1x200',
      },
      at: '130m',
      expected: [],
    },
    {
      // Budgets allow nothing.
      series: {
        [`karpenter_voluntary_disruption_eligible_nodes{reason="empty",${two}}`]: '3x200',
        [`leader_election_master_status{name="joiner-planner",${two}}`]: '1x200',
        [`karpenter_nodepools_allowed_disruptions{reason="empty",${pool}}`]: '0x200',
      },
      at: '130m',
      expected: [],
    },
  ],
  JoinerReplacementsFail: [
    {
      series: { 'karpenter_voluntary_disruption_queue_failures_total{reason="drifted",decision="replace"}': '0+1x60' },
      at: '30m',
      expected: [{ reason: 'drifted' }],
    },
    {
      series: {
        'karpenter_voluntary_disruption_queue_failures_total{reason="drifted",decision="replace"}': '0x10 1x60',
      },
      at: '30m',
      expected: [],
    },
  ],
  JoinerReplicaDown: [
    {
      series: { [`up{${two}}`]: '1x10 0x20', [`karpenter_build_info{version="0.2.0",${two}}`]: '1x10 _x20' },
      at: '20m',
      expected: [{ instance: 'a:8080' }],
    },
    {
      // What is down is not Joiner.
      series: { 'up{job="web",instance="w:80"}': '0x30', [`karpenter_build_info{version="0.2.0",${two}}`]: '1x30' },
      at: '20m',
      expected: [],
    },
  ],
  JoinerRoleMissing: [
    {
      series: Object.fromEntries(roles.map((role) => [ready(role), role === 'planner' ? '1x5 _x30' : '1x35'])),
      at: '20m',
      expected: [{ role: 'planner' }],
    },
    {
      series: Object.fromEntries(roles.map((role) => [ready(role), role === 'azure' ? '1x5 0x30' : '1x35'])),
      at: '20m',
      expected: [{ role: 'azure' }],
    },
    { series: Object.fromEntries(roles.map((role) => [ready(role), '1x35'])), at: '20m', expected: [] },
  ],
  JoinerNoLeader: [
    {
      series: {
        'leader_election_master_status{name="joiner-bridge",instance="a:8080"}': '1x5 0x30',
        'leader_election_master_status{name="joiner-bridge",instance="b:8080"}': '0x35',
        'leader_election_master_status{name="joiner-planner",instance="b:8080"}': '1x35',
      },
      at: '15m',
      expected: [{ name: 'joiner-bridge' }],
    },
    {
      // Another process takes over; that of another controller is no concern.
      series: {
        'leader_election_master_status{name="joiner-bridge",instance="a:8080"}': '1x5 0x30',
        'leader_election_master_status{name="joiner-bridge",instance="b:8080"}': '0x5 1x30',
        'leader_election_master_status{name="other",instance="c:8080"}': '0x35',
      },
      at: '15m',
      expected: [],
    },
  ],
  JoinerPassStuck: [
    {
      series: { 'karpenter_scheduler_unfinished_work_seconds{controller="provisioner",scheduling_id="1"}': '0+60x20' },
      at: '8m',
      expected: [{ severity: 'critical' }],
    },
    {
      series: { 'karpenter_scheduler_unfinished_work_seconds{controller="provisioner"}': '0 60 0x20' },
      at: '8m',
      expected: [],
    },
  ],
  JoinerClockWrong: [
    {
      series: {
        [`joiner_clock_off_seconds{${two}}`]: '0x5 -2678400x20',
        'joiner_clock_off_seconds{job="karpenter",instance="b:8080"}': '0.4x25',
      },
      at: '15m',
      expected: [{ instance: 'a:8080' }],
    },
    // Set right in time.
    { series: { [`joiner_clock_off_seconds{${two}}`]: '90x4 30x20' }, at: '15m', expected: [] },
  ],
  JoinerMemoryNearLimit: [
    {
      series: {
        [`process_resident_memory_bytes{${two}}`]: '950x30',
        [`joiner_process_memory_limit_bytes{${two}}`]: '1000x30',
        'process_resident_memory_bytes{job="web",instance="w:80"}': '999x30',
      },
      at: '15m',
      expected: [{ instance: 'a:8080' }],
    },
    {
      series: {
        [`process_resident_memory_bytes{${two}}`]: '950x5 500x30',
        [`joiner_process_memory_limit_bytes{${two}}`]: '1000x35',
      },
      at: '15m',
      expected: [],
    },
  ],
  JoinerQuarantineNotEmpty: [
    { series: { 'joiner_quarantined_objects{kind="Pod"}': '0x5 1x10' }, at: '8m', expected: [{ kind: 'Pod' }] },
    { series: { 'joiner_quarantined_objects{kind="Pod"}': '0x20' }, at: '8m', expected: [] },
  ],
  JoinerTemporalUnreachable: [
    { series: { [`joiner_temporal_reachable{${two}}`]: '1x5 0x20' }, at: '10m', expected: [{ instance: 'a:8080' }] },
    { series: { [`joiner_temporal_reachable{${two}}`]: '1x5 0 1x20' }, at: '10m', expected: [] },
  ],
  JoinerWorkflowsRestarted: [
    {
      series: { [`joiner_workflow_runs_restarted_total{${two}}`]: '0x5 2x20' },
      at: '10m',
      expected: [{ severity: 'warning' }],
    },
    { series: { [`joiner_workflow_runs_restarted_total{${two}}`]: '2x80' }, at: '70m', expected: [] },
  ],
  JoinerTemporalFindings: [
    {
      series: { [`joiner_temporal_findings{${two},fault="schedule paused"}`]: '0x5 1x20' },
      at: '12m',
      expected: [{ fault: 'schedule paused' }],
    },
    // Repaired, and what somebody knows of.
    {
      series: { [`joiner_temporal_findings{${two},fault="lifecycle missing"}`]: '0x5 900x3 0x20' },
      at: '12m',
      expected: [],
    },
    { series: { [`joiner_temporal_findings{${two},fault="server too old"}`]: '1x30' }, at: '20m', expected: [] },
  ],
}
