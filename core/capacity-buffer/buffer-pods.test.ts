import { describe, expect, it } from 'vitest'
import {
  sampleClaim,
  sampleCondition,
  sampleEvaluation,
  sampleNode,
  samplePod,
  samplePool,
  sampleTime,
  sampleType,
} from '../../test/samples/sample-objects.ts'
import { schedule } from '../../test/samples/schedule.ts'
import { evaluate } from '../disruption/evaluate.ts'
import { disruptionWorld } from '../disruption/world.ts'
import type { Condition, Pod } from '../objects.ts'
import { indexOf } from '../scheduling/cluster-index/index-of.ts'
import { realPlan } from './buffer-pods.ts'

const now = sampleTime + 3_600_000
const instanceTypes = new Map([['default', [sampleType('four', 4)]]])
const labels = {
  'karpenter.sh/nodepool': 'default',
  'node.kubernetes.io/instance-type': 'four',
  'karpenter.sh/capacity-type': 'on-demand',
  'topology.kubernetes.io/zone': 'zone-1',
}
const conditions = ['Launched', 'Registered', 'Initialized', 'Consolidatable'].map((one) => sampleCondition(one))
const virtual = (name: string, cpu: string, change: Partial<Pod> = {}): Pod => ({
  ...samplePod(name, { requests: { cpu, memory: '256Mi', pods: 1 } }),
  buffer: 'default/spare',
  ...change,
})

function cluster(nodes: readonly string[], pods: readonly Pod[], ready: Condition['status'] = 'True') {
  return indexOf({
    nodes: nodes.map((name) =>
      sampleNode(name, { metadata: { labels }, allocatable: { cpu: 4, memory: '16Gi', pods: 110 } }),
    ),
    nodeClaims: nodes.map((name) => sampleClaim(name, { metadata: { labels }, status: { conditions } })),
    pods,
    nodePools: [
      samplePool('default', {
        conditions: [sampleCondition('Ready', ready)],
        disruption: { consolidateAfter: '0s', budgets: [{ nodes: '100%' }] },
      }),
    ],
    daemonSets: [],
    podDisruptionBudgets: [],
  })
}

const placesOf = (nodes: readonly string[], pods: readonly Pod[]) => {
  const plan = schedule(cluster(nodes, pods).snapshot(instanceTypes, { now }))
  return {
    existing: plan.existing.map(({ node, pods: own }) => [node, own.map(({ metadata }) => metadata.name)]),
    claims: plan.newNodeClaims.map(({ pods: own }) => own.map(({ metadata }) => metadata.name)),
    real: realPlan(plan),
  }
}

describe('a plan', () => {
  it('places virtual pods last, however large they are, and what exists as if they were not there', () => {
    const real = samplePod('real', { requests: { cpu: '2', memory: '256Mi', pods: 1 } })
    const { existing, claims, real: own } = placesOf(['a'], [virtual('buffer:spare:1', '3'), real])
    expect(existing).toEqual([['a', ['real']]])
    expect(claims).toEqual([['buffer:spare:1']])
    expect(own.newNodeClaims).toEqual([])
    expect(own.existing).toHaveLength(1)
  })

  it('places no real pod by a rule that a virtual one fulfils', () => {
    const spare = virtual('buffer:spare:1', '1')
    const labelled = { ...spare, metadata: { ...spare.metadata, labels: { app: 'web' } } }
    const needs = samplePod('needs', {
      affinity: {
        podAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: [
            { topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: { app: 'web' } } },
          ],
        },
      },
    })
    const { real } = placesOf(['a'], [labelled, needs])
    expect(real.unschedulable.map(({ pod }) => pod.metadata.name)).toEqual(['needs'])
  })
})

describe('an evaluation', () => {
  const evaluated = (nodes: readonly string[], pods: readonly Pod[], ready?: Condition['status']) => {
    const scheduling = {}
    const world = disruptionWorld(cluster(nodes, pods, ready).source(instanceTypes, { now }), instanceTypes, {
      now,
      scheduling,
      nominated: new Set(),
    })
    return evaluate(world, sampleEvaluation(instanceTypes, { scheduling, imageTrials: new Map() }))
  }
  const removed = ({ commands }: ReturnType<typeof evaluated>) =>
    commands.flatMap(({ candidates }) => candidates.map(({ node }) => node.metadata.name))

  it('removes empty nodes but those whose room a buffer needs, and says so', () => {
    const found = evaluated(['a', 'b'], [virtual('buffer:spare:1', '2'), virtual('buffer:spare:2', '1')])
    expect(removed(found)).toHaveLength(1)
    const [kept = ''] = ['a', 'b'].filter((name) => !removed(found).includes(name))
    expect(found.blocked.map(({ cause }) => cause)).toContainEqual({
      kind: 'buffer-pods',
      node: kept,
      buffers: ['default/spare'],
    })
  })

  it('removes all without a buffer', () => {
    expect(removed(evaluated(['a', 'b'], [])).sort()).toEqual(['a', 'b'])
  })

  it('removes no empty node for which a buffer may have to wait while no NodePool is ready', () => {
    expect(removed(evaluated(['a', 'b'], [virtual('buffer:spare:1', '2')], 'False'))).toEqual([])
    expect(removed(evaluated(['a', 'b'], [], 'False')).sort()).toEqual(['a', 'b'])
  })
})
