import { describe, expect, it } from 'vitest'
import {
  ownedBy,
  sampleClaim,
  sampleCondition,
  sampleMeta,
  sampleNode,
  samplePod,
  samplePool,
  sampleTime,
  sampleType,
} from '../../../test/samples/sample-objects.ts'
import type { InstanceType } from '../../instance-type.ts'
import type { NodeClaim, NodePool, Pod, PodDisruptionBudget } from '../../objects.ts'
import { indexOf } from '../../scheduling/cluster-index/index-of.ts'
import { type EvaluationSettings, evaluate } from '../evaluate.ts'
import { neverFirst } from '../methods/context.ts'
import { joinerPolicy } from '../policy.ts'
import { disruptionWorld } from '../world.ts'
import { podsOf } from './cause.ts'
import { boundedVerdict, formatVerdict, type Verdict, verdictShard, verdictShards } from './verdict.ts'
import { verdictsOf } from './verdicts.ts'

const now = sampleTime + 3_600_000
const types = [sampleType('small', 2), sampleType('large', 8)]
const settings: EvaluationSettings = {
  instanceTypes: new Map([['default', types]]),
  wellKnown: new Set(['topology.kubernetes.io/zone', 'karpenter.sh/capacity-type', 'node.kubernetes.io/instance-type']),
  scheduling: { preferencePolicy: 'Respect', minValuesPolicy: 'Strict', reservedCapacity: true },
  spotToSpot: false,
  terminateFirst: neverFirst,
  policy: joinerPolicy,
}

interface World {
  readonly claims?: readonly NodeClaim[]
  readonly pods?: readonly Pod[]
  readonly pool?: NodePool
  readonly budgets?: readonly PodDisruptionBudget[]
  readonly instanceTypes?: readonly InstanceType[]
}

const consolidatable = ['Launched', 'Registered', 'Initialized', 'Consolidatable'].map((type) => sampleCondition(type))
const quiet = (name: string) => sampleClaim(name, { status: { conditions: consolidatable } })
const ready = [sampleCondition('Ready')]
const openPool = samplePool('default', { disruption: { budgets: [{ nodes: '100%' }] }, conditions: ready })

function running(name: string, nodeName: string, change: Parameters<typeof samplePod>[1] = {}): Pod {
  const { metadata, ...rest } = change
  return samplePod(name, {
    nodeName,
    phase: 'Running',
    conditions: [],
    requests: { cpu: 1, memory: '1Gi' },
    ...rest,
    metadata: { ...ownedBy('ReplicaSet'), ...metadata },
  })
}

/** On node `a`; it cannot move to spot, which costs less. */
function onDemand(name: string, requests: Readonly<Record<string, string | number>>): Pod {
  return running(name, 'a', { requests, nodeSelector: { 'karpenter.sh/capacity-type': 'on-demand' } })
}

/** Verdicts of an evaluation for large nodes `a`, ... by their claims. */
function verdicts(
  { claims = [quiet('a')], pods = [], pool = openPool, budgets = [], instanceTypes = types }: World,
  { earlier = [], ...change }: Partial<EvaluationSettings> & { readonly earlier?: readonly Verdict[] } = {},
): readonly Verdict[] {
  const offered = new Map([['default', instanceTypes]])
  const names = claims.map(({ status }) => status.nodeName ?? '')
  const index = indexOf({
    pods,
    nodes: names.map((name) =>
      sampleNode(name, {
        metadata: {
          labels: { 'node.kubernetes.io/instance-type': 'large', 'karpenter.sh/capacity-type': 'on-demand' },
        },
        allocatable: { cpu: 8, memory: '32Gi', pods: 110 },
      }),
    ),
    nodeClaims: claims,
    nodePools: [pool],
    daemonSets: [],
    podDisruptionBudgets: budgets,
  })
  const { view, simulator } = disruptionWorld(index.source(offered, { now }), offered, {
    now,
    scheduling: settings.scheduling,
    nominated: new Set(),
  })
  const found = evaluate({ view, simulator }, { ...settings, instanceTypes: offered, ...change })
  return verdictsOf(found, view, (name) => earlier.find(({ nodeClaim }) => nodeClaim === name))
}

const movesOf = (world: World, change: Parameters<typeof verdicts>[1] = {}) => verdicts(world, change)[0]?.moves

const budget = (change: Partial<PodDisruptionBudget> = {}): PodDisruptionBudget => ({
  kind: 'PodDisruptionBudget',
  metadata: sampleMeta('keep', { namespace: 'default' }),
  selector: { matchLabels: { app: 'web' } },
  disruptionsAllowed: 0,
  ...change,
})

describe("obstacles to a node's disruption", () => {
  it('a pod that must not be disrupted is named, with what the node costs', () => {
    const pods = [running('web', 'a', { metadata: { annotations: { 'karpenter.sh/do-not-disrupt': 'true' } } })]
    expect(verdicts({ pods })).toEqual([
      {
        nodeClaim: 'a-claim',
        node: 'a',
        nodePool: 'default',
        since: new Date(now).toISOString(),
        price: 0.4,
        moves: [
          {
            methods: ['emptiness', 'drift', 'multi-node', 'single-node'],
            outcome: 'blocked',
            cause: { kind: 'pod-do-not-disrupt', pod: 'default/web' },
            savingsForgone: 0.4,
          },
        ],
      },
    ])
  })

  it('static-drift is named for nodes of static NodePools alone', () => {
    const methodsOf = (isStatic: boolean) =>
      verdicts({ pool: samplePool('default', { isStatic, replicas: 1 }) }).flatMap(({ moves }) =>
        moves.flatMap(({ methods }) => methods),
      )
    expect([methodsOf(true), methodsOf(false)].map((named) => named.includes('static-drift'))).toEqual([true, false])
  })

  it('so are a PodDisruptionBudget and the pod that it keeps', () => {
    const pods = [running('web', 'a', { metadata: { labels: { app: 'web' } } })]
    expect(movesOf({ pods, budgets: [budget()] })).toMatchObject([
      { outcome: 'blocked', cause: { kind: 'pdb', pod: 'default/web', podDisruptionBudgets: ['default/keep'] } },
    ])
  })

  it('pods that would not find a place are listed with the constraint', () => {
    const pods = ['p', 'q', 'r', 's', 't', 'u'].map((name) =>
      running(name, 'a', { nodeSelector: { 'topology.kubernetes.io/zone': 'zone-9' } }),
    )
    const move = movesOf({ pods })?.find(({ methods }) => methods.includes('single-node'))
    expect(move).toMatchObject({
      outcome: 'hindered',
      cause: { kind: 'pods-without-place', count: 6 },
      savingsForgone: 0.4,
    })
    const { pods: named = [], more } = move === undefined ? {} : podsOf(move.cause)
    expect([named.length, more]).toEqual([5, 1])
    expect(named[0]?.constraint).toContain('zone-9')
  })

  it('nothing is forgone where nothing is cheaper', () => {
    const pods = [onDemand('web', { cpu: 7, memory: '1Gi' })]
    const move = movesOf({ pods })?.find(({ methods }) => methods.includes('single-node'))
    expect(move).toEqual({
      methods: ['single-node'],
      outcome: 'hindered',
      cause: { kind: 'nothing-cheaper' },
    })
  })

  it('budgets are reported with the savings, and so is an empty node', () => {
    const pool = samplePool('default', { disruption: { budgets: [{ nodes: '0' }] } })
    expect(movesOf({ pool })).toMatchObject([
      { methods: ['emptiness'], outcome: 'budget', savingsForgone: 0.4 },
      { methods: ['drift'], outcome: 'unsuitable', cause: { kind: 'not-drifted' } },
      { methods: ['multi-node', 'single-node'], outcome: 'unsuitable' },
    ])
  })

  it('a policy that forbids it', () => {
    const pool = samplePool('default', { disruption: { consolidationPolicy: 'WhenEmpty' } })
    const moves = movesOf({ pool, pods: [running('web', 'a')] })
    expect(moves?.at(-1)).toMatchObject({
      methods: ['multi-node', 'single-node'],
      outcome: 'unsuitable',
      cause: { kind: 'only-when-empty', nodePool: 'default' },
    })
  })

  it('a command that failed a moment ago', () => {
    const resting = { nodePools: {}, nodeClaims: ['a-claim'] }
    const moves = movesOf({ pods: [running('web', 'a')] }, { resting })
    expect(moves).toMatchObject([{ outcome: 'not-looked-at', cause: { kind: 'command-failed' } }])
  })

  it('consolidateAfter that is not over', () => {
    const [first] = movesOf({ claims: [sampleClaim('a')], pods: [running('web', 'a')] }) ?? []
    expect(first).toMatchObject({
      methods: ['emptiness', 'multi-node', 'single-node'],
      outcome: 'unsuitable',
      cause: { kind: 'not-consolidatable', consolidateAfter: '30s' },
    })
  })
})

describe('a later evaluation', () => {
  const pods = [onDemand('web', { cpu: 7, memory: '1Gi' })]

  it('leaves the verdicts of methods that were not tried', () => {
    const earlier = verdicts({ pods })
    const moves = movesOf({ pods }, { earlier, methods: ['emptiness', 'drift'] })
    expect(moves).toEqual(earlier[0]?.moves)
  })

  it("leaves no verdict of a cause that was the node's and is over, also for methods that were not tried", () => {
    const reboots = sampleClaim('a', { status: { conditions: [...consolidatable, sampleCondition('Rebooting')] } })
    const methods = ['emptiness', 'drift'] as const
    const earlier = verdicts({ claims: [reboots], pods })
    const named = [{ methods: ['emptiness', 'drift', 'multi-node', 'single-node'], cause: { kind: 'rebooting' } }]
    expect(earlier[0]?.moves).toMatchObject(named)
    expect(movesOf({ claims: [reboots], pods }, { earlier, methods })).toMatchObject(named)
    expect(movesOf({ pods }, { earlier, methods })?.map(({ cause }) => cause.kind)).toEqual([
      'not-empty',
      'not-drifted',
    ])
  })

  it('leaves no verdict of a hold that was released, also for methods that were not tried', () => {
    const held = { 'joiner.sh/hold-until': 'released', 'joiner.sh/hold-reason': 'upgrade' }
    const claim = (annotations: Record<string, string>) =>
      sampleClaim('a', {
        metadata: { labels: { 'karpenter.sh/nodepool': 'default' }, annotations },
        status: { conditions: consolidatable },
      })
    const earlier = verdicts({ claims: [claim(held)], pods })
    expect(earlier[0]?.moves.map(({ cause }) => cause.kind)).toEqual(['held'])
    const later = movesOf({ claims: [claim({})], pods }, { earlier, methods: ['emptiness', 'drift'] })
    expect(later?.map(({ cause }) => cause.kind)).toEqual(['not-empty', 'not-drifted'])
  })

  it('leaves the verdicts of nodes out of scope', () => {
    const earlier = verdicts({ claims: [quiet('a'), quiet('b')], pods })
    const later = verdicts({ claims: [quiet('a'), quiet('b')] }, { earlier, scope: { nodes: ['a'] }, forced: true })
    expect(later[1]).toBe(earlier[1])
    expect(later[0]?.moves[0]).toMatchObject({ methods: ['emptiness'], outcome: 'chosen' })
  })

  it('leaves a node chosen while its command is under way', () => {
    const earlier = verdicts({})
    expect(earlier[0]?.moves[0]?.outcome).toBe('chosen')
    const stamped = sampleClaim('a', {
      metadata: {
        labels: { 'karpenter.sh/nodepool': 'default' },
        annotations: { 'joiner.sh/disruption-command': 'empty-1' },
      },
      status: { conditions: consolidatable },
    })
    expect(verdicts({ claims: [stamped] }, { earlier })).toEqual(earlier)
    expect(movesOf({ claims: [stamped] })).toMatchObject([{ outcome: 'blocked', cause: { kind: 'leaving' } }])
  })
})

describe('a stored verdict', () => {
  const text = 'no instance type '.repeat(100)
  const long: Verdict = {
    nodeClaim: 'a-claim',
    node: 'a',
    nodePool: 'default',
    since: new Date(now).toISOString(),
    moves: (['drift', 'single-node'] as const).map((method) => ({
      methods: [method],
      outcome: 'hindered',
      cause: {
        kind: 'pods-without-place',
        pods: Array.from({ length: 9 }, (_, index) => ({ name: `default/web-${index}`, constraint: text })),
        count: 9,
      },
    })),
  }

  it('is cut to its length, and says how many pods are left out', () => {
    const bounded = boundedVerdict(long, 2000)
    expect(formatVerdict(bounded).length).toBeLessThanOrEqual(2000)
    expect(bounded.moves.map(({ cause }) => podsOf(cause))).toMatchObject([
      { pods: [{ name: 'default/web-0' }, {}], more: 7 },
      { pods: [{}, {}], more: 7 },
    ])
    expect(boundedVerdict(long, 100_000).moves.map(({ cause }) => podsOf(cause).more)).toEqual([4, 4])
    expect(boundedVerdict(long, 100).moves).toHaveLength(1)
  })

  it('is in one of the ConfigMaps, spread evenly', () => {
    const counts = Array.from({ length: verdictShards }, () => 0)
    for (let index = 0; index < 1600; index++) {
      const shard = verdictShard(`general-${index.toString(36)}`)
      counts[shard] = (counts[shard] ?? 0) + 1
    }
    expect(Math.min(...counts)).toBeGreaterThan(50)
    expect(Math.max(...counts)).toBeLessThan(200)
  })
})
