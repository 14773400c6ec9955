import { describe, expect, it } from 'vitest'
import { samplePod, samplePool, sampleType } from '../../../test/samples/sample-objects.ts'
import { schedule } from '../../../test/samples/schedule.ts'
import type { InstanceType } from '../../instance-type.ts'
import type { Pod } from '../../objects.ts'
import { requirements } from '../../requirements/requirements.ts'
import { type ExplainedPlan, explainedPlan } from '../schedule.ts'
import type { NodePoolOption, SchedulingOptions, SchedulingSnapshot } from '../snapshot.ts'

const zone = 'topology.kubernetes.io/zone'
const types = [sampleType('small', 2), sampleType('medium', 4), sampleType('large', 8)]
const option = (change: Partial<NodePoolOption> = {}): NodePoolOption => ({
  nodePool: samplePool(),
  instanceTypes: types,
  usage: {},
  ...change,
})
const explained = (change: Partial<SchedulingSnapshot>, options: SchedulingOptions = {}): ExplainedPlan =>
  explainedPlan({ pods: [], nodes: [], nodePools: [option()], daemonSets: [], ...change }, options)

/** Returns the obstacles of a pod that is alone in its pass, by pool: `types>requirements>resources>offerings>limits: miss`. */
function misses(pod: Pod, change: Partial<SchedulingSnapshot> = {}): readonly string[] {
  const answer = explained({ pods: [pod], ...change })
  expect(answer.plan.unschedulable).toHaveLength(1)
  return answer.podFunnels(pod).map(({ nodePool, funnel, nearestMiss }) => {
    const counts = [funnel.types, funnel.requirements, funnel.resources, funnel.offerings, funnel.limits]
    return `${nodePool} ${counts.join('>')}: ${nearestMiss}`
  })
}

/** A type with offerings in these zones only, while its labels name all. */
function soldIn(name: string, cpus: number, ...zones: readonly string[]): InstanceType {
  const type = sampleType(name, cpus)
  const offerings = type.offerings.filter(({ requirements: own }) =>
    [...(own.get(zone)?.values ?? [])].some((one) => zones.includes(one)),
  )
  return { ...type, offerings }
}

describe('PodFunnels', () => {
  it('names what the nearest type lacks', () => {
    expect(misses(samplePod('p', { requests: { cpu: 10, memory: '1Gi' } }))).toEqual([
      'default 3>3>0>0>0: needs 2 more cpu than large leaves for pods, the nearest of 3 types',
    ])
  })

  it('names the requirement that rules out the types that would do', () => {
    expect(misses(samplePod('p', { nodeSelector: { 'kubernetes.io/arch': 'arm64' } }))).toEqual([
      'default 3>0>0>0>0: only arch amd64 has it (3 types), ruled out by arch In [arm64] of the pod',
    ])
  })

  it('names the zone that has it and the volume that pins the pod elsewhere', () => {
    const pod = samplePod('p', { persistentVolumeClaims: ['data-0'] })
    const pinned = { alternatives: [[{ key: zone, operator: 'In' as const, values: ['zone-1'] }]], byDriver: {} }
    const pools = [option({ instanceTypes: [soldIn('large', 8, 'zone-2')] })]
    expect(misses(pod, { podVolumes: new Map([[pod, pinned]]), nodePools: pools })).toEqual([
      'default 1>1>1>0>0: only zone zone-2 has it (1 type), ruled out by zone In [zone-1] of volume "data-0"',
    ])
  })

  it('says that a pool and a volume exclude each other', () => {
    const pod = samplePod('p', { persistentVolumeClaims: ['data-0'] })
    const pinned = { alternatives: [[{ key: zone, operator: 'In' as const, values: ['zone-1'] }]], byDriver: {} }
    const pool = samplePool('a', { spec: { requirements: [{ key: zone, operator: 'In', values: ['zone-2'] }] } })
    expect(misses(pod, { podVolumes: new Map([[pod, pinned]]), nodePools: [option({ nodePool: pool })] })).toEqual([
      'a 3>0>0>0>0: only zone zone-2 has it (3 types), ruled out by zone In [zone-1] of volume "data-0"',
    ])
  })

  it('compares limits with the smallest type that is left, for each pool', () => {
    const pools = [
      option({ nodePool: samplePool('b', { limits: { cpu: 1 } }) }),
      option({ nodePool: samplePool('a', { limits: { nodes: 0 } }) }),
    ]
    expect(misses(samplePod('p'), { nodePools: pools })).toEqual([
      'b 3>3>3>3>0: limits: limit 1 cpu, in use 0 cpu, the smallest type left has 2 cpu',
      'a 3>3>3>3>0: limits: limit 0 nodes, in use 0 nodes',
    ])
  })

  it('reports taints, undefined labels, and pools without types', () => {
    const tainted = samplePool('t', { spec: { taints: [{ key: 'team', value: 'a', effect: 'NoSchedule' }] } })
    expect(misses(samplePod('p'), { nodePools: [option({ nodePool: tainted })] })).toEqual([
      't 3>0>0>0>0: its taint team=a:NoSchedule is not tolerated',
    ])
    expect(misses(samplePod('p', { nodeSelector: { 'example.com/team': 'a' } }))).toEqual([
      'default 3>0>0>0>0: label "example.com/team" does not have known values',
    ])
    expect(misses(samplePod('p'), { nodePools: [option({ instanceTypes: [] })] })).toEqual([
      'default 0>0>0>0>0: it has no instance types',
    ])
  })

  it('reports minValues when there are types, but too few', () => {
    const key = 'node.kubernetes.io/instance-type'
    const pool = samplePool('m', { spec: { requirements: [{ key, operator: 'Exists', minValues: 3 }] } })
    const pod = samplePod('p', { requests: { cpu: 3 } })
    expect(misses(pod, { nodePools: [option({ nodePool: pool })] })).toEqual([
      'm 3>3>2>2>2: 2 types would do, with 2 different values of instance type where minValues asks for 3',
    ])
  })

  it('has nothing to say of pods that were placed or never tried', () => {
    const placed = samplePod('p')
    expect(explained({ pods: [placed] }).podFunnels(placed)).toEqual([])
    expect(explained({ pods: [placed], nodePools: [] }).podFunnels(placed)).toEqual([])
  })
})

describe('ClaimFunnels', () => {
  const reasons = (answer: ExplainedPlan) => {
    const [claim] = answer.plan.newNodeClaims
    return claim && answer.claimReasons(claim)
  }

  it('counts the cheaper types by the reason that excludes them', () => {
    const pod = samplePod('p', { requests: { cpu: 5 } })
    expect(reasons(explained({ pods: [pod] }))).toMatchObject({
      funnel: { types: 3, requirements: 3, resources: 1, offerings: 1, limits: 1 },
      named: 1,
      cheapest: { type: 'large' },
      cheaper: [{ count: 2, example: 'small', reason: 'too little cpu' }],
    })
  })

  it('names the requirement of the pods that costs more', () => {
    const arm = sampleType('arm', 1)
    const slow = {
      ...arm,
      requirements: new Map([
        ...arm.requirements,
        ...requirements([{ key: 'kubernetes.io/arch', operator: 'In', values: ['arm64'] }]),
      ]),
    }
    const pod = samplePod('p', {
      requests: { cpu: '100m', memory: '100Mi' },
      nodeSelector: { 'kubernetes.io/arch': 'amd64' },
    })
    const pools = [option({ instanceTypes: [...types, slow] })]
    expect(reasons(explained({ pods: [pod], nodePools: pools }))?.cheaper).toMatchObject([
      { count: 1, example: 'arm', reason: 'their pods need arch In [amd64]' },
    ])
  })

  it('changes nothing about the plan', () => {
    const pods = [samplePod('p'), samplePod('q', { requests: { cpu: 100 } })]
    const snapshot = { pods, nodes: [], nodePools: [option()], daemonSets: [] }
    const answer = explainedPlan(snapshot)
    answer.podFunnels(pods[1] as Pod)
    reasons(answer)
    expect(answer.plan).toEqual(schedule(snapshot))
  })
})
