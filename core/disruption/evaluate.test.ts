import { describe, expect, it } from 'vitest'
import {
  ownedBy,
  sampleClaim,
  sampleCondition,
  sampleEvaluation,
  sampleMeta,
  sampleNode,
  samplePod,
  samplePool,
  sampleTime,
  sampleType,
} from '../../test/samples/sample-objects.ts'
import type { Node, NodeClaim, NodePool, Pod, PodDisruptionBudget } from '../objects.ts'
import { Pauses } from '../pauses/pauses.ts'
import { indexOf } from '../scheduling/cluster-index/index-of.ts'
import { type EvaluationSettings, evaluate } from './evaluate.ts'
import { joinerPolicy, karpenterPolicy } from './policy.ts'
import { validate } from './validate.ts'
import { type DisruptionWorld, disruptionWorld, type WorldSettings } from './world.ts'

const now = sampleTime + 3_600_000
const types = [sampleType('two', 2), sampleType('four', 4), sampleType('eight', 8)]
const instanceTypes = new Map([['default', types]])
const ready = [sampleCondition('Ready')]

interface Cluster {
  readonly nodes: readonly Node[]
  readonly nodeClaims: readonly NodeClaim[]
  readonly pods?: readonly Pod[]
  readonly nodePools?: readonly NodePool[]
  readonly podDisruptionBudgets?: readonly PodDisruptionBudget[]
}

const pool = (disruption: Partial<NodePool['disruption']> = {}) =>
  samplePool('default', {
    conditions: ready,
    disruption: { consolidateAfter: '0s', budgets: [{ nodes: '100%' }], ...disruption },
  })

/** A node of a type, unchanged for long enough, optionally drifted. */
function node(name: string, type = 'four', conditions: readonly string[] = ['Consolidatable']) {
  const labels = {
    'karpenter.sh/nodepool': 'default',
    'node.kubernetes.io/instance-type': type,
    'karpenter.sh/capacity-type': 'on-demand',
    'topology.kubernetes.io/zone': 'zone-1',
  }
  const cpu = { two: 2, four: 4, eight: 8 }[type] ?? 4
  const amounts = { cpu, memory: `${cpu * 4}Gi`, pods: 110 }
  return {
    node: sampleNode(name, { metadata: { labels }, allocatable: amounts }),
    claim: sampleClaim(name, {
      metadata: { labels },
      status: {
        conditions: ['Launched', 'Registered', 'Initialized', ...conditions].map((one) => sampleCondition(one)),
      },
    }),
  }
}

/** The same node as one of a command's nodes, or as one of its replacements. */
const marked = (one: ReturnType<typeof node>, annotation: string) => ({
  ...one,
  claim: { ...one.claim, metadata: { ...one.claim.metadata, annotations: { [annotation]: 'x' } } },
})

const holding = (one: ReturnType<typeof node> | undefined) => marked(one ?? node('a', 'eight'), 'joiner.sh/hold-until')

const pod = (name: string, nodeName: string, cpu: string, change: Parameters<typeof samplePod>[1] = {}) =>
  samplePod(name, {
    nodeName,
    phase: 'Running',
    requests: { cpu, memory: '256Mi', pods: 1 },
    ...change,
    metadata: { ...ownedBy('ReplicaSet'), ...change.metadata },
  })

function world(
  all: readonly ReturnType<typeof node>[],
  cluster: Partial<Cluster> = {},
  view: WorldSettings['view'] = {},
) {
  const index = indexOf({
    pods: [],
    nodePools: [pool()],
    daemonSets: [],
    podDisruptionBudgets: [],
    ...cluster,
    nodes: all.map((one) => one.node),
    nodeClaims: all.map(({ claim }) => claim),
  })
  return disruptionWorld(index.source(instanceTypes, { now }), instanceTypes, {
    now,
    scheduling: {},
    nominated: new Set(),
    view,
  })
}

const settings = sampleEvaluation(instanceTypes)

const inflate = { metadata: { labels: { app: 'inflate' } } }
const keepOne: PodDisruptionBudget = {
  kind: 'PodDisruptionBudget',
  metadata: sampleMeta('keep', { namespace: 'default' }),
  selector: { matchLabels: { app: 'inflate' } },
  disruptionsAllowed: 0,
}

const found = (one: DisruptionWorld, change: Partial<EvaluationSettings> = {}) =>
  evaluate(one, { ...settings, ...change }).commands.map(
    ({ method, decision, candidates, replacements }) =>
      `${method} ${decision} ${candidates.map((candidate) => candidate.node.metadata.name).join()}${replacements.map(({ instanceTypes: names }) => ` by ${names.join('|')}`).join('')}`,
  )

describe('evaluate', () => {
  it('takes all empty nodes in one command, and underutilized ones besides', () => {
    const nodes = [node('a'), node('b'), node('c', 'eight')]
    expect(found(world(nodes, { pods: [pod('p', 'c', '1')] }))).toEqual([
      'emptiness delete a,b',
      // Spot is allowed, so even a node of its own size is cheaper.
      'single-node replace c by two|four|eight',
    ])
  })

  it('takes an empty Node that poses as a busy one for nobody’s', () => {
    const busy = node('a')
    const { metadata } = sampleNode('rogue', { metadata: { labels: busy.node.metadata.labels } })
    const posing = { node: { ...busy.node, metadata }, claim: node('b').claim }
    const pods = [pod('p', 'a', '3'), pod('q', 'b', '3')]
    expect(found(world([posing, busy, node('b')], { pods }), { methods: ['emptiness'] })).toEqual([])
    expect(found(world([busy, node('b')], { pods: [] }), { methods: ['emptiness'] })).toEqual(['emptiness delete a,b'])
  })

  it.each([
    ['says that its node is of another NodePool', { 'karpenter.sh/nodepool': 'other' }],
    ['says that its node is not registered', { 'karpenter.sh/registered': 'no', 'karpenter.sh/initialized': 'no' }],
    [
      'says that its node is dear',
      { 'karpenter.sh/capacity-type': 'spot', 'node.kubernetes.io/instance-type': 'eight' },
    ],
    ['moves its node', { 'topology.kubernetes.io/zone': 'zone-9' }],
  ])('decides the same when a kubelet %s', (_, lie) => {
    const nodes = [node('a'), node('b', 'four', ['Drifted']), node('c', 'eight')]
    const pods = [pod('p', 'b', '3'), pod('q', 'c', '1')]
    const nodePools = [pool({ budgets: [{ nodes: '50%' }] })]
    const lying = nodes.map(({ node: { metadata, ...rest }, claim }) => ({
      node: { ...rest, metadata: { ...metadata, labels: { ...metadata.labels, ...lie } } },
      claim,
    }))
    const decided = found(world(nodes, { pods, nodePools }))
    expect(decided.length).toBeGreaterThan(1)
    for (let at = 0; at < nodes.length; at += 1)
      expect(found(world([...nodes.slice(0, at), ...lying.slice(at)], { pods, nodePools }))).toEqual(decided)
  })

  it('does not count on nodes that an earlier command takes away', () => {
    const nodes = [node('a', 'four', ['Drifted']), node('b')]
    const pods = [pod('p', 'a', '3')]
    // The pod would fit on b, which is empty and removed.
    expect(found(world(nodes, { pods }))).toEqual(['emptiness delete b', 'drift replace a by four|eight'])
  })

  it("leaves pending pods to the provisioner, except under Karpenter's policy", () => {
    const waits = samplePod('waits', { phase: 'Pending', requests: { cpu: '7', memory: '256Mi', pods: 1 } })
    const pods = [
      pod('p', 'a', '3'),
      {
        ...waits,
        conditions: [{ ...sampleCondition('PodScheduled'), status: 'False', reason: 'Unschedulable' } as const],
      },
    ]
    const drift = (change: Partial<EvaluationSettings>) =>
      found(world([node('a', 'four', ['Drifted'])], { pods }), { methods: ['drift'], ...change })
    expect(drift({})).toEqual(['drift replace a by four|eight'])
    expect(drift({ policy: karpenterPolicy })).toEqual(['drift replace a by eight by four|eight'])
  })

  it('upstream: should not drift any nodes if their PodDisruptionBudgets are unhealthy', () => {
    const nodes = [node('a', 'four', ['Drifted']), node('b', 'four', ['Drifted'])]
    const pods = [pod('p', 'a', '3', inflate), pod('q', 'b', '3', inflate)]
    const one = (disruptionsAllowed: number) =>
      found(world(nodes, { pods, podDisruptionBudgets: [{ ...keepOne, disruptionsAllowed }] }), { methods: ['drift'] })
    expect(one(0)).toEqual([])
    // It may lose one pod, so one node goes.
    expect(one(1)).toEqual(['drift replace a by four|eight'])
  })

  it.each([
    ['untried', ['drift replace a by four|eight']],
    ['trying', []],
  ] as const)('while new images are %s, drift begins with %j', (trial, expected) => {
    const nodes = ['a', 'b', 'c'].map((name) => node(name, 'four', ['Drifted']))
    const pods = nodes.map(({ node: own }) => pod(`p-${own.metadata.name}`, own.metadata.name, '3'))
    const policy = { ...joinerPolicy, driftShare: 1 }
    const { nodeClassRef } = pool().template.spec
    const imageTrials = new Map([[nodeClassRef.name, trial]])
    expect(found(world(nodes, { pods }), { methods: ['drift'], policy, imageTrials })).toEqual(expected)
    expect(found(world(nodes, { pods }), { methods: ['drift'], policy })).toHaveLength(3)
    const { notes } = evaluate(world(nodes, { pods }), { ...settings, methods: ['drift'], policy, imageTrials })
    const waiting = notes.filter(({ cause }) => cause.kind === 'image-on-trial')
    expect(waiting).toHaveLength(3 - expected.length)
    expect(waiting.filter(({ event }) => event !== undefined)).toHaveLength(1)
  })

  it('consolidates several single nodes in one pass, each with the others already done', () => {
    const nodes = ['a', 'b', 'c'].map((name) => node(name, 'eight'))
    const pods = nodes.map(({ node: own }) => pod(`p-${own.metadata.name}`, own.metadata.name, '3500m'))
    expect(found(world(nodes, { pods }), { methods: ['single-node'] })).toEqual([
      'single-node delete a',
      'single-node replace c by four|eight',
    ])
  })

  it('begins a rollout with a fifth of the budget at a time and goes on for as long as there is budget', () => {
    const nodes = Array.from({ length: 30 }, (_, at) => node(`n${String(at).padStart(2, '0')}`, 'four', ['Drifted']))
    const pods = nodes.map(({ node: own }) => pod(`p-${own.metadata.name}`, own.metadata.name, '3'))
    const of = (budget: string, view: WorldSettings['view'] = {}) =>
      found(world(nodes, { pods, nodePools: [pool({ budgets: [{ nodes: budget }] })] }, view))
    expect(of('10')).toEqual(['drift replace n00 by four|eight', 'drift replace n01 by four|eight'])
    expect(of('3', { reserved: new Set(['n00-claim', 'n01-claim']) })).toEqual(['drift replace n02 by four|eight'])
    expect(of('2', { reserved: new Set(['n00-claim', 'n01-claim']) })).toEqual([])
    expect(of('0')).toEqual([])
  })

  it('counts a node and its replacement as one node of its pool, until the command has ended', () => {
    const command = 'joiner.sh/disruption-command'
    const old = Array.from({ length: 9 }, (_, at) => node(`n${at}`, 'four', ['Drifted']))
    const pods = old.map(({ node: own }) => pod(`p-${own.metadata.name}`, own.metadata.name, '3'))
    const [going, replacement] = [node('going'), node('replacement')]
    const nodePools = [pool({ budgets: [{ nodes: '10%' }] })]
    const drift = (...others: ReturnType<typeof node>[]) =>
      found(world([...old, ...others], { pods, nodePools }), { methods: ['drift'] })
    const replacing = marked(replacement, 'joiner.sh/replacement-for')
    // 10 % of 10 nodes; with 11 nodes it would be two.
    expect(drift(marked(going, command), replacing)).toEqual([])
    expect(drift(replacing)).toHaveLength(1)
  })

  it('leaves replacements of commands under way to the pods that they were made for', () => {
    const drifted = node('drifted', 'four', ['Drifted'])
    const going = marked(node('going'), 'joiner.sh/disruption-command')
    const replacement = marked(node('replacement'), 'joiner.sh/replacement-for')
    const { conditions } = replacement.claim.status
    const status = { ...replacement.claim.status, conditions: conditions.filter(({ type }) => type !== 'Initialized') }
    const starting = { ...replacement, claim: { ...replacement.claim, status } }
    // The larger pod is placed first, and a node that is not ready is no place for a running pod.
    const pods = [pod('p', 'drifted', '3500m'), pod('q', 'going', '3')]
    const drift = (...nodes: ReturnType<typeof node>[]) => found(world(nodes, { pods }), { methods: ['drift'] })
    expect(drift(drifted, going, starting)).toEqual(['drift replace drifted by four|eight'])
    expect(drift(drifted, going, replacement)).toEqual(['drift replace drifted by four|eight'])
    // Without a command that waits for it, it is an ordinary node.
    expect(drift(drifted, starting)).toEqual([])
    expect(drift(drifted, replacement)).toEqual(['drift delete drifted'])
  })

  it('lets no node that cannot be replaced keep the others', () => {
    const nodes = [node('a', 'four', ['Drifted']), node('b', 'four', ['Drifted'])]
    const pods = [pod('p', 'a', '3', { nodeSelector: { team: 'gone' } }), pod('q', 'b', '3')]
    const { commands, notes } = evaluate(world(nodes, { pods }), settings)
    expect(commands.map(({ candidates }) => candidates[0]?.node.metadata.name)).toEqual(['b'])
    expect(notes.find(({ candidate }) => candidate.node.metadata.name === 'a')).toMatchObject({
      outcome: 'hindered',
      cause: { kind: 'pods-without-place', pods: [{ name: 'default/p' }], count: 1 },
    })
  })

  it('leaves paused and out-of-scope nodes alone', () => {
    const nodes = [node('a'), node('b')]
    const scope = { kind: 'node', name: 'a' } as const
    const pauses = new Pauses([{ reason: 'maintenance', sinceMs: 0, by: 'ann', scope }])
    const { commands, blocked } = evaluate(world(nodes, {}, { pauses }), settings)
    expect(commands.map(({ candidates }) => candidates.map((one) => one.node.metadata.name))).toEqual([['b']])
    expect(blocked.map(({ object, cause }) => [object.name, cause])).toContainEqual([
      'a-claim',
      { kind: 'paused', pause: { reason: 'maintenance', sinceMs: 0, by: 'ann', scope } },
    ])
    expect(found(world(nodes), { scope: { nodes: ['b-claim'] } })).toEqual(['emptiness delete b'])
    expect(found(world(nodes), { scope: { nodePools: ['other'] } })).toEqual([])
    expect(found(world(nodes), { mostNodes: 1 })).toEqual(['emptiness delete a'])
  })

  it('leaves a node alone that an operator holds, until the hold is over', () => {
    const [a, b] = [node('a'), node('b')]
    const held = (until: string) => {
      const own = { 'joiner.sh/hold-until': until, 'joiner.sh/hold-by': 'ann', 'joiner.sh/hold-reason': 'a core dump' }
      return { ...a, claim: { ...a.claim, metadata: { ...a.claim.metadata, annotations: own } } }
    }
    const inAnHour = '2026-01-01T02:00:00Z'
    const { commands, blocked, nextChange } = evaluate(world([held(inAnHour), b]), settings)
    expect(commands.map(({ candidates }) => candidates.map((one) => one.node.metadata.name))).toEqual([['b']])
    expect(nextChange).toBe(Date.parse(inAnHour))
    expect(blocked).toContainEqual(
      expect.objectContaining({
        reason: 'DisruptionBlocked',
        cause: {
          kind: 'held',
          hold: { untilMs: Date.parse(inAnHour), by: 'ann', reason: 'a core dump', expiry: false },
        },
      }),
    )
    expect(found(world([held('soon'), b]))).toEqual(['emptiness delete b'])
    expect(found(world([held('2026-01-01T00:59:59Z'), b]))).toEqual(['emptiness delete a,b'])
  })

  it('says when time alone makes a node eligible', () => {
    const nodes = [node('a', 'four', [])]
    const waiting = [pool({ consolidateAfter: '2h' })]
    expect(evaluate(world(nodes, { nodePools: waiting }), settings).nextChange).toBe(sampleTime + 7_200_000)
    const timed = pod('p', 'a', '1', {
      metadata: { annotations: { 'karpenter.sh/do-not-disrupt': '90m' } },
      startTime: new Date(sampleTime).toISOString(),
    })
    expect(evaluate(world(nodes, { nodePools: waiting, pods: [timed] }), settings).nextChange).toBe(
      sampleTime + 5_400_000,
    )
  })
})

describe('validate', () => {
  const nodes = [node('a', 'eight'), node('b', 'eight')]
  const pods = [pod('p', 'a', '1'), pod('q', 'b', '5')]
  const proposed = { method: 'single-node', decision: 'delete', candidates: ['uid-a-claim'], replacements: 0 } as const
  const about = (cluster: Partial<Cluster>, all = nodes, view: WorldSettings['view'] = {}) =>
    validate(proposed, world(all, { pods, ...cluster }, view), settings)

  it('returns the present command', () => {
    const answer = about({})
    expect(answer).toMatchObject({ kind: 'valid', command: { decision: 'delete' } })
  })

  it.each([
    ['a node is gone', about({}, nodes.slice(1)), 'churn'],
    [
      'a pod must not be disrupted any more',
      about({
        pods: [...pods, pod('r', 'a', '1', { metadata: { annotations: { 'karpenter.sh/do-not-disrupt': 'true' } } })],
      }),
      'churn',
    ],
    ['the budget is used up', about({ nodePools: [pool({ budgets: [{ nodes: '0' }] })] }), 'budget'],
    ['the node is reserved', about({}, nodes, { reserved: new Set(['a-claim']) }), 'churn'],
    ['an operator holds the node by now', about({}, [holding(nodes[0]), ...nodes.slice(1)]), 'churn'],
    ['its pods need another node after all', about({ pods: [...pods, pod('r', 'b', '2500m')] }), 'scheduling'],
  ] as const)('refuses when %s', (_, answer, reason) => {
    expect(answer).toMatchObject({ kind: 'invalid', reason })
  })

  it('names the pod that keeps a node', () => {
    const protectedPod = pod('r', 'a', '1', { metadata: { annotations: { 'karpenter.sh/do-not-disrupt': 'true' } } })
    const answer = about({ pods: [...pods, protectedPod] })
    expect(answer).toMatchObject({
      change: {
        candidates: 1,
        example: { object: { name: 'a-claim' }, cause: { kind: 'pod-do-not-disrupt', pod: 'default/r' } },
      },
    })
  })

  it('keeps the nodes that are still empty', () => {
    const empty = {
      method: 'emptiness',
      decision: 'delete',
      candidates: ['uid-a-claim', 'uid-b-claim'],
      replacements: 0,
    } as const
    const answer = validate(empty, world(nodes, { pods: [pod('p', 'a', '1')] }), settings)
    expect(answer.kind === 'valid' && answer.command.candidates.map((one) => one.node.metadata.name)).toEqual(['b'])
  })
})
