import { describe, expect, it } from 'vitest'
import {
  ownedBy,
  sampleClaim,
  sampleCondition,
  sampleEvaluation,
  sampleNode,
  samplePod,
  samplePolicy,
  samplePool,
  sampleTime,
  sampleType,
} from '../../../test/samples/sample-objects.ts'
import type { NodeClaim, NodePool, Pod } from '../../objects.ts'
import { requirements } from '../../requirements/requirements.ts'
import { indexOf } from '../../scheduling/cluster-index/index-of.ts'
import { evaluate } from '../evaluate.ts'
import { validate } from '../validate.ts'
import { causeText } from '../verdicts/cause-text.ts'
import { disruptionWorld, type WorldSettings } from '../world.ts'

const now = sampleTime + 3_600_000
const minute = 60_000
const instanceTypes = new Map([['default', [sampleType('four', 4)]]])
const repairs = [
  samplePolicy('Ready', 'False', { tolerationMs: 10 * minute }),
  samplePolicy('Broken', 'True', { reasonPattern: '.*', terminationGracePeriodMs: 45_000 }),
  samplePolicy('Hung', 'True', { reasonPattern: '.*', priority: 50, action: 'RebootNode' }),
]
const labels = {
  'karpenter.sh/nodepool': 'default',
  'node.kubernetes.io/instance-type': 'four',
  'karpenter.sh/capacity-type': 'on-demand',
}

interface NodeChange {
  readonly sick?: string
  readonly minutes?: number
  readonly annotations?: Readonly<Record<string, string>>
  readonly labels?: Readonly<Record<string, string>>
  readonly claim?: Partial<NodeClaim['spec']>
  readonly claimLabels?: Readonly<Record<string, string>>
  /** Conditions of the claim that are True. */
  readonly reached?: readonly string[]
}

/** A node that is ready, or has had a condition for some minutes: `Ready` false, or another one true. */
function node(name: string, change: NodeChange = {}) {
  const { sick, minutes = 30, annotations = {}, claim = {}, reached = ['Registered', 'Initialized'] } = change
  const at = now - minutes * minute
  const conditions = [
    sampleCondition('Ready', sick === 'Ready' ? 'False' : 'True', at),
    ...(sick === undefined || sick === 'Ready' ? [] : [sampleCondition(sick, 'True', at)]),
  ]
  const own = { ...labels, ...change.labels }
  return {
    node: sampleNode(name, { metadata: { labels: own, annotations }, conditions }),
    claim: sampleClaim(name, {
      metadata: { labels: change.claimLabels ?? own },
      spec: claim,
      status: { conditions: reached.map((type) => sampleCondition(type)) },
    }),
  }
}

const fleet = (sick: readonly ReturnType<typeof node>[], size = 10) => [
  ...sick,
  ...Array.from({ length: size - sick.length }, (_, at) => node(`z${at}`)),
]

const pod = (name: string, nodeName: string, change: Parameters<typeof samplePod>[1] = {}): Pod =>
  samplePod(name, {
    nodeName,
    phase: 'Running',
    requests: { cpu: '3', memory: '1Gi', pods: 1 },
    ...change,
    metadata: { ...ownedBy('ReplicaSet'), ...change.metadata },
  })

const guarded = { metadata: { annotations: { 'karpenter.sh/do-not-disrupt': 'true' } } }
interface Cluster {
  readonly pods?: readonly Pod[]
  readonly pool?: Parameters<typeof samplePool>[1]
  readonly nodePools?: readonly NodePool[]
  readonly view?: WorldSettings['view']
  readonly nominated?: readonly string[]
  readonly types?: typeof instanceTypes
  readonly scheduling?: WorldSettings['scheduling']
}

const settings = sampleEvaluation(instanceTypes, { methods: ['repair'] })

function world(all: readonly ReturnType<typeof node>[], cluster: Cluster = {}) {
  const pool = samplePool('default', {
    conditions: [sampleCondition('Ready')],
    ...cluster.pool,
    disruption: { consolidateAfter: 'Never', budgets: [{ nodes: '100%' }], ...cluster.pool?.disruption },
  })
  const index = indexOf({
    pods: cluster.pods ?? [],
    nodePools: cluster.nodePools ?? [pool],
    daemonSets: [],
    podDisruptionBudgets: [],
    nodes: all.map((one) => one.node),
    nodeClaims: all.map(({ claim }) => claim),
  })
  const { types = instanceTypes, scheduling = {} } = cluster
  return disruptionWorld(index.source(types, { now }), types, {
    now,
    scheduling,
    nominated: new Set(cluster.nominated),
    view: { repairs, ...cluster.view },
  })
}

/** The commands, and why other sick nodes are left alone: those with an event begin with its reason. */
function found(
  all: readonly ReturnType<typeof node>[],
  cluster: Cluster = {},
  change: Parameters<typeof sampleEvaluation>[1] = {},
) {
  const { commands, notes, blocked } = evaluate(world(all, cluster), { ...settings, ...change })
  const noted = notes.filter(({ outcome }) => outcome !== 'chosen')
  return {
    commands: commands.map(
      ({ decision, candidates, replacements, repair }) =>
        `${decision} ${candidates.map((one) => one.node.metadata.name).join()} by ${replacements.length}, ${repair?.boundMs} ms`,
    ),
    noted: noted.map(({ candidate, cause }) => `${candidate.node.metadata.name}: ${causeText(cause)}`),
    events: [...new Set(blocked.map(({ reason, object, cause }) => `${reason} ${object.name}: ${causeText(cause)}`))],
  }
}

describe('a repair', () => {
  it('is off without policies, and finds nothing in a healthy pool', () => {
    const off = evaluate(world([node('a', { sick: 'Broken' })], { view: { repairs: [] } }), settings)
    expect([off.passes, off.commands]).toEqual([[], []])
    expect(found(fleet([]))).toEqual({ commands: [], noted: [], events: [] })
  })

  it('replaces a node whose pods fit nowhere else, within the bound of the policy', () => {
    const pods = ['a', ...Array.from({ length: 9 }, (_, at) => `z${at}`)].map((on) => pod(`on-${on}`, on))
    expect(found(fleet([node('a', { sick: 'Broken' })]), { pods }).commands).toEqual(['replace a by 1, 45000 ms'])
    expect(found(fleet([node('a', { sick: 'Broken' })])).commands).toEqual(['delete a by 0, 45000 ms'])
  })

  it('finds one node a pass: the one with the highest score, then of the least cost, then by name', () => {
    const two = [node('a', { sick: 'Broken' }), node('b', { sick: 'Hung' })]
    expect(found(fleet(two)).commands).toEqual(['reboot b by 0, undefined ms'])
    const alike = [node('b', { sick: 'Broken' }), node('a', { sick: 'Broken' })]
    expect(found(fleet(alike)).commands).toEqual(['delete a by 0, 45000 ms'])
    expect(found(fleet(alike), { pods: [pod('p', 'a')] }).commands).toEqual(['delete b by 0, 45000 ms'])
  })

  it('waits while the condition is tolerated, and says until when', () => {
    const { noted, events } = found(fleet([node('a', { sick: 'Ready', minutes: 9 })]))
    expect(noted).toEqual(['a: condition Ready of the Node is tolerated until 2026-01-01T01:01:00Z'])
    expect(events).toEqual([])
    expect(evaluate(world(fleet([node('a', { sick: 'Ready', minutes: 9 })])), settings).nextChange).toBe(now + minute)
  })

  it('is withheld while the clock is wrong, whether it is due by it or not', () => {
    const sick = [node('a', { sick: 'Broken' }), node('b', { sick: 'Ready', minutes: 9 })]
    const { commands, noted, events } = found(fleet(sick), { view: { isClockWrong: true } })
    const why = "the clock of the process that decides is more than a minute from the API server's: no node is repaired"
    expect([commands, events]).toEqual([[], []])
    expect(noted).toEqual([`a: ${why}`, `b: ${why}`])
    expect(found(fleet(sick), { view: { isClockWrong: false } }).commands).toHaveLength(1)
  })

  it('is forbidden by the annotation of the Node, once it is due', () => {
    const annotations = { 'karpenter.sh/do-not-repair': 'true' }
    const veto = 'repair is blocked through the "karpenter.sh/do-not-repair" annotation'
    expect(found(fleet([node('a', { sick: 'Broken', annotations })]))).toEqual({
      commands: [],
      noted: [`a: ${veto}`],
      events: [`DisruptionBlocked a-claim: ${veto}`],
    })
    expect(found(fleet([node('a', { sick: 'Ready', minutes: 1, annotations })])).events).toEqual([])
    const other = { 'karpenter.sh/do-not-repair': 'yes', 'karpenter.sh/do-not-disrupt': 'true' }
    expect(found(fleet([node('a', { sick: 'Broken', annotations: other })])).commands).toHaveLength(1)
  })

  it('needs a bound to overrule pods that must not be disrupted, and finds places for them', () => {
    const pods = [pod('p', 'a', guarded), ...Array.from({ length: 9 }, (_, at) => pod(`q${at}`, `z${at}`))]
    expect(found(fleet([node('a', { sick: 'Ready' })]), { pods }).events).toEqual([
      'DisruptionBlocked a-claim: repair requires a termination grace period to bypass blocking pods',
    ])
    const bound = node('a', { sick: 'Ready', claim: { terminationGracePeriod: '1m' } })
    expect(found(fleet([bound]), { pods }).commands).toEqual(['replace a by 1, 60000 ms'])
    expect(found(fleet([node('a', { sick: 'Broken' })]), { pods }).commands).toEqual(['replace a by 1, 45000 ms'])
  })

  it('waits while more than a fifth of the pool is sick, tolerated or not', () => {
    const sick = ['a', 'b', 'c'].map((name, at) => node(name, { sick: 'Ready', minutes: at === 0 ? 30 : 1 }))
    const { commands, events } = found(fleet(sick))
    expect(commands).toEqual([])
    expect(events).toEqual(['NodeRepairBlocked a-claim: more than 20% of nodes in nodepool "default" are unhealthy'])
    expect(found(fleet(sick, 15)).commands).toEqual(['delete a by 0, undefined ms'])
  })

  it('obeys budgets for the reason, which nodes that are not ready do not use up', () => {
    const budget = (nodes: string, reasons?: readonly string[]) => ({
      pool: { disruption: { budgets: [{ nodes, ...(reasons && { reasons: [...reasons] }) }] } },
    })
    const two = [node('a', { sick: 'Ready' }), node('b', { sick: 'Ready' })]
    expect(found(fleet(two), budget('1')).commands).toHaveLength(1)
    expect(found(fleet(two), budget('0', ['Drifted'])).commands).toHaveLength(1)
    expect(found(fleet(two), budget('0', ['Unhealthy']))).toMatchObject({
      commands: [],
      events: [
        'DisruptionBlocked default: No allowed disruptions for disruption reason Unhealthy due to blocking budget',
      ],
    })
  })

  it('takes a node that is registered and not initialized, without any budget, even when pods are expected on it', () => {
    const starting = node('a', { sick: 'Broken', reached: ['Registered'] })
    const closed = { pool: { disruption: { budgets: [{ nodes: '0' }] } }, nominated: ['a'] }
    expect(found(fleet([starting]), closed).commands).toEqual(['delete a by 0, 45000 ms'])
    expect(found(fleet([node('a', { sick: 'Broken' })]), { nominated: ['a'] }).events).toEqual([
      'DisruptionBlocked a-claim: Node is nominated for a pending pod',
    ])
    expect(found(fleet([node('a', { sick: 'Broken', reached: [] })])).commands).toEqual([])
  })

  it('is not for a NodeClaim without a NodePool', () => {
    const { 'karpenter.sh/nodepool': _, ...alone } = labels
    const one = node('a', { sick: 'Broken', claimLabels: alone })
    const { 'karpenter.sh/nodepool': __, ...own } = one.node.metadata.labels
    const single = { ...one, node: { ...one.node, metadata: { ...one.node.metadata, labels: own } } }
    expect(found(fleet([single])).events).toEqual([
      'DisruptionBlocked a-claim: repair requires a NodePool to construct and budget a safe replacement',
    ])
  })

  it('of a static pool is one for one, within its limit and once it has no more nodes than it should', () => {
    const isStatic = (replicas: number, nodes: number) => ({
      pool: { isStatic: true, replicas, limits: { nodes } },
      pods: [],
    })
    const sick = fleet([node('a', { sick: 'Broken' })])
    expect(found(sick, isStatic(10, 11)).commands).toEqual(['replace a by 1, 45000 ms'])
    expect(found(sick, isStatic(10, 10)).events).toEqual([
      'DisruptionBlocked a-claim: static NodePool is at its node limit and cannot stage a replacement',
    ])
    expect(found(sick, isStatic(9, 20)).commands).toEqual([])
    const first = { terminateFirst: { drift: false, repair: true } }
    expect(found(sick, isStatic(10, 10), first).commands).toEqual(['terminate-first a by 0, 45000 ms'])
    expect(found(sick, isStatic(10, 11), first).commands).toEqual(['replace a by 1, 45000 ms'])
    const unready = { pool: { ...isStatic(10, 10).pool, conditions: [] } }
    expect(found(sick, unready, first).commands).toEqual([])
    const refused = {
      ...isStatic(10, 11),
      pool: { ...isStatic(10, 11).pool, conditions: [sampleCondition('Ready', 'False')] },
    }
    for (const settings of [{}, first])
      expect(found(sick, refused, settings)).toMatchObject({
        commands: [],
        events: ['DisruptionBlocked a-claim: static NodePool default is not ready and cannot stage a replacement'],
      })
  })

  // Upstream: gate TerminateFirstRepair.
  describe('where only reservations have room', () => {
    const id = 'karpenter.azure.com/capacity-reservation-id'
    const reserved = (available: boolean, reservationCapacity: number) => {
      const whole = sampleType('four', 4, [{ key: id, operator: 'In', values: ['r'] }])
      const wanted = [
        { key: 'topology.kubernetes.io/zone', operator: 'In' as const, values: ['zone-1'] },
        { key: 'karpenter.sh/capacity-type', operator: 'In' as const, values: ['reserved'] },
        { key: id, operator: 'In' as const, values: ['r'] },
      ]
      const offering = { requirements: requirements(wanted), price: 0.001, available, reservationCapacity }
      const types = [{ ...whole, requirements: requirements(typeWants), offerings: [offering] }]
      return new Map([['default', types]])
    }
    const typeWants = [
      { key: 'node.kubernetes.io/instance-type', operator: 'In' as const, values: ['four'] },
      { key: 'kubernetes.io/arch', operator: 'In' as const, values: ['amd64'] },
      { key: 'kubernetes.io/os', operator: 'In' as const, values: ['linux'] },
      { key: 'karpenter.sh/capacity-type', operator: 'In' as const, values: ['reserved'] },
      { key: 'topology.kubernetes.io/zone', operator: 'In' as const, values: ['zone-1'] },
      { key: id, operator: 'In' as const, values: ['r'] },
    ]
    const scheduling = { reservedCapacity: true }
    const own = { 'karpenter.sh/capacity-type': 'reserved', [id]: 'r', 'topology.kubernetes.io/zone': 'zone-1' }
    const held = fleet([node('a', { sick: 'Broken', labels: own })])
    const pods = ['a', ...Array.from({ length: 9 }, (_, at) => `z${at}`)].map((on) => pod(`on-${on}`, on))
    const of = (room: number, repair: boolean, isAvailable = true) => {
      const types = reserved(isAvailable, room)
      const how = { instanceTypes: types, scheduling, terminateFirst: { drift: false, repair } }
      return found(held, { pods, types, scheduling }, how).commands
    }

    it('goes first where its reservation is full, with the gate', () => {
      expect(of(1, true)).toEqual(['replace a by 1, 45000 ms'])
      expect(of(0, true)).toEqual(['terminate-first a by 0, 45000 ms'])
      expect(of(0, false)).toEqual([])
      expect(of(0, true, false)).toEqual([])
      // There are more than fit in, so its place would be free for nobody.
      expect(of(-1, true)).toEqual([])
    })

    it('of a static pool goes first too, unless it holds no place of a full reservation', () => {
      const pool = { isStatic: true, replicas: 10, limits: { nodes: 20 } }
      const types = reserved(true, 0)
      const how = { instanceTypes: types, scheduling, terminateFirst: { drift: false, repair: true } }
      expect(found(held, { pool, types, scheduling }, how).commands).toEqual(['terminate-first a by 0, 45000 ms'])
      expect(found(fleet([node('a', { sick: 'Broken' })]), { pool, types, scheduling }, how).events).toEqual([
        "DisruptionBlocked a-claim: static NodePool's capacity reservations are full and cannot stage a replacement",
      ])
    })
  })

  it('is confirmed while the node is sick, and refused once it has recovered', () => {
    const proposed = { method: 'repair', decision: 'delete', candidates: ['uid-a-claim'], replacements: 0 } as const
    const check = (sick?: string) => validate(proposed, world(fleet([node('a', sick ? { sick } : {})])), settings)
    expect(check('Broken').kind).toBe('valid')
    expect(check()).toMatchObject({ kind: 'invalid', reason: 'churn' })
  })
})
