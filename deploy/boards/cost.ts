import type { Board } from './board.ts'

const pool = 'nodepool=~"$nodepool"'
const cost = `max by (nodepool) (karpenter_nodepools_cost_total{${pool}})`
/** Hours of a month, as Azure counts them. */
const hoursOfMonth = 730

export const costBoard: Board = {
  uid: 'joiner-cost',
  title: 'Joiner / Cost',
  description: 'What nodes cost at list prices, and what disruption took off.',
  byNodePool: true,
  rows: [
    {
      title: 'Now',
      panels: [
        {
          title: 'Cost an hour',
          kind: 'stat',
          unit: 'currencyUSD',
          description:
            'Price of all nodes of the chosen NodePools, in USD an hour. Disks, network and discounts are not in it.',
          queries: { 'USD an hour': `sum(${cost}) or vector(0)` },
        },
        {
          title: 'Cost a month, if it stayed so',
          kind: 'stat',
          unit: 'currencyUSD',
          description: 'The same for 730 hours.',
          queries: { 'USD a month': `sum(${cost}) * ${hoursOfMonth} or vector(0)` },
        },
        {
          title: 'Requested CPU',
          kind: 'stat',
          unit: 'percent',
          description:
            'Requested of allocatable CPU, all nodes of the cluster together. What is low costs money for nothing.',
          queries: { CPU: 'max(karpenter_cluster_utilization_percent{resource_type="cpu"})' },
        },
        {
          title: 'Requested memory',
          kind: 'stat',
          unit: 'percent',
          description: 'The same of memory.',
          queries: { memory: 'max(karpenter_cluster_utilization_percent{resource_type="memory"})' },
        },
      ],
    },
    {
      title: 'Over time',
      panels: [
        {
          title: 'Cost by NodePool',
          unit: 'currencyUSD',
          description: 'USD an hour.',
          queries: { '{{nodepool}}': cost },
        },
        {
          title: 'Taken off by disruption',
          unit: 'currencyUSD',
          description:
            'USD an hour that commands of the last day took off, by NodePool and reason. An increase, as after drift, is not subtracted.',
          queries: {
            '{{nodepool}} {{reason}}': `sum by (nodepool, reason) (increase(joiner_disruption_savings_dollars_per_hour_total{${pool}}[1d]))`,
          },
        },
        {
          title: 'Nodes by capacity type',
          unit: 'short',
          description: 'Spot and on-demand nodes.',
          queries: {
            '{{capacity_type}}': `count by (capacity_type) (karpenter_nodes_allocatable{resource_type="cpu", managed="true", ${pool}})`,
          },
        },
        {
          title: 'Age of prices',
          unit: 's',
          description: 'Age of the prices in use, by where they are from. modelled: no price list was ever read.',
          queries: { '{{source}}': 'max by (source) (joiner_prices_age_seconds)' },
        },
      ],
    },
  ],
}
