import { expect, it } from 'vitest'
import {
  ownedBy,
  sampleClaim,
  sampleCondition,
  sampleEvaluation,
  sampleNode,
  samplePod,
  samplePool,
  sampleTime,
  sampleType,
} from '../../test/samples/sample-objects.ts'
import type { Budget, Condition, Pod } from '../objects.ts'
import { indexOf } from '../scheduling/cluster-index/index-of.ts'
import { poolCounts } from './candidates.ts'
import { evaluate } from './evaluate.ts'
import { disruptionWorld } from './world.ts'

// Each row answers to a test of upstream's e2e suites Drift and Termination: how many of the nodes of a pool one pass takes, by its budgets.
const now = sampleTime + 12 * 3_600_000
const instanceTypes = new Map([['default', [sampleType('four', 4)]]])
const labels = {
  'karpenter.sh/nodepool': 'default',
  'node.kubernetes.io/instance-type': 'four',
  'karpenter.sh/capacity-type': 'on-demand',
  'topology.kubernetes.io/zone': 'zone-1',
}

type Case = [
  name: string,
  budget: Budget,
  state: 'Drifted' | 'Consolidatable',
  cpu: string | undefined,
  going: number,
  count: number,
]

/** How many nodes one pass takes of three that are empty, or have a pod of so many cores each, when some are being deleted already. */
function taken([, budget, state, cpu, going]: Case): number {
  const names = ['a', 'b', 'c']
  const conditions = ['Launched', 'Registered', 'Initialized', state].map((type) => sampleCondition(type))
  const podOn = (nodeName: string): Pod =>
    samplePod(`on-${nodeName}`, {
      nodeName,
      phase: 'Running',
      conditions: [],
      requests: { cpu: cpu ?? '0' },
      metadata: ownedBy('ReplicaSet'),
    })
  const index = indexOf({
    nodePools: [
      samplePool('default', {
        conditions: [sampleCondition('Ready')],
        disruption: { consolidateAfter: '0s', budgets: [budget] },
      }),
    ],
    daemonSets: [],
    podDisruptionBudgets: [],
    pods: cpu === undefined ? [] : names.map(podOn),
    nodes: names.map((name) => sampleNode(name, { metadata: { labels } })),
    nodeClaims: names.map((name, at) =>
      sampleClaim(name, {
        metadata: { labels, ...(at < going ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {}) },
        status: { conditions },
      }),
    ),
  })
  const world = disruptionWorld(index.source(instanceTypes, { now }), instanceTypes, {
    now,
    scheduling: {},
    nominated: new Set(),
    view: {},
  })
  const { commands } = evaluate(world, sampleEvaluation(instanceTypes))
  return commands.reduce((sum, { candidates }) => sum + candidates.length, 0)
}

const window = { schedule: '45 11 * * *', duration: '30m' }

it.each<Case>([
  ['empty drift goes on while its budget has room', { nodes: '50%' }, 'Drifted', undefined, 1, 1],
  ['empty drift waits while its budget is used', { nodes: '50%' }, 'Drifted', undefined, 2, 0],
  ['drift whose pods fit elsewhere goes on while its budget has room', { nodes: '50%' }, 'Drifted', '100m', 1, 1],
  ['drift whose pods fit elsewhere waits while its budget is used', { nodes: '50%' }, 'Drifted', '100m', 2, 0],
  ['drift is blocked by a budget of none', { nodes: '0' }, 'Drifted', '100m', 0, 0],
  ['drift is blocked by a budget of none within its window', { nodes: '0', ...window }, 'Drifted', '100m', 0, 0],
  ['drift is free after the window', { nodes: '0', ...window, duration: '10m' }, 'Drifted', '100m', 0, 3],
  ['emptiness goes on while its budget has room', { nodes: '50%' }, 'Consolidatable', undefined, 1, 1],
  ['emptiness waits while its budget is used', { nodes: '50%' }, 'Consolidatable', undefined, 2, 0],
  ['emptiness is blocked by a budget of none', { nodes: '0' }, 'Consolidatable', undefined, 0, 0],
  ['emptiness is blocked within its window', { nodes: '0', ...window }, 'Consolidatable', undefined, 0, 0],
  ['emptiness is free after the window', { nodes: '0', ...window, duration: '10m' }, 'Consolidatable', undefined, 0, 3],
  ['a budget for drift blocks no emptiness', { nodes: '0', reasons: ['Drifted'] }, 'Consolidatable', undefined, 0, 3],
])('%s', (...one) => {
  expect(taken(one)).toBe(one[5])
})

it.each<[string, Condition['status'], string, readonly string[]]>([
  ['that reboots uses up budgets, though its Node is Ready', 'True', 'true', ['a-claim']],
  ['that reboots and is not initialized again uses up budgets', 'True', '', ['a-claim']],
  ['that has rebooted uses up none', 'False', 'true', []],
])('upstream: a node %s', (_, rebooting, initialized, disrupted) => {
  const node = sampleNode('a', { metadata: { labels: { 'karpenter.sh/initialized': initialized } } })
  const claim = sampleClaim('a', { status: { conditions: [sampleCondition('Rebooting', rebooting)] } })
  for (const reason of [undefined, 'Unhealthy'] as const)
    expect(poolCounts({ nodes: [{ node, claim }] }, reason)).toEqual(new Map([['default', { nodes: 1, disrupted }]]))
})
