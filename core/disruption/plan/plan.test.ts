import { describe, expect, test } from 'vitest'
import {
  sampleClaim,
  sampleCondition,
  sampleEvaluation,
  sampleNode,
  samplePod,
  samplePool,
  sampleTime,
  sampleType,
} from '../../../test/samples/sample-objects.ts'
import type { NodeClaim, NodePool, Pod } from '../../objects.ts'
import { Pauses, pauseText } from '../../pauses/pauses.ts'
import { indexOf } from '../../scheduling/cluster-index/index-of.ts'
import { evaluate } from '../evaluate.ts'
import { validateTogether } from '../validate.ts'
import type { Cause } from '../verdicts/cause.ts'
import { type DisruptionWorld, disruptionWorld } from '../world.ts'
import { methodsFor, type PlanOptions, scopeFor } from './plan.ts'
import { pausesOn, planChanges, proposedOf, simulationChange } from './plan-changes.ts'
import { planOf } from './plan-of.ts'

const now = sampleTime + 3_600_000
const types = new Map([['default', [sampleType('small', 2), sampleType('large', 8)]]])
const scheduling = {}
const settings = sampleEvaluation(types, { scheduling })

interface Cluster {
  readonly claims?: readonly string[]
  readonly pods?: readonly Pod[]
  readonly pool?: NodePool
  readonly change?: Partial<Record<string, Partial<NodeClaim['metadata']>>>
  readonly nodeAnnotations?: Readonly<Record<string, string>>
  readonly consolidatable?: boolean
  readonly types?: typeof types
}

const podOn = (name: string, node: string, annotations: Readonly<Record<string, string>> = {}) =>
  samplePod(name, { nodeName: node, phase: 'Running', conditions: [], metadata: { annotations } })
const open = samplePool('default', {
  disruption: { budgets: [{ nodes: '100%' }] },
  conditions: [sampleCondition('Ready')],
})
const nodeLabels = {
  'node.kubernetes.io/instance-type': 'large',
  'karpenter.sh/capacity-type': 'on-demand',
}
const twoPods = [podOn('web-1', 'n1'), podOn('web-2', 'n2')]

/** Nodes n1 and n2 of eight cores, with a small pod each. */
function world({
  claims = ['n1', 'n2'],
  pods = twoPods,
  pool = open,
  change = {},
  nodeAnnotations = {},
  consolidatable = true,
  types: sold = types,
}: Cluster = {}): DisruptionWorld {
  const amounts = { cpu: 8, memory: '32Gi', pods: 110 }
  const index = indexOf({
    pods,
    nodes: claims.map((name) =>
      sampleNode(name, { metadata: { labels: nodeLabels, annotations: nodeAnnotations }, allocatable: amounts }),
    ),
    nodeClaims: claims.map((name) => {
      const claim = sampleClaim(name, {
        metadata: { labels: { 'karpenter.sh/nodepool': 'default', ...nodeLabels }, ...change[name] },
      })
      const { conditions } = claim.status
      return consolidatable
        ? { ...claim, status: { ...claim.status, conditions: [...conditions, sampleCondition('Consolidatable')] } }
        : { ...claim, status: { ...claim.status, lastPodEventTime: new Date(now - 1000).toISOString() } }
    }),
    nodePools: [pool],
    daemonSets: [],
    podDisruptionBudgets: [],
    persistentVolumeClaims: [],
    persistentVolumes: [],
    storageClasses: [],
  })
  return disruptionWorld(index.source(sold, { now }), sold, { now, scheduling, nominated: new Set() })
}

function plan(cluster: Cluster = {}, options: PlanOptions = {}) {
  const seen = world(cluster)
  const [methods, scope] = [methodsFor(options), scopeFor(options)]
  const evaluation = evaluate(seen, {
    ...settings,
    forced: options.now === true,
    ...(methods === undefined ? {} : { methods }),
    ...(scope === undefined ? {} : { scope }),
    ...(options.budget === undefined ? {} : { mostNodes: options.budget }),
  })
  const frame = { id: 'abcd1234', cluster: 'demo', createdAt: new Date(now).toISOString(), options, pauses: [] }
  return planOf(evaluation, seen.view, frame)
}

describe('a plan', () => {
  test('says which nodes go, which come, where each pod goes, and what it costs before and after', () => {
    const { commands, cost, nodePools, blockers } = plan()
    expect(commands).toMatchObject([
      {
        method: 'multi-node',
        reason: 'Underutilized',
        decision: 'replace',
        candidates: [
          {
            node: 'n1',
            instanceType: 'large',
            capacityType: 'on-demand',
            zone: 'zone-1',
            price: 0.4,
            pods: [{ pod: 'default/web-1', newNode: 1 }],
          },
          { node: 'n2', pods: [{ pod: 'default/web-2', uid: 'uid-web-2', newNode: 1 }] },
        ],
        replacements: [{ number: 1, nodePool: 'default', instanceTypes: ['small', 'large'], price: 0.03, pods: 2 }],
      },
    ])
    expect(cost.nodes).toEqual({ before: 0.8, after: 0.03 })
    expect(cost.cluster.after).toBeCloseTo(0.03)
    expect(nodePools).toEqual([{ name: 'default', uid: 'uid-default', generation: 0 }])
    expect(blockers).toEqual([])
  })

  test("a pod that moves to an existing node is listed with the node's name", () => {
    const { commands, cost } = plan(
      { claims: ['n1', 'n2', 'n3'], pods: [...twoPods, podOn('big', 'n3')] },
      { budget: 1 },
    )
    expect(commands[0]?.decision).toBe('delete')
    expect(commands[0]?.candidates[0]?.pods[0]).toMatchObject({
      pod: expect.any(String),
      node: expect.stringMatching(/^n[123]$/),
    })
    expect(cost.cluster).toEqual({ before: expect.closeTo(1.2), after: expect.closeTo(0.8) })
  })

  test.each<[string, Cluster, PlanOptions, Cause, string?]>([
    [
      'a pod',
      { pods: [podOn('web-1', 'n1', { 'karpenter.sh/do-not-disrupt': 'true' })] },
      {},
      { kind: 'pod-do-not-disrupt', pod: 'default/web-1' },
    ],
    [
      'consolidateAfter',
      { consolidatable: false },
      {},
      { kind: 'not-consolidatable', consolidateAfter: '30s' },
      '2026-01-01T01:00:29.000Z',
    ],
    ['the budget of the request', {}, { budget: 1 }, { kind: 'requested-budget', nodes: 1 }],
    [
      'the policy',
      { pool: { ...open, disruption: { ...open.disruption, consolidationPolicy: 'WhenEmpty' } } },
      {},
      { kind: 'only-when-empty', nodePool: 'default' },
    ],
    [
      'a budget of the pool',
      { pool: { ...open, disruption: { ...open.disruption, budgets: [{ nodes: '0' }] } } },
      {},
      { kind: 'budget', nodePool: 'default' },
    ],
    ['another reason', {}, { reasons: ['Drifted'] }, { kind: 'not-drifted' }],
  ])('lists the obstacles of a node: %s', (_, cluster, options, expected, until) => {
    const { blockers } = plan(cluster, options)
    expect(blockers.flatMap(({ moves }) => moves.map(({ cause }) => cause))).toContainEqual(expected)
    if (until !== undefined) expect(blockers.map(({ waitsUntil }) => waitsUntil)).toContain(until)
    expect(blockers[0]?.price).toBe(0.4)
  })

  test('without waiting for consolidateAfter', () => {
    expect(plan({ consolidatable: false }).commands).toEqual([])
    expect(plan({ consolidatable: false }, { now: true }).commands).toHaveLength(1)
  })

  test('keeps to nodes and pools that are named, and says which of them do not exist', () => {
    const { commands, warnings } = plan({}, { nodes: ['n1', 'n9'], nodePools: ['default', 'other'] })
    expect(commands.flatMap(({ candidates }) => candidates.map(({ node }) => node))).toEqual(['n1'])
    expect(warnings).toEqual(['there is no NodePool "other"', 'there is no Node or NodeClaim "n9"'])
  })

  test("the operator's budget holds over all methods together", () => {
    const cluster = { claims: ['n1', 'n2', 'n3', 'n4'] }
    const nodes = (options: PlanOptions) =>
      plan(cluster, options).commands.flatMap(({ candidates }) => candidates).length
    expect(nodes({})).toBe(4)
    expect(nodes({ budget: 3 })).toBe(3)
    expect(nodes({ budget: 1 })).toBe(1)
  })

  test('names the budgets that it uses up', () => {
    const pool = { ...open, disruption: { ...open.disruption, budgets: [{ nodes: '1' }] } }
    expect(plan({ pool }).budgets).toEqual([
      { nodePool: 'default', reason: 'Underutilized', nodes: 2, allowed: 1, disrupted: 0 },
    ])
    expect(plan().budgets).toEqual([
      { nodePool: 'default', reason: 'Underutilized', nodes: 2, allowed: 2, disrupted: 0 },
    ])
  })

  test('items without room are left out and counted', () => {
    const many = Array.from({ length: 7000 }, (_, at) => podOn(`a-pod-with-quite-a-long-name-${at}`, 'n1'))
    const tiny = many.map((pod) => ({ ...pod, requests: {} }))
    const { commands, leftOut } = plan({ pods: [...tiny, podOn('web-2', 'n2')] }, { budget: 1, nodes: ['n1'] })
    expect([commands.length, leftOut]).toEqual([0, { commands: 1, blockers: 0 }])
  })
})

describe('a plan is compared with the cluster as it is', () => {
  const changesOf = (cluster: Cluster) => planChanges(plan(), world(cluster).view).flat()

  test('nothing has changed', () => expect(changesOf({})).toEqual([]))

  test('a pod that is gone is no change: there is less to move', () => {
    expect(changesOf({ pods: [podOn('web-1', 'n1')] })).toEqual([])
  })

  test.each<[string, Cluster, readonly string[]]>([
    ['a node is gone', { claims: ['n1'] }, ['node n2 (NodeClaim n2-claim) is gone']],
    ['a node of the same name', { change: { n2: { uid: 'another' } } }, ['node n2 (NodeClaim n2-claim) is gone']],
    ['a new pod', { pods: [...twoPods, podOn('web-3', 'n1')] }, ['new pod default/web-3 on node n1']],
    [
      'a pod that must not be disrupted',
      { pods: [podOn('web-1', 'n1', { 'karpenter.sh/do-not-disrupt': 'true' }), podOn('web-2', 'n2')] },
      ['node n1: Pod has "karpenter.sh/do-not-disrupt" annotation (Pod=default/web-1)'],
    ],
    [
      'nodes that must not be disrupted',
      { nodeAnnotations: { 'karpenter.sh/do-not-disrupt': 'true' } },
      ['n1', 'n2'].map(
        (name) => `node ${name}: Disruption is blocked through the "karpenter.sh/do-not-disrupt" annotation`,
      ),
    ],
    [
      'a NodePool that was edited',
      { pool: { ...open, metadata: { ...open.metadata, generation: 4 } } },
      ['NodePool default was edited (generation 0 is 4 now)'],
    ],
    [
      'a price',
      {
        types: new Map([
          [
            'default',
            [
              sampleType('small', 2),
              { ...sampleType('large', 10), name: 'large', capacity: sampleType('large', 8).capacity },
            ],
          ],
        ]),
      },
      ['n1', 'n2'].map((name) => `node ${name} costs 0.5000 USD an hour, and cost 0.4000 in the plan`),
    ],
  ])('%s', (_, cluster, expected) => expect(changesOf(cluster)).toEqual(expected))

  test('a node that changed a moment ago, unless the plan does not wait for consolidateAfter', () => {
    expect(changesOf({ consolidatable: false })).toEqual(
      ['n1', 'n2'].map((name) =>
        expect.stringMatching(`^pods came to node ${name} or went: .* not over until 2026-01-01T01:00:29`),
      ),
    )
    const forced = planChanges(plan({}, { now: true }), world({ consolidatable: false }).view)
    expect(forced.flat()).toEqual([])
  })

  test('a new simulation has to come to the same, at no higher price', () => {
    const planned = plan()
    const [command] = planned.commands
    if (command === undefined) throw new Error('no command')
    const again = (cluster: Cluster) => {
      const [validation] = validateTogether([proposedOf(command)], world(cluster), { ...settings, forced: true })
      return validation === undefined ? 'nothing' : simulationChange(command, validation)
    }
    expect(again({})).toBeUndefined()
    expect(again({ consolidatable: false })).toBeUndefined()
    // A node with room was added: no new node is needed any more.
    expect(again({ claims: ['n1', 'n2', 'n3'], pods: [...twoPods, podOn('web-3', 'n3')] })).toBe(
      'scheduling simulation produced new results',
    )
    const cheap = { ...command, replacements: command.replacements.map((each) => ({ ...each, price: 0.01 })) }
    const [validation] = validateTogether([proposedOf(cheap)], world(), settings)
    expect(validation && simulationChange(cheap, validation)).toBe(
      'what comes would cost 0.0300 USD an hour now, and 0.0100 in the plan',
    )
  })

  test('commands are validated with those before them decided', () => {
    const seen = world({
      claims: ['n1', 'n2', 'n3', 'n4'],
      pods: [...twoPods, podOn('web-3', 'n3'), podOn('web-4', 'n4')],
    })
    const proposals = ['n1', 'n2', 'n3', 'n4'].map((name) => ({
      method: 'single-node' as const,
      decision: 'delete' as const,
      candidates: [`uid-${name}-claim`],
      replacements: 0,
    }))
    const kinds = validateTogether(proposals, seen, settings).map(({ kind }) => kind)
    // Each pod moves to a node that is then left alone, so not all can go.
    expect(kinds[0]).toBe('valid')
    expect(kinds.filter((kind) => kind === 'valid').length).toBeLessThan(4)
  })

  test('pauses that cover one of its nodes', () => {
    const [command] = plan().commands
    const pause = { reason: 'release day', sinceMs: 0, scope: { kind: 'nodePool', name: 'default' } } as const
    const other = { reason: 'training', sinceMs: 0, scope: { kind: 'nodePool', name: 'gpu' } } as const
    expect(command && pausesOn(command, new Pauses([pause, other]))).toEqual([pauseText('disruption', pause)])
    expect(command && pausesOn(command, new Pauses([other]))).toEqual([])
  })
})
