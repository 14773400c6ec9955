import { describe, expect, it } from 'vitest'
import {
  ownedBy,
  sampleClaim,
  sampleCondition,
  sampleNode,
  samplePod,
  samplePool,
  sampleTime,
  sampleType,
} from '../../test/samples/sample-objects.ts'
import { schedule } from '../../test/samples/schedule.ts'
import { disruptionWorld } from '../disruption/world.ts'
import type { Pod, TopologySpreadConstraint } from '../objects.ts'
import { indexOf } from './cluster-index/index-of.ts'
import { Amounts } from './offerings/amounts.ts'
import { isHeavy, podCost } from './pod-cost.ts'
import type { SchedulingOptions, SchedulingPlan, SchedulingSnapshot } from './snapshot.ts'
import { schedulableNodes } from './state-nodes.ts'

const types = [sampleType('small', 2), sampleType('large', 8)]
const plan = (change: Partial<SchedulingSnapshot>, options: SchedulingOptions = {}): SchedulingPlan =>
  schedule(
    {
      pods: [],
      nodes: [],
      nodePools: [{ nodePool: samplePool(), instanceTypes: types, usage: {} }],
      daemonSets: [],
      ...change,
    },
    options,
  )
const times = <T>(count: number, make: (at: number) => T) => Array.from({ length: count }, (_, at) => make(at))
const placed = ({ newNodeClaims, existing }: SchedulingPlan) =>
  [...newNodeClaims, ...existing].flatMap(({ pods }) => pods.map(({ metadata }) => metadata.name)).sort()
const causeOf = ({ unschedulable }: SchedulingPlan, name: string) =>
  unschedulable.find(({ pod }) => pod.metadata.name === name)?.cause

const anyway = (key: string): TopologySpreadConstraint => ({
  maxSkew: 1,
  topologyKey: key,
  whenUnsatisfiable: 'ScheduleAnyway',
  labelSelector: {},
})
/** A pod with this many preferences, all of which can be given up. */
const withSpreads = (name: string, count: number, change: Parameters<typeof samplePod>[1] = {}) =>
  samplePod(name, { topologySpreadConstraints: times(count, (at) => anyway(`${name}/k${at}`)), ...change })

describe('a pod that keeps all others away by a key that no node has', () => {
  const hermit = samplePod('a-hermit', {
    requests: { cpu: 7 },
    affinity: {
      podAntiAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: [
          { topologyKey: 'example.com/nowhere', labelSelector: {}, namespaceSelector: {} },
        ],
      },
    },
  })

  it('has no place itself, and keeps no pod from any node', () => {
    const result = plan({ pods: [hermit, samplePod('web')] })
    expect(placed(result)).toEqual(['web'])
    expect(causeOf(result, 'a-hermit')).toMatchObject({ refusals: [{ kind: 'topology', rule: 'pod anti-affinity' }] })
  })
})

describe('resources that no type offers', () => {
  const asking = (name: string, amount: string) =>
    samplePod(name, { requests: Object.fromEntries(times(50, (at) => [`example.com/${name}-${at}`, amount])) })

  it('leave a pod without a place, unless it asks for none of them', () => {
    const result = plan({ pods: [asking('wants', '1'), asking('names', '0'), samplePod('web')] })
    expect(placed(result)).toEqual(['names', 'web'])
    expect(causeOf(result, 'wants')).toMatchObject({
      refusals: [{ problem: { kind: 'unmet', criteria: ['resources'] } }],
    })
  })

  it('take one place in the vectors, however many there are', () => {
    const amounts = new Amounts()
    amounts.offered(types[0]?.capacity ?? {})
    const { size } = amounts
    for (const pod of times(100, (at) => asking(`p${at}`, '1'))) amounts.asked(pod.requests)
    expect(amounts.size).toBe(size)
    expect(amounts.vector(asking('p', '1').requests)[0]).toBe(1)
    expect(amounts.vector(asking('p', '0').requests)[0]).toBe(0)
  })
})

describe('pods with many constraints', () => {
  it('are identified by their worst-case cost', () => {
    expect([16, 17].map((count) => isHeavy(withSpreads('p', count)))).toEqual([false, true])
    const values = (count: number) =>
      samplePod('v', {
        affinity: {
          nodeAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: {
              nodeSelectorTerms: [
                { matchExpressions: [{ key: 'k', operator: 'NotIn', values: times(count, (at) => `v${at}`) }] },
              ],
            },
          },
        },
      })
    expect([100, 600].map((count) => isHeavy(values(count)))).toEqual([false, true])
    expect(podCost(samplePod('plain'))).toBe(0)
  })

  it('are placed after all others, those with the fewest first', () => {
    const order: string[] = []
    const pods = [withSpreads('z', 20), withSpreads('m', 40), withSpreads('b', 30), samplePod('web')]
    let begun = false
    const result = plan(
      { pods: pods.map((pod) => watched(pod, () => begun && order.push(pod.metadata.name))) },
      {
        heavyPodsBegin: () => {
          begun = true
          return () => true
        },
      },
    )
    expect(placed(result)).toEqual(['b', 'm', 'web', 'z'])
    expect([...new Set(order)]).toEqual(['z', 'b', 'm'])
  })

  it('do not affect where the others go', () => {
    const hermit = samplePod('hermit', {
      requests: { cpu: 7 },
      affinity: {
        podAntiAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: times(20, () => ({
            topologyKey: 'topology.kubernetes.io/zone',
            labelSelector: {},
            namespaceSelector: {},
          })),
        },
      },
    })
    // It is the largest, and if it came first no zone would be left.
    expect(placed(plan({ pods: [hermit, ...times(5, (at) => samplePod(`web-${at}`))] }))).toContain('web-4')
  })

  it('wait for another pass when their time is over, and a pod that had all of it is reported', () => {
    const pods = [...times(4, (at) => withSpreads(`heavy-${at}`, 20 + at)), samplePod('web')]
    const within = (asked: number) => {
      let left = asked
      return plan({ pods }, { heavyPodsBegin: () => () => left-- > 0 })
    }
    const none = within(0)
    expect(placed(none)).toEqual(['web'])
    expect(causeOf(none, 'heavy-0')).toEqual({ kind: 'takes-too-long', what: 'pass' })
    expect(none.postponed?.map(({ metadata }) => metadata.name)).toEqual(['heavy-1', 'heavy-2', 'heavy-3'])
    const some = within(45)
    expect(placed(some)).toEqual(['heavy-0', 'heavy-1', 'web'])
    expect(some.unschedulable).toEqual([])
    expect(some.postponed?.map(({ metadata }) => metadata.name)).toEqual(['heavy-2', 'heavy-3'])
  })

  it('are placed as they would be alone when there is time', () => {
    const heavy = withSpreads('heavy', 30)
    expect(placed(plan({ pods: [heavy] }))).toEqual(['heavy'])
  })
})

/** The pod, with a callback for each read of its spread constraints. */
function watched(pod: Pod, look: () => void): Pod {
  return Object.defineProperty({ ...pod }, 'topologySpreadConstraints', {
    enumerable: true,
    get: () => {
      look()
      return pod.topologySpreadConstraints
    },
  })
}

describe("a pod beyond the scheduler's limits", () => {
  const excess = { refused: 'spec.tolerations: 300 are too many, at most 256 are allowed' }

  it('is left out with the reason, and closes the node on which it runs', () => {
    const waiting = samplePod('waiting', { excess })
    const running = samplePod('running', { excess, nodeName: 'a', phase: 'Running' })
    const nodes = [sampleNode('a'), sampleNode('b')]
    const cluster = {
      nodes,
      nodeClaims: [],
      nodePools: [samplePool('default', { conditions: [sampleCondition('Ready')] })],
    }
    const index = indexOf({
      ...cluster,
      pods: [waiting, running, samplePod('web')],
      daemonSets: [],
      podDisruptionBudgets: [],
    })
    const snapshot = index.snapshot(new Map([['default', types]]), { now: sampleTime })
    const result = schedule(snapshot)
    expect(causeOf(result, 'waiting')).toEqual({ kind: 'too-much', excess: excess.refused })
    expect(result.existing.map(({ node }) => node)).toEqual(['b'])
    const places = schedulableNodes({ ...cluster, podsByNode: new Map([['a', [running]]]), daemonSets: [] })
    expect(places.map(({ name, isClosed }) => [name, isClosed])).toEqual([
      ['a', true],
      ['b', undefined],
    ])
  })
})

describe('disruption', () => {
  const labels = {
    'karpenter.sh/nodepool': 'default',
    'karpenter.sh/registered': 'true',
    'karpenter.sh/initialized': 'true',
  }
  const worldWith = (...pods: readonly Pod[]) => {
    const index = indexOf({
      pods,
      nodes: [sampleNode('a', { metadata: { labels } }), sampleNode('b', { metadata: { labels } })],
      nodeClaims: [sampleClaim('a', { metadata: { labels } }), sampleClaim('b', { metadata: { labels } })],
      nodePools: [samplePool('default', { conditions: [sampleCondition('Ready')] })],
      daemonSets: [],
      podDisruptionBudgets: [],
    })
    const instanceTypes = new Map([['default', types]])
    const now = sampleTime + 3_600_000
    const source = index.source(instanceTypes, { now })
    return disruptionWorld(source, instanceTypes, { now, scheduling: {}, nominated: new Set() })
  }
  const without = (...pods: readonly Pod[]) =>
    worldWith(...pods).simulator.without([{ node: sampleNode('a', { metadata: { labels } }) }], {
      isConsolidation: false,
    })
  const running = { nodeName: 'a', phase: 'Running', metadata: ownedBy('ReplicaSet') } as const

  it('keeps the node of a pod whose constraints take too long to simulate, and says which pod it is', () => {
    const { problems } = without(withSpreads('heavy', 20, running), samplePod('web', running))
    expect(problems.map(({ pod, cause }) => [pod.metadata.name, cause])).toEqual([
      ['heavy', { kind: 'takes-too-long', what: 'simulation' }],
    ])
    expect(without(withSpreads('light', 10, running)).problems).toEqual([])
  })

  it('keeps the node of a pod of which not all is known', () => {
    const { problems } = without(samplePod('odd', { ...running, excess: { refused: 'too much' } }))
    expect(problems.map(({ cause }) => cause)).toEqual([{ kind: 'too-much', excess: 'too much' }])
  })

  it('simulates without pending pods with many constraints', () => {
    const { plan: answer } = without(withSpreads('heavy', 20), samplePod('waits'), samplePod('web', running))
    expect(placed(answer)).toEqual(['waits', 'web'])
  })
})
