import type { Board } from './board.ts'

const pool = 'nodepool=~"$nodepool"'
const claimPool = 'karpenter_sh_nodepool=~"$nodepool"'
const transition = 'operator_nodeclaim_status_condition_transition_seconds_bucket'

/** The time from one milestone to the next, as its condition became True. */
const milestone = (type: string) =>
  `histogram_quantile(0.95, sum by (le) (rate(${transition}{type="${type}", to_status="True", ${claimPool}}[$__rate_interval])))`

export const lifecyclesBoard: Board = {
  uid: 'joiner-lifecycles',
  title: 'Joiner / Lifecycles',
  description: 'How nodes come and go: phases, durations, failures.',
  byNodePool: true,
  rows: [
    {
      title: 'Coming and going',
      panels: [
        {
          title: 'NodeClaims created and terminated',
          unit: 'short',
          description: 'NodeClaims in five minutes, by the reason of their creation, and those that came to their end.',
          queries: {
            'created, {{reason}}': `sum by (reason) (increase(karpenter_nodeclaims_created_total{${pool}}[5m]))`,
            terminated: `sum(increase(karpenter_nodeclaims_terminated_total{${pool}}[5m]))`,
          },
        },
        {
          title: 'NodeClaims by phase',
          unit: 'short',
          description:
            'NodeClaims that have not reached a condition: Launched, Registered, Initialized. joiner node list names them.',
          queries: {
            'not {{type}}': `count by (type) (operator_nodeclaim_status_condition_count{type=~"Launched|Registered|Initialized", status!="True", ${claimPool}}) or vector(0)`,
            terminating: `count(operator_nodeclaim_termination_current_time_seconds{${claimPool}}) or vector(0)`,
          },
        },
        {
          title: 'Oldest in its phase',
          unit: 's',
          description:
            'Longest time without a condition, and the longest termination. A launch is given up after 15 minutes; a drain may last as long as PodDisruptionBudgets want.',
          queries: {
            'not {{type}}': `max by (type) (operator_nodeclaim_status_condition_current_status_seconds{type=~"Launched|Registered|Initialized", status!="True", ${claimPool}}) or vector(0)`,
            terminating: `max(operator_nodeclaim_termination_current_time_seconds{${claimPool}}) or vector(0)`,
          },
        },
        {
          title: 'Nodes created and terminated',
          unit: 'short',
          description: 'Nodes that registered, and Nodes that were drained and deleted, in five minutes.',
          queries: {
            'created, {{nodepool}}': `sum by (nodepool) (increase(karpenter_nodes_created_total{${pool}}[5m]))`,
            'terminated, {{nodepool}}': `sum by (nodepool) (increase(karpenter_nodes_terminated_total{${pool}}[5m]))`,
          },
        },
      ],
    },
    {
      title: 'Durations',
      panels: [
        {
          title: 'Milestones of a launch',
          unit: 's',
          description: 'How long a condition had been unknown when it became True, 95th percentile.',
          queries: Object.fromEntries(['Launched', 'Registered', 'Initialized'].map((type) => [type, milestone(type)])),
        },
        {
          title: 'Termination',
          unit: 's',
          description:
            'From the deletion of a NodeClaim to its end, and of that the deletion of the VM; 95th percentile.',
          queries: {
            whole: `histogram_quantile(0.95, sum by (le) (rate(karpenter_nodeclaims_termination_duration_seconds_bucket{${pool}}[$__rate_interval])))`,
            VM: `histogram_quantile(0.95, sum by (le) (rate(karpenter_nodeclaims_instance_termination_duration_seconds_bucket{${pool}}[$__rate_interval])))`,
          },
        },
        {
          title: 'Calls to Azure',
          unit: 's',
          description: 'Duration of what is asked of Azure by method, 95th percentile.',
          queries: {
            '{{method}}':
              'histogram_quantile(0.95, sum by (le, method) (rate(karpenter_cloudprovider_duration_seconds_bucket[$__rate_interval])))',
          },
        },
        {
          title: 'Scheduler',
          unit: 's',
          description:
            'Duration of a pass of the scheduler, 95th percentile, and how long the pass lasts that runs now.',
          queries: {
            'a pass, 95 %':
              'histogram_quantile(0.95, sum by (le) (rate(karpenter_scheduler_scheduling_duration_seconds_bucket[$__rate_interval])))',
            'running pass': 'max(karpenter_scheduler_unfinished_work_seconds)',
          },
        },
      ],
    },
    {
      title: 'Failures',
      panels: [
        {
          title: 'Errors of Azure',
          unit: 'short',
          description:
            'Failed calls in five minutes. InsufficientCapacityError: an offering was refused and another is tried; the others want a look.',
          queries: {
            '{{method}} {{error}}': 'sum by (method, error) (increase(karpenter_cloudprovider_errors_total[5m]))',
          },
        },
        {
          title: 'Refused and failed VMs',
          unit: 'short',
          description:
            'VMs that Azure refused (sync) or that failed later (async), by ARM’s error code, in five minutes.',
          queries: {
            '{{error_code}} {{phase}}': `sum by (phase, error_code) (increase(karpenter_instance_vm_create_failure_total{${pool}}[5m])) or vector(0)`,
          },
        },
        {
          title: 'Throttling by ARM',
          unit: 'short',
          description:
            'Requests that Azure answered with 429 in five minutes, by its bucket. Joiner waits and sends them again.',
          queries: { '{{bucket}}': 'sum by (bucket) (increase(joiner_arm_throttled_total[5m]))' },
        },
        {
          title: 'Garbage and quarantine',
          unit: 'short',
          description:
            'Resources without a lifecycle that were deleted in an hour, machines without a NodeClaim that are kept since pods run there, and objects that are left out of planning. All should be 0.',
          queries: {
            'garbage: {{resource}}': 'sum by (resource) (increase(joiner_garbage_collected_total[1h]))',
            'withheld: {{kind}}': 'count by (kind) (max by (kind, name) (joiner_garbage_withheld))',
            'quarantined: {{kind}}': 'max by (kind) (joiner_quarantined_objects)',
          },
        },
      ],
    },
  ],
}
