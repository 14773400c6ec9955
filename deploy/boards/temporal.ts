import type { Board } from './board.ts'

const byQueue = 'le, task_queue'
const p95 = (metric: string) =>
  `histogram_quantile(0.95, sum by (${byQueue}) (rate(${metric}_bucket{task_queue=~"joiner-.*"}[$__rate_interval])))`

export const temporalBoard: Board = {
  uid: 'joiner-temporal',
  title: 'Joiner / Temporal and processes',
  description: 'Whether Joiner’s processes are up, lead, reach Temporal and keep up with its tasks.',
  rows: [
    {
      title: 'Processes',
      panels: [
        {
          title: 'Ready processes',
          unit: 'short',
          description:
            'Processes that are ready, by role. Each role needs one; two of the chart’s default stand by for each other.',
          queries: { '{{role}}': 'sum by (role) (joiner_process_ready)' },
        },
        {
          title: 'Leaders',
          unit: 'short',
          description: 'Processes that hold the Leases joiner-bridge, joiner-planner and joiner-maintenance: one each.',
          queries: { '{{name}}': 'sum by (name) (leader_election_master_status{name=~"joiner-.*"})' },
        },
        {
          title: 'Memory, share of the limit',
          unit: 'percentunit',
          description: 'Resident memory of each process in relation to what its container may use.',
          queries: {
            '{{instance}}': 'process_resident_memory_bytes / on (job, instance) joiner_process_memory_limit_bytes',
          },
        },
        {
          title: 'Clocks',
          unit: 's',
          description:
            'By how much the clock of each process’s machine is ahead of the API server’s; negative: behind. Beyond a minute no node expires by it and none is repaired.',
          queries: { '{{instance}}': 'joiner_clock_off_seconds' },
        },
        {
          title: 'CPU',
          unit: 'cores',
          description: 'Cores that each process uses.',
          queries: {
            '{{instance}}':
              'rate(process_cpu_seconds_total[$__rate_interval]) and on (job, instance) karpenter_build_info',
          },
        },
      ],
    },
    {
      title: 'Temporal',
      panels: [
        {
          title: 'Processes that reach Temporal',
          unit: 'short',
          description: 'Without Temporal nothing is launched or drained; what runs stays.',
          queries: { 'reach it': 'sum(joiner_temporal_reachable)', all: 'count(joiner_temporal_reachable)' },
        },
        {
          title: 'Failed requests',
          unit: 'ops',
          description:
            'Requests of Temporal’s library that failed, a second, by operation. Polls that end without a task are not among them.',
          queries: {
            '{{operation}}': 'sum by (operation) (rate(temporal_request_failure[$__rate_interval])) or vector(0)',
          },
        },
        {
          title: 'Wait of activities',
          unit: 's',
          description: 'From schedule to start, 95th percentile. Seconds mean too few processes or slots.',
          queries: { '{{task_queue}}': p95('temporal_activity_schedule_to_start_latency_seconds') },
        },
        {
          title: 'Wait of workflow tasks',
          unit: 's',
          description: 'The same of workflow tasks.',
          queries: { '{{task_queue}}': p95('temporal_workflow_task_schedule_to_start_latency_seconds') },
        },
        {
          title: 'Free slots',
          unit: 'short',
          description: 'Tasks that the workers could still take, by queue and kind; 0 means that tasks wait.',
          queries: {
            '{{task_queue}} {{worker_type}}':
              'min by (task_queue, worker_type) (temporal_worker_task_slots_available{task_queue=~"joiner-.*"})',
          },
        },
        {
          title: 'Pollers',
          unit: 'short',
          description: 'Long polls by queue; 0: nobody asks Temporal for its tasks.',
          queries: { '{{task_queue}}': 'sum by (task_queue) (temporal_num_pollers{task_queue=~"joiner-.*"})' },
        },
      ],
    },
    {
      title: 'Workflows',
      panels: [
        {
          title: 'Ended workflows',
          unit: 'short',
          description: 'Workflows that ended in five minutes, by type. Failed lifecycles are nodes that never served.',
          queries: {
            '{{workflow_type}}': 'sum by (workflow_type) (increase(temporal_workflow_completed[5m]))',
            '{{workflow_type}} failed': 'sum by (workflow_type) (increase(temporal_workflow_failed[5m]))',
          },
        },
        {
          title: 'Runs that had to start again',
          unit: 'short',
          description:
            'Workflow runs that this version could not replay, in an hour, and failed workflow tasks. Both should be 0.',
          queries: {
            restarted: 'sum(increase(joiner_workflow_runs_restarted_total[1h]))',
            'failed tasks': 'sum(increase(temporal_workflow_task_execution_failed[1h])) or vector(0)',
          },
        },
        {
          title: 'What is not as it should be',
          unit: 'short',
          description:
            'Lifecycles, loops and a Schedule that are missing, paused, late or cannot be read, by fault. Joiner repairs what is missing within 30 s; the runbook of JoinerTemporalFindings has the rest.',
          queries: { '{{fault}}': 'max by (fault) (joiner_temporal_findings) > 0' },
        },
        {
          title: 'Activities',
          unit: 'ops',
          description:
            'Attempts of activities a second, by the controller of Karpenter that does the same, and those that failed.',
          queries: {
            '{{controller}}': 'sum by (controller) (rate(controller_runtime_reconcile_total[$__rate_interval]))',
            'failed {{controller}}':
              'sum by (controller) (rate(controller_runtime_reconcile_errors_total[$__rate_interval])) > 0 or vector(0)',
          },
        },
        {
          title: 'Signals of the bridge',
          unit: 'short',
          description: 'Keys that wait to be signalled to workflows, and retries in five minutes.',
          queries: {
            waiting: 'sum(workqueue_depth{name="bridge"})',
            retries: 'sum(increase(workqueue_retries_total{name="bridge"}[5m]))',
          },
        },
      ],
    },
  ],
}
