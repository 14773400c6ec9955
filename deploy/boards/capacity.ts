import type { Board } from './board.ts'

const pool = 'nodepool=~"$nodepool"'
const ofPools = `managed="true", ${pool}`

export const capacityBoard: Board = {
  uid: 'joiner-capacity',
  title: 'Joiner / Capacity',
  description: 'Nodes, pods and limits by NodePool, and what Azure has left to sell.',
  byNodePool: true,
  rows: [
    {
      title: 'Now',
      panels: [
        {
          title: 'Nodes',
          kind: 'stat',
          unit: 'short',
          description: 'Nodes of the chosen NodePools.',
          queries: { nodes: `sum(max by (nodepool) (karpenter_nodepools_usage{resource_type="nodes", ${pool}}))` },
        },
        {
          title: 'Pods on them',
          kind: 'stat',
          unit: 'short',
          description: 'Pods that are bound to nodes of the chosen NodePools.',
          queries: { pods: `sum(karpenter_pods_state{scheduled="true", ${ofPools}}) or vector(0)` },
        },
        {
          title: 'Pods that wait for a node',
          kind: 'stat',
          unit: 'short',
          description:
            'Pods of the whole cluster that are not bound. Some of them may be none of Joiner’s concern: joiner why pod says so.',
          queries: { pods: 'count(karpenter_pods_unbound_time_seconds) or vector(0)' },
        },
        {
          title: 'Longest wait',
          kind: 'stat',
          unit: 's',
          description: 'Age of the oldest pod that is not bound. A node takes one to three minutes.',
          queries: { wait: 'max(karpenter_pods_unbound_time_seconds) or vector(0)' },
        },
      ],
    },
    {
      title: 'NodePools',
      panels: [
        {
          title: 'Nodes by NodePool',
          unit: 'short',
          description: 'Nodes of each NodePool, by its status.',
          queries: { '{{nodepool}}': `max by (nodepool) (karpenter_nodepools_usage{resource_type="nodes", ${pool}})` },
        },
        {
          title: 'Share of limits in use',
          unit: 'percentunit',
          description:
            'Use of each limit in spec.limits. At 100 % the NodePool gets no more nodes. NodePools without limits are not shown.',
          queries: {
            '{{nodepool}} {{resource_type}}': `max by (nodepool, resource_type) (karpenter_nodepools_usage{${pool}}) / max by (nodepool, resource_type) (karpenter_nodepools_limit{${pool}})`,
          },
        },
        {
          title: 'CPU requested and allocatable',
          unit: 'cores',
          description:
            'Cores that pods request on nodes of the chosen NodePools, those that DaemonSets request of them, and cores that there are.',
          queries: {
            allocatable: `sum(karpenter_nodes_allocatable{resource_type="cpu", ${ofPools}})`,
            requested: `sum(karpenter_nodes_total_pod_requests{resource_type="cpu", ${ofPools}})`,
            'requested by DaemonSets': `sum(karpenter_nodes_total_daemon_requests{resource_type="cpu", ${ofPools}}) or vector(0)`,
          },
        },
        {
          title: 'Memory requested and allocatable',
          unit: 'bytes',
          description: 'The same of memory.',
          queries: {
            allocatable: `sum(karpenter_nodes_allocatable{resource_type="memory", ${ofPools}})`,
            requested: `sum(karpenter_nodes_total_pod_requests{resource_type="memory", ${ofPools}}) or vector(0)`,
          },
        },
        {
          title: 'Nodes by size',
          unit: 'short',
          description: 'Nodes of the chosen NodePools by instance type and capacity type.',
          queries: {
            '{{instance_type}} {{capacity_type}}': `count by (instance_type, capacity_type) (karpenter_nodes_allocatable{resource_type="cpu", ${ofPools}})`,
          },
        },
        {
          title: 'Nodes by zone',
          unit: 'short',
          description: 'Nodes of the chosen NodePools by zone.',
          queries: { '{{zone}}': `count by (zone) (karpenter_nodes_allocatable{resource_type="cpu", ${ofPools}})` },
        },
      ],
    },
    {
      title: 'Pods',
      panels: [
        {
          title: 'Time to a node and to ready',
          unit: 's',
          description:
            'From the creation of a pod to its binding (95th percentile), and to being ready (90th percentile of ten minutes).',
          queries: {
            'bound, 95 %':
              'histogram_quantile(0.95, sum by (le) (rate(karpenter_pods_bound_duration_seconds_bucket[$__rate_interval])))',
            'ready, 90 %': 'max(karpenter_pods_startup_duration_seconds{quantile="0.9"})',
          },
        },
        {
          title: 'Pods without a place',
          unit: 'short',
          description:
            'Pods that the last pass of the scheduler found no place for, and pods that it left out. joiner why pod explains each.',
          queries: {
            'no place': 'max(karpenter_scheduler_unschedulable_pods_count)',
            'left out': 'max(karpenter_scheduler_ignored_pods_count)',
          },
        },
      ],
    },
    {
      title: 'Azure',
      panels: [
        {
          title: 'Offerings that can be launched',
          unit: 'short',
          description:
            'Sizes by zone and capacity type that a NodePool allows and Azure would sell now. At 0 its pods get no node.',
          queries: { '{{nodepool}}': `min by (nodepool) (joiner_nodepools_launchable_offerings{${pool}})` },
        },
        {
          title: 'Refused offerings',
          unit: 'short',
          description:
            'What Azure refused and is left out for a time, by reason. joiner blocked capacity list shows each.',
          queries: { '{{capacity_type}} {{reason}}': 'max by (capacity_type, reason) (joiner_unavailable_offerings)' },
        },
        {
          title: 'Quota in use',
          unit: 'percentunit',
          description: 'Share of the vCPU quota that is used, of the ten fullest families and the region.',
          queries: {
            '{{family}}':
              'topk(10, max by (family) (joiner_quota_used_vcpus) / (max by (family) (joiner_quota_limit_vcpus) > 0))',
          },
        },
        {
          title: 'vCPUs in flight',
          unit: 'cores',
          description: 'vCPUs that NodeClaims took or gave back since Azure last counted.',
          queries: { '{{family}}': 'max by (family) (joiner_quota_in_flight_vcpus) or vector(0)' },
        },
      ],
    },
  ],
}
