import type { Board } from './board.ts'

const pool = 'nodepool=~"$nodepool"'

export const disruptionBoard: Board = {
  uid: 'joiner-disruption',
  title: 'Joiner / Disruption',
  description: 'Consolidation, drift and emptiness: what is chosen, what holds it back, what it does to pods.',
  byNodePool: true,
  rows: [
    {
      title: 'What happens',
      panels: [
        {
          title: 'Commands',
          unit: 'short',
          description: 'Commands that began in ten minutes, by reason and decision.',
          queries: {
            '{{reason}} {{decision}}':
              'sum by (reason, decision) (increase(karpenter_voluntary_disruption_decisions_total[10m]))',
          },
        },
        {
          title: 'Running commands',
          unit: 'short',
          description: 'Commands that wait for replacements or delete their candidates.',
          queries: { '{{reason}}': 'sum by (reason) (joiner_disruption_commands_in_flight) or vector(0)' },
        },
        {
          title: 'Disrupted nodes',
          unit: 'short',
          description:
            'NodeClaims that Joiner deleted in ten minutes, by reason; the involuntary ones too, such as expired and interrupted.',
          queries: { '{{reason}}': `sum by (reason) (increase(karpenter_nodeclaims_disrupted_total{${pool}}[10m]))` },
        },
        {
          title: 'Pods that had to move',
          unit: 'short',
          description: 'Pods on disrupted nodes in ten minutes.',
          queries: {
            '{{nodepool}}': `sum by (nodepool) (increase(karpenter_pods_disruption_initiated_total{${pool}}[10m]))`,
          },
        },
      ],
    },
    {
      title: 'What holds it back',
      panels: [
        {
          title: 'Candidates',
          unit: 'short',
          description:
            'Nodes that could be disrupted, before budgets. Candidates that stay: joiner why node, joiner budgets.',
          queries: { '{{reason}}': 'max by (reason) (karpenter_voluntary_disruption_eligible_nodes)' },
        },
        {
          title: 'Budgets',
          unit: 'short',
          description:
            'Nodes that the budgets of a NodePool allow at once, the least of all reasons, and nodes that use them up.',
          queries: {
            'allowed, {{nodepool}}': `min by (nodepool) (karpenter_nodepools_allowed_disruptions{${pool}})`,
            'in use, {{nodepool}}': `max by (nodepool) (karpenter_nodepools_nodes_consuming_budgets{${pool}})`,
          },
        },
        {
          title: 'Proposals that came to nothing',
          unit: 'short',
          description:
            'In ten minutes: candidates that did not hold after the validation delay, and replacements that did not come.',
          queries: {
            'not valid any more': 'sum(increase(karpenter_voluntary_disruption_failed_validations_total[10m]))',
            'no replacement': 'sum(increase(karpenter_voluntary_disruption_queue_failures_total[10m]))',
          },
        },
        {
          title: 'Evictions',
          unit: 'short',
          description: 'Answers of the eviction API in ten minutes. 429: a PodDisruptionBudget refused.',
          queries: { '{{code}}': 'sum by (code) (increase(karpenter_pods_eviction_requests_total[10m]))' },
        },
      ],
    },
    {
      title: 'Durations',
      panels: [
        {
          title: 'Search for commands',
          unit: 's',
          description: 'Duration of the search of a method, 95th percentile.',
          queries: {
            '{{reason}} {{consolidation_type}}':
              'histogram_quantile(0.95, sum by (le, reason, consolidation_type) (rate(karpenter_voluntary_disruption_decision_evaluation_duration_seconds_bucket[$__rate_interval])))',
          },
        },
        {
          title: 'Age of nodes at their end',
          unit: 's',
          description: 'Median age of terminated nodes in a day. Nodes that live for minutes point to churn.',
          queries: {
            '{{nodepool}}': `histogram_quantile(0.5, sum by (le, nodepool) (increase(karpenter_nodes_lifetime_duration_seconds_bucket{${pool}}[1d])))`,
          },
        },
      ],
    },
  ],
}
