import { Registry } from 'prom-client'
import { expect, it } from 'vitest'
import { sampleClaim, sampleNode, samplePool } from '../../test/samples/sample-objects.ts'
import { observeBudgets } from './budget-metrics.ts'

it('budgets are published by pool and reason, in lower case, with the nodes that use them up', async () => {
  const names = ['a', 'b', 'c', 'd']
  const drifted = { nodes: '0', reasons: ['Drifted'] }
  const pools = new Map([
    ['default', samplePool('default', { disruption: { budgets: [{ nodes: '50%' }, drifted] } })],
    ['empty', samplePool('empty', { disruption: { budgets: [{ nodes: '10%' }] } })],
  ])
  const registry = new Registry()
  observeBudgets(
    {
      nodes: new Map(names.map((name) => [name, sampleNode(name, name === 'b' ? { conditions: [] } : {})])),
      nodeClaims: new Map(names.map((name) => [name, sampleClaim(name)])),
      nodePools: pools,
    },
    { now: () => 0, isReported: () => true },
    registry,
  )
  const shown = async () => (await registry.metrics()).split('\n').filter((line) => line.startsWith('karpenter'))
  const of = (pool: string, reason: string) => `{nodepool="${pool}",reason="${reason}"}`
  expect(await shown()).toEqual([
    `karpenter_nodepools_allowed_disruptions${of('default', 'unhealthy')} 2`,
    `karpenter_nodepools_allowed_disruptions${of('default', 'empty')} 2`,
    `karpenter_nodepools_allowed_disruptions${of('default', 'drifted')} 0`,
    `karpenter_nodepools_allowed_disruptions${of('default', 'underutilized')} 2`,
    `karpenter_nodepools_allowed_disruptions${of('empty', 'unhealthy')} 0`,
    `karpenter_nodepools_allowed_disruptions${of('empty', 'empty')} 0`,
    `karpenter_nodepools_allowed_disruptions${of('empty', 'drifted')} 0`,
    `karpenter_nodepools_allowed_disruptions${of('empty', 'underutilized')} 0`,
    `karpenter_nodepools_nodes_consuming_budgets${of('default', 'unhealthy')} 0`,
    `karpenter_nodepools_nodes_consuming_budgets${of('default', 'empty')} 1`,
    `karpenter_nodepools_nodes_consuming_budgets${of('default', 'drifted')} 1`,
    `karpenter_nodepools_nodes_consuming_budgets${of('default', 'underutilized')} 1`,
    `karpenter_nodepools_nodes_consuming_budgets${of('empty', 'unhealthy')} 0`,
    `karpenter_nodepools_nodes_consuming_budgets${of('empty', 'empty')} 0`,
    `karpenter_nodepools_nodes_consuming_budgets${of('empty', 'drifted')} 0`,
    `karpenter_nodepools_nodes_consuming_budgets${of('empty', 'underutilized')} 0`,
  ])
  pools.delete('default')
  expect((await shown()).filter((line) => line.includes('default'))).toEqual([])
})
