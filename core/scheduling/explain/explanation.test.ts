import { describe, expect, it } from 'vitest'
import { samplePod, samplePool, sampleType } from '../../../test/samples/sample-objects.ts'
import type { InstanceType } from '../../instance-type.ts'
import type { Pod } from '../../objects.ts'
import { labels } from '../../requirements/labels.ts'
import { inValues } from '../../requirements/requirement.ts'
import { explainedPlan } from '../schedule.ts'
import type { NodePoolOption, SchedulingSnapshot } from '../snapshot.ts'
import { type Explanation, explanationOf } from './explanation.ts'

const zone = 'topology.kubernetes.io/zone'
const types = [sampleType('small', 2), sampleType('medium', 4), sampleType('large', 8)]
const option = (change: Partial<NodePoolOption> = {}): NodePoolOption => ({
  nodePool: samplePool(),
  instanceTypes: types,
  usage: {},
  ...change,
})

/** What is said of a pod that is alone in its pass and finds no place. */
function explained(pod: Pod, change: Partial<SchedulingSnapshot> = {}): Explanation | undefined {
  const snapshot = { pods: [pod], nodes: [], nodePools: [option()], daemonSets: [], ...change }
  const answer = explainedPlan(snapshot)
  expect(answer.plan.unschedulable).toHaveLength(1)
  return answer.explanation(pod)
}

const soldOut = (type: InstanceType): InstanceType => ({
  ...type,
  offerings: type.offerings.map((offering) => ({ ...offering, available: false })),
})

const pinnedTo = (pod: Pod, value: string) =>
  new Map([[pod, { alternatives: [[{ key: zone, operator: 'In' as const, values: [value] }]], byDriver: {} }]])

describe('what the planner says of a pod without a place', () => {
  it('that it is too big, what it lacks, and which types have room', () => {
    const pool = samplePool('p', {
      spec: { requirements: [{ key: 'node.kubernetes.io/instance-type', operator: 'In', values: ['small'] }] },
    })
    const pod = samplePod('web', { requests: { cpu: 3 } })
    expect(explained(pod, { nodePools: [option({ nodePool: pool })] })).toEqual({
      cause: 'too-big',
      nodePool: 'p',
      finding: 'NodePool "p": needs 1 more cpu than small leaves for pods, the nearest of 1 type',
      funnel: [
        'NodePool p: 3 types; left after requirements 1, resources 0, offerings 0, limits 0; needs 1 more cpu than small leaves for pods, the nearest of 1 type',
      ],
      remedies: [
        'lower spec.containers[].resources.requests of the pods by 1 cpu: then small has room',
        'let NodePool "p" allow large, medium for node.kubernetes.io/instance-type in spec.template.spec.requirements (it has node.kubernetes.io/instance-type In [small]): 2 instance types would do',
      ],
      missing: [],
      wantedPools: [],
    })
  })

  it('which label nobody has, with its value', () => {
    expect(explained(samplePod('web', { nodeSelector: { 'example.com/team': 'a' } }))).toMatchObject({
      cause: 'requirements',
      remedies: [
        'give the nodes of NodePool "default" the label: example.com/team: a in spec.template.metadata.labels',
        'remove example.com/team from nodeSelector and node affinity of the pods',
      ],
    })
  })

  it('which architecture the NodePool does not allow, or no type has', () => {
    const wantsArm = samplePod('web', { nodeSelector: { 'kubernetes.io/arch': 'arm64' } })
    const pool = samplePool('p', {
      spec: { requirements: [{ key: 'kubernetes.io/arch', operator: 'In', values: ['amd64'] }] },
    })
    expect(explained(wantsArm, { nodePools: [option({ nodePool: pool })] })?.remedies).toEqual([
      'let NodePool "p" allow arm64 for kubernetes.io/arch in spec.template (it has kubernetes.io/arch In [amd64])',
      'let the pods ask for amd64 in place of arm64: kubernetes.io/arch in nodeSelector and node affinity',
    ])
    expect(explained(wantsArm)?.remedies).toEqual([
      'let the pods take amd64 for kubernetes.io/arch in nodeSelector and node affinity (they ask for kubernetes.io/arch In [arm64])',
    ])
  })

  it('which taint it does not tolerate, and that it would fit but for it', () => {
    const tainted = samplePool('t', { spec: { taints: [{ key: 'team', value: 'a', effect: 'NoSchedule' }] } })
    expect(explained(samplePod('web'), { nodePools: [option({ nodePool: tainted })] })).toMatchObject({
      cause: 'taints',
      remedies: [
        'add a toleration for team=a:NoSchedule to the pods, or remove that taint from spec.template.spec.taints of NodePool "t"',
      ],
    })
  })

  it('by how much limits have to be raised, as a command', () => {
    const limited = samplePool('l', { limits: { cpu: 5, nodes: 3 } })
    const usage = { cpu: { nano: 4_000_000_000n, format: 'DecimalSI' } } as const
    expect(explained(samplePod('web'), { nodePools: [option({ nodePool: limited, usage })] })).toMatchObject({
      cause: 'limits',
      remedies: [`raise the limits: kubectl patch nodepool l --type merge --patch '{"spec":{"limits":{"cpu":"6"}}}'`],
    })
    const full = samplePool('l', { limits: { nodes: 0 } })
    expect(explained(samplePod('web'), { nodePools: [option({ nodePool: full })] })?.remedies).toEqual([
      `raise the limits: kubectl patch nodepool l --type merge --patch '{"spec":{"limits":{"nodes":"1"}}}'`,
    ])
  })

  it('where its volume is, and who excludes that zone', () => {
    const pod = samplePod('web', { persistentVolumeClaims: ['data-0'] })
    const pool = samplePool('v', { spec: { requirements: [{ key: zone, operator: 'In', values: ['zone-2'] }] } })
    const change = { podVolumes: pinnedTo(pod, 'zone-1'), nodePools: [option({ nodePool: pool })] }
    expect(explained(pod, change)).toMatchObject({
      cause: 'volume',
      remedies: [
        `let NodePool "v" allow zone-1 for ${zone} in spec.template.spec.requirements, where volume "data-0" can be attached (it has ${zone} In [zone-2])`,
      ],
    })
  })

  it('which offerings would do if they could be bought', () => {
    const pools = [option({ instanceTypes: types.map(soldOut) })]
    const found = explained(samplePod('web', { requests: { cpu: 3 }, nodeSelector: { [zone]: 'zone-1' } }), {
      nodePools: pools,
    })
    expect(found).toMatchObject({ cause: 'capacity', nodePool: 'default' })
    expect([...new Set(found?.missing.map(({ instanceType }) => instanceType))]).toEqual(['large', 'medium'])
    expect([...new Set(found?.missing.map((one) => one.zone))]).toEqual(['zone-1'])
  })

  it('that the types with room cannot be bought, where others can and are too small', () => {
    const [small = sampleType('small', 2), ...larger] = types
    // As the catalogue makes them: a type has the capacity types that it can be bought as.
    const refused = larger.map(soldOut).map((type) => ({
      ...type,
      requirements: new Map([...type.requirements, [labels.capacityType, inValues(labels.capacityType, [])]]),
    }))
    const found = explained(samplePod('web', { requests: { cpu: 3 } }), {
      nodePools: [option({ instanceTypes: [small, ...refused] })],
    })
    expect(found).toMatchObject({
      cause: 'capacity',
      funnel: [
        'NodePool default: 3 types; left after requirements 3, resources 2, offerings 0, limits 0; 2 types would do, and none of them can be bought as on-demand or spot now: large, medium',
      ],
    })
    // Too big for all of them, it is the pod's own doing.
    expect(
      explained(samplePod('web', { requests: { cpu: 30 } }), {
        nodePools: [option({ instanceTypes: [small, ...refused] })],
      }),
    ).toMatchObject({ cause: 'too-big' })
  })

  it('which minValues is too high', () => {
    const key = 'node.kubernetes.io/instance-type'
    const pool = samplePool('m', { spec: { requirements: [{ key, operator: 'Exists', minValues: 3 }] } })
    expect(
      explained(samplePod('web', { requests: { cpu: 3 } }), { nodePools: [option({ nodePool: pool })] }),
    ).toMatchObject({
      cause: 'requirements',
      remedies: [
        `lower minValues of ${key} in spec.template.spec.requirements of NodePool "m" to 2, or allow more values`,
      ],
    })
  })

  it('which NodePool it asks for that takes no part', () => {
    expect(explained(samplePod('web', { nodeSelector: { 'karpenter.sh/nodepool': 'gone' } }))).toMatchObject({
      cause: 'node-pools',
      wantedPools: ['gone'],
      remedies: [
        expect.stringMatching(/^create the NodePool that the pods ask for \(karpenter.sh\/nodepool In \[gone\]\)/),
      ],
    })
  })

  it('the nearest NodePool first, and one thing for each other', () => {
    const tainted = samplePool('t', { spec: { taints: [{ key: 'team', effect: 'NoSchedule' }] } })
    const limited = samplePool('l', { limits: { nodes: 0 } })
    const pools = [option({ nodePool: tainted }), option({ nodePool: limited })]
    const found = explained(samplePod('web'), { nodePools: pools })
    expect(found).toMatchObject({ cause: 'limits', nodePool: 'l' })
    expect(found?.remedies.map((text) => text.split(' ')[0])).toEqual(['raise', 'add'])
  })

  it('names causes that no NodePool has a part in', () => {
    expect(explanationOf({ kind: 'volumes', problem: { kind: 'claim-not-found', claim: 'shop/data' } })).toMatchObject({
      cause: 'volume',
      remedies: ['create PersistentVolumeClaim shop/data, or correct claimName in spec.volumes of the pods'],
    })
    expect(explanationOf({ kind: 'no-node-pools' })).toMatchObject({ cause: 'node-pools' })
    expect(explanationOf({ kind: 'ignored', reasons: [{ kind: 'not-on-karpenter' }] })).toMatchObject({
      cause: 'requirements',
    })
  })

  it('says nothing of pods that were placed', () => {
    const placed = samplePod('web')
    const snapshot = { pods: [placed], nodes: [], nodePools: [option()], daemonSets: [] }
    expect(explainedPlan(snapshot).explanation(placed)).toBeUndefined()
  })

  it('keeps texts and lists short, whatever names there are', () => {
    const long = 'x'.repeat(60)
    const pools = Array.from({ length: 20 }, (_, at) => option({ nodePool: samplePool(`${long}${at}`) }))
    const values = Array.from({ length: 100 }, (_, at) => `${long}${at}`)
    const pod = samplePod('web', {
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [{ matchExpressions: [{ key: 'kubernetes.io/arch', operator: 'In', values }] }],
          },
        },
      },
    })
    const found = explained(pod, { nodePools: pools })
    const texts = [found?.finding ?? '', ...(found?.funnel ?? []), ...(found?.remedies ?? [])]
    expect(Math.max(...texts.map(({ length }) => length))).toBeLessThanOrEqual(400)
    expect(found?.funnel).toHaveLength(9)
    expect(found?.remedies.length).toBeLessThanOrEqual(4)
  })
})
