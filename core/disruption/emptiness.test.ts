import { describe, expect, it } from 'vitest'
import type { PodDisruptionBudget } from '../objects.ts'
import { ownedBy, sampleClaim, sampleMeta, sampleNode, samplePod, samplePool, sampleTime } from '../sample-objects.ts'
import type { DisruptionSnapshot } from './candidates.ts'
import { emptyCandidates, planEmptiness, validateEmptiness } from './emptiness.ts'

const minute = 60_000
const cluster = (change: Partial<DisruptionSnapshot> = {}): DisruptionSnapshot => ({
  nodes: [sampleNode('a')],
  nodeClaims: [sampleClaim('a')],
  podsByNode: new Map(),
  nodePools: [samplePool()],
  podDisruptionBudgets: [],
  nominated: new Set(),
  now: sampleTime + minute,
  ...change,
})
const unlimited = { budgetFor: () => Number.MAX_SAFE_INTEGER }
const chosen = (snapshot: DisruptionSnapshot, options: Parameters<typeof planEmptiness>[1] = unlimited) =>
  planEmptiness(snapshot, options).command?.candidates.map(({ nodeName }) => nodeName) ?? []
const running = (name: string, change: Parameters<typeof samplePod>[1] = {}) =>
  samplePod(name, { phase: 'Running', ...change })
const withPod = (pod: ReturnType<typeof samplePod>) => ({ podsByNode: new Map([['a', [pod]]]) })

describe('planEmptiness', () => {
  it('takes a node that has been empty for long enough', () => {
    expect(planEmptiness(cluster(), unlimited)).toEqual({
      command: {
        reason: 'Empty',
        candidates: [{ nodeClaim: 'a-claim', uid: 'uid-a-claim', nodeName: 'a', nodePool: 'default' }],
      },
      blocked: [],
    })
  })

  it('waits for consolidateAfter, says until when, and does not wait when forced', () => {
    const early = cluster({ now: sampleTime + 10_000 })
    expect(planEmptiness(early, unlimited)).toEqual({ blocked: [], nextChange: sampleTime + 30_000 })
    expect(chosen(early, { ...unlimited, forced: true })).toEqual(['a'])
  })

  it.each([
    ['a pod of a Deployment', running('p', { metadata: ownedBy('ReplicaSet') }), []],
    [
      'a pod that ends in a StatefulSet',
      running('p', { metadata: { ...ownedBy('StatefulSet'), deletionTimestamp: '2026-01-01T00:00:00Z' } }),
      [],
    ],
    ['a daemon', running('p', { metadata: ownedBy('DaemonSet') }), ['a']],
    ['a mirror pod', running('p', { metadata: ownedBy('Node', 'v1') }), ['a']],
    ['a pod that has ended', samplePod('p', { phase: 'Succeeded' }), ['a']],
  ])('sees whether a node is empty: %s', (_, pod, expected) => {
    expect(chosen(cluster(withPod(pod)))).toEqual(expected)
  })

  const daemon = (annotations: Record<string, string>) =>
    running('d', { metadata: { ...ownedBy('DaemonSet'), annotations } })
  it.each<[string, Partial<DisruptionSnapshot>]>([
    ['Nodeclaim does not have an associated node', { nodes: [] }],
    [
      "Node isn't initialized",
      { nodes: [sampleNode('a', { metadata: { labels: { 'karpenter.sh/initialized': '' } } })] },
    ],
    ['Node is nominated for a pending pod', { nominated: new Set(['a-claim']) }],
    [
      'Disruption is blocked through the "karpenter.sh/do-not-disrupt" annotation',
      { nodes: [sampleNode('a', { metadata: { annotations: { 'karpenter.sh/do-not-disrupt': 'true' } } })] },
    ],
    ['NodePool not found (NodePool=default)', { nodePools: [] }],
    [
      'Pod has "karpenter.sh/do-not-disrupt" annotation (Pod=default/d)',
      withPod(daemon({ 'karpenter.sh/do-not-disrupt': 'true' })),
    ],
    [
      'NodePool "default" has consolidation disabled',
      { nodePools: [samplePool('default', { disruption: { consolidateAfter: 'Never' } })] },
    ],
  ])('tells what blocks: %s', (message, change) => {
    const plan = planEmptiness(cluster(change), unlimited)
    expect(plan.command).toBeUndefined()
    expect(plan.blocked).toMatchObject([{ object: { kind: 'NodeClaim', name: 'a-claim' }, message }])
    const passing = [
      'Nodeclaim does not have an associated node',
      "Node isn't initialized",
      'Node is nominated for a pending pod',
    ]
    expect(plan.blocked[0]?.isPassing ?? false).toBe(passing.includes(message))
  })

  it('knows when a timed protection ends', () => {
    const pod = { ...daemon({ 'karpenter.sh/do-not-disrupt': '10m' }), startTime: new Date(sampleTime).toISOString() }
    const plan = planEmptiness(cluster(withPod(pod)), unlimited)
    expect(plan).toMatchObject({ blocked: [{ reason: 'DisruptionBlocked' }], nextChange: sampleTime + 10 * minute })
    expect(chosen(cluster({ ...withPod(pod), now: sampleTime + 10 * minute }))).toEqual(['a'])
  })

  it('respects pod disruption budgets of daemons', () => {
    const pdb = (change: Partial<PodDisruptionBudget> = {}): PodDisruptionBudget => ({
      kind: 'PodDisruptionBudget',
      metadata: sampleMeta('pdb', { namespace: 'default' }),
      selector: {},
      disruptionsAllowed: 0,
      ...change,
    })
    const blocked = (podDisruptionBudgets: readonly PodDisruptionBudget[], pod = daemon({})) =>
      planEmptiness(cluster({ ...withPod(pod), podDisruptionBudgets }), unlimited).blocked.map(({ message }) => message)
    expect(blocked([pdb()])).toEqual(['Pdb prevents pod evictions (PodDisruptionBudget=[default/pdb])'])
    expect(blocked([pdb({ disruptionsAllowed: 1 })])).toEqual([])
    expect(blocked([pdb({ disruptionsAllowed: 1 }), pdb()])[0]).toMatch(/^Eviction does not support multiple PDBs/)
    const unready = { ...daemon({}), conditions: [{ type: 'Ready', status: 'False' as const }] }
    expect(blocked([pdb({ unhealthyPodEvictionPolicy: 'AlwaysAllow' })], unready)).toEqual([])
  })

  it('says nothing of a node that is on its way out, and leaves it out', () => {
    const nodeClaims = [sampleClaim('a', { metadata: { annotations: { 'joiner.sh/disruption-command': 'x' } } })]
    expect(planEmptiness(cluster({ nodeClaims }), unlimited)).toEqual({ blocked: [] })
  })

  it('keeps to the budget, which nodes that are not ready use up as well', () => {
    const nodes = [sampleNode('a'), sampleNode('b'), sampleNode('c', { conditions: [] })]
    const nodeClaims = ['a', 'b', 'c'].map((name) => ({
      ...sampleClaim(name),
      metadata: sampleMeta(`${name}-claim`, { labels: { 'karpenter.sh/nodepool': 'default' } }),
    }))
    const asked: number[] = []
    const budgetFor = (_: unknown, count: number) => {
      asked.push(count)
      return 2
    }
    expect(chosen(cluster({ nodes, nodeClaims }), { budgetFor })).toEqual(['a'])
    expect(asked).toEqual([3])
    expect(planEmptiness(cluster({ nodes, nodeClaims }), { budgetFor: () => 1 })).toEqual({
      blocked: [
        {
          object: { kind: 'NodePool', name: 'default' },
          reason: 'DisruptionBlocked',
          message: 'No allowed disruptions for disruption reason Empty due to blocking budget',
        },
      ],
    })
  })
})

describe('validateEmptiness', () => {
  const command = planEmptiness(cluster(), unlimited).command ?? { reason: 'Empty', candidates: [] }

  it('keeps what is still right', () => {
    expect(validateEmptiness(command, cluster(), unlimited)).toEqual(command.candidates)
    expect(validateEmptiness(command, cluster({ nominated: new Set(['a']) }), unlimited)).toEqual([])
    expect(validateEmptiness(command, cluster(withPod(running('p'))), unlimited)).toEqual([])
    expect(validateEmptiness(command, cluster(), { budgetFor: () => 0 })).toEqual([])
  })

  it('does not take another claim of the same name for a candidate', () => {
    const nodeClaims = [
      sampleClaim('a', { metadata: { uid: 'another', labels: { 'karpenter.sh/nodepool': 'default' } } }),
    ]
    expect(validateEmptiness(command, cluster({ nodeClaims }), unlimited)).toEqual([])
  })

  it('recognises the stamp of its own command', () => {
    const nodeClaims = [
      sampleClaim('a', {
        metadata: {
          labels: { 'karpenter.sh/nodepool': 'default' },
          annotations: { 'joiner.sh/disruption-command': 'mine' },
        },
      }),
    ]
    expect(validateEmptiness(command, cluster({ nodeClaims, commandId: 'mine' }), unlimited)).toHaveLength(1)
    expect(validateEmptiness(command, cluster({ nodeClaims, commandId: 'other' }), unlimited)).toEqual([])
    expect(emptyCandidates(cluster({ nodeClaims })).candidates).toEqual([])
  })
})
