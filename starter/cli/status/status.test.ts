import { describe, expect, test } from 'vitest'
import { parseWaiting, type StoredWaiting } from '../../../api/waiting-pods.ts'
import { formatWithheld, parseWithheld } from '../../../api/withheld-machines.ts'
import type { NodeClaim } from '../../../core/objects.ts'
import { type Pause, Pauses } from '../../../core/pauses/pauses.ts'
import { sampleClaim, sampleCondition } from '../../../test/samples/sample-objects.ts'
import { plainText } from '../../document/text.ts'
import { leaseReport } from '../shared/leases.ts'
import { problemsOf, type StatusReport } from './status.ts'
import { statusDocument, statusJson } from './table.ts'

const now = Date.parse('2026-11-21T12:00:00Z')
const pause: Pause = {
  reason: 'release day',
  by: 'alice',
  sinceMs: now - 60_000,
  untilMs: now + 3_600_000,
  scope: { kind: 'nodePool', name: 'gpu' },
}
function claim(name: string, { nodePool = 'general', capacityType = 'on-demand', isReady = true } = {}): NodeClaim {
  const conditions = isReady ? ['Launched', 'Registered', 'Initialized'].map((type) => sampleCondition(type)) : []
  return sampleClaim(name, {
    metadata: {
      labels: {
        'karpenter.sh/nodepool': nodePool,
        'karpenter.sh/capacity-type': capacityType,
        'node.kubernetes.io/instance-type': 'Standard_D2s_v5',
      },
    },
    status: { conditions },
  })
}

const report: StatusReport = {
  cluster: 'demo',
  loops: [
    {
      loop: 'provisioning',
      state: 'running',
      doing: 'waiting',
      sinceMs: now - 90_000,
      pauses: [],
      troubles: [],
    },
    {
      loop: 'disruption',
      state: 'running',
      doing: 'evaluating',
      sinceMs: now - 7_500_000,
      pauses: [pause],
      troubles: [],
    },
  ],
  commands: [{ id: 'empty-1', startedMs: now - 5000, doing: 'deleting a, b', candidates: ['a', 'b'] }],
  queues: [{ role: 'plan', queue: 'joiner-plan-demo', workers: 1 }],
  findings: [],
}
const nodeClaims = [claim('a'), claim('b', { isReady: false }), claim('c', { nodePool: 'gpu', capacityType: 'spot' })]
const silent: StatusReport = {
  ...report,
  loops: [
    { loop: 'provisioning', state: 'not running', troubles: [] },
    { loop: 'disruption', state: 'silent', troubles: ['writePause fails, attempt 7: forbidden'] },
  ],
  queues: [{ role: 'plan', queue: 'joiner-plan-demo', workers: 0 }],
}
const priceOf = (_: string, capacityType: string) => (capacityType === 'spot' ? undefined : 0.1)
const prices = { list: { priceOf, region: 'westus2', readAtMs: now } }

test('the status for people', () => {
  expect(plainText(statusDocument(report, { prices, nodeClaims }, now)).split('\n')).toEqual([
    'LOOP          SINCE  DOING',
    'provisioning  1m30s  waiting',
    'disruption    2h5m   evaluating',
    '',
    'PAUSED  disruption of NodePool "gpu" is paused by alice since 2026-11-21T11:59:00Z until 2026-11-21T13:00:00Z: release day',
    '',
    "who holds Joiner's Leases is not known",
    '',
    'which objects are quarantined is not known',
    '',
    'which machines run pods without a NodeClaim is not known',
    '',
    'which pods wait for a node is not known',
    '',
    'COMMAND  SINCE  DOING          NODES',
    'empty-1  5s     deleting a, b  a, b',
    '',
    'NODEPOOL  NODES  LAUNCHING  READY  USD/MONTH',
    'general   2      1          1      146.00',
    'gpu       1      0          1      0.00 and 1 node without a price',
  ])
})

test.each([
  [0, 'nothing to do'],
  [2, '2 commands'],
])('the last search for disruptions is told, also when it found %d', (commands, found) => {
  const evaluations = { verdicts: new Map(), faults: [], lastPass: { atMs: now - 12_000, commands } }
  const known = { evaluations }
  expect(plainText(statusDocument(report, known, now))).toContain(
    `disruption last evaluated the cluster 12s ago: ${found}`,
  )
  expect(statusJson(report, known, now)).toMatchObject({ lastEvaluation: { commands } })
  expect(statusJson(report, {}, now)).toMatchObject({ lastEvaluation: null })
})

test('what is quarantined is named', () => {
  const entry = { id: 'Pod/default/web-1', hash: 'h', cause: 'time limit', sinceMs: now - 1000, untilMs: now + 1000 }
  const known = { quarantined: [entry] }
  expect(plainText(statusDocument(report, known, now))).toContain(
    'QUARANTINED  Pod/default/web-1: left out of planning, see joiner blocked objects list',
  )
  expect(statusJson(report, known, now)).toMatchObject({ quarantined: [{ object: 'Pod/default/web-1' }] })
  expect(statusJson(report, {}, now)).toMatchObject({ quarantined: null })
})

test('machines that run pods without a NodeClaim are named, with what they cost', () => {
  const stored = formatWithheld(now - 30_000, [
    { kind: 'VM', name: 'aks-a', node: 'aks-a\u001b', pods: 2, instanceType: 'Standard_D2s_v5', costPerDay: 2.304 },
    { kind: 'AKS machine', name: 'pool/b', node: 'aks-b' },
  ])
  const { found: withheld } = parseWithheld({ Machines: stored })
  expect(plainText(statusDocument(report, { withheld }, now))).toContain(
    [
      'WITHHELD  2 machines without a NodeClaim kept since pods run there, 2.30 USD a day, as of 30s ago',
      '  VM aks-a: its Node aks-a\\u001b is Ready and runs 2 pods; 2.30 USD a day',
      '  AKS machine pool/b: its Node aks-b is Ready and its pods could not be counted; its price is not known',
      '  to have one deleted: joiner admin adopt --delete NODE, or kubectl drain NODE --ignore-daemonsets --delete-emptydir-data',
    ].join('\n'),
  )
  expect(statusJson(report, { withheld }, now)).toMatchObject({ withheldMachines: { count: 2, costPerDay: 2.304 } })
  expect(statusJson(report, {}, now)).toMatchObject({ withheldMachines: null })
  expect(
    plainText(statusDocument(report, { withheld: parseWithheld({ Machines: '{"count":1}' }).found }, now)),
  ).not.toContain('WITHHELD')
})

test('documents of Joiner that cannot be read are broken, and what could not be read at all is not none', () => {
  const damaged = ['ConfigMap joiner/joiner-catalogue: document.json.gz cannot be used: it is no JSON']
  expect(plainText(statusDocument(report, { damaged }, now))).toContain(`BROKEN  ${damaged[0]}`)
  const missing = [{ what: 'ConfigMap joiner-prices', why: 'forbidden', remedy: 'ask' }]
  expect(statusJson(report, { damaged, missing }, now)).toMatchObject({
    problems: expect.arrayContaining(damaged),
    unread: expect.arrayContaining(['ConfigMap joiner-prices: forbidden; ask']),
  })
})

test('who holds the Leases is named, with the time, and whether that is known', () => {
  const leases = [
    leaseReport('joiner-bridge', {
      spec: {
        holderIdentity: 'evil\u001b',
        leaseDurationSeconds: 2_147_483_647,
        acquireTime: '2026-11-21T11:48:00.000000Z',
        renewTime: '2026-11-21T12:00:00.000000Z',
      },
      metadata: {},
    }),
    leaseReport('joiner-planner', { spec: { holderIdentity: 'a/1', renewTime: 'now' }, metadata: {} }),
    leaseReport('joiner-maintenance', { spec: { holderIdentity: '' }, metadata: {} }),
    { lease: 'joiner-other', unread: 'forbidden' },
  ]
  expect(plainText(statusDocument(report, { leases }, now))).toContain(
    [
      'LEASE               HELD BY               FOR',
      'joiner-bridge       evil\\u001b            12m',
      'joiner-planner      a/1                   -',
      'joiner-maintenance  nobody                -',
      'joiner-other        not known: forbidden  -',
    ].join('\n'),
  )
  expect(statusJson(report, { leases }, now)).toMatchObject({
    leases: [
      { name: 'joiner-bridge', holder: 'evil\u001b', heldSeconds: 720 },
      { name: 'joiner-planner', holder: 'a/1', heldSeconds: null },
      { name: 'joiner-maintenance', unread: null, holder: null, heldSeconds: null },
      { name: 'joiner-other', unread: 'forbidden' },
    ],
  })
  expect(plainText(statusDocument(report, {}, now))).toContain("who holds Joiner's Leases is not known")
  expect(statusJson(report, {}, now)).toMatchObject({ leases: null })
})

test('cancellations that were refused are said, and whether they are known', () => {
  const refusedCancellations = '47 cancellations of lifecycles in Temporal were refused'
  expect(plainText(statusDocument(report, { refusedCancellations }, now))).toContain(`REFUSED  ${refusedCancellations}`)
  expect(plainText(statusDocument(report, { refusedCancellations: '' }, now))).not.toContain('REFUSED')
  expect(statusJson(report, { refusedCancellations }, now)).toMatchObject({ refusedCancellations })
  expect(statusJson(report, {}, now)).toMatchObject({ refusedCancellations: null })
})

test('pending pods are counted by what they wait for, with examples', () => {
  const about = { pods: ['shop/web\u001b'], count: 4, sinceMs: now, plannedOn: [], funnel: [], remedies: [] }
  const waiting: StoredWaiting = {
    atMs: now,
    counts: [
      { state: 'planned', count: 3 },
      { state: 'unschedulable', cause: 'limits', count: 4 },
    ],
    classes: new Map([['a', { ...about, state: 'unschedulable', cause: 'limits', finding: 'limits: 1 cpu' }]]),
  }
  expect(plainText(statusDocument(report, { waiting }, now))).toContain(
    [
      'PENDING  7 pods: 3 planned, waiting for their nodes; 4 unschedulable (limits 4)',
      '  shop/web\\u001b: limits: 1 cpu  (joiner why pod shop/web\\u001b)',
    ].join('\n'),
  )
  expect(statusJson(report, { waiting }, now)).toMatchObject({ pendingPods: { planned: 3, unschedulable: 4, held: 0 } })
  expect(statusJson(report, {}, now)).toMatchObject({ pendingPods: null })
})

describe('while nobody plans', () => {
  const lease = (renewedMs: number) =>
    leaseReport('joiner-planner', {
      spec: { holderIdentity: 'planner-1', renewTime: new Date(renewedMs).toISOString() },
      metadata: {},
    })
  const silent = { leases: [lease(now - 7_200_000)] }
  const none = { waiting: parseWaiting({}).waiting }
  const waiting: StoredWaiting = { atMs: now - 7_200_000, counts: [{ state: 'planned', count: 3 }], classes: new Map() }
  const said = (known: object) => plainText(statusDocument(report, known, now))

  test('a process that is gone holds no Lease', () => {
    expect(said(silent)).toContain('joiner-planner  nobody: 2h ago it was planner-1')
  })

  test.each([
    ['is gone', silent],
    ['was given up', { leases: [leaseReport('joiner-planner', { spec: { holderIdentity: '' }, metadata: {} })] }],
  ])('and its Lease %s, nobody knows that no pod waits, and what was planned is old', (_, known) => {
    expect(said({ ...known, ...none })).toContain('which pods wait for a node is not known, since no process plans')
    expect(statusJson(report, { ...known, ...none }, now)).toMatchObject({ pendingPods: null })
    expect(said({ ...known, waiting })).toContain('waiting for their nodes, as of 2h ago: no process plans')
  })

  test.each([
    ['plans', { leases: [lease(now - 2000)] }],
    ['may plan', { leases: [{ lease: 'joiner-planner', unread: 'forbidden' }] }],
  ])('and not where a process %s', (_, known) => {
    expect(said({ ...known, ...none })).toContain('no pod waits for a node')
    expect(said({ ...known, waiting })).not.toContain('as of')
  })
})

test('the status for programs has times, and null for what is not known', () => {
  expect(statusJson(report, { prices, nodeClaims }, now)).toMatchObject({
    problems: [],
    loops: [{ pauses: [] }, { since: '2026-11-21T09:55:00.000Z', pauses: [{ until: '2026-11-21T13:00:00.000Z' }] }],
    nodePools: [{ nodePool: 'general', pricePerHour: 0.2 }, { unpriced: 1 }],
  })
  expect(statusJson(silent, {}, now)).toMatchObject({ loops: [{ pauses: null }, { pauses: null }] })
})

describe('what is broken', () => {
  test('is reported first, with the remedy', () => {
    expect(problemsOf(report, {})).toEqual([])
    expect(problemsOf(silent, {})).toEqual([
      'no worker asks for work on the task queue joiner-plan-demo (role planner): kubectl get pods --namespace joiner',
      'the disruption loop does not answer: no worker of the role core works for it',
      'disruption: writePause fails, attempt 7: forbidden',
    ])
    expect(plainText(statusDocument(silent, {}, now))).toMatch(/^BROKEN {2}no worker asks/)
    const late = { list: 'VMs', sinceMs: 0, atMs: 1, process: 'joiner-azure-1', why: 'GET /vms: no answer in 30 s' }
    expect(plainText(statusDocument(report, { lateLists: [late] }, now))).toMatch(
      /^BROKEN {2}Azure has sent no list of VMs to joiner-azure-1 since 1970-01-01T00:00:00.000Z, so launches wait; it is asked again: GET \/vms: no answer in 30 s\n/,
    )
  })

  test('a loop that does not answer is not called free of pauses; the cluster says in its place', () => {
    expect(plainText(statusDocument(silent, {}, now))).toContain('whether disruption is paused is not known')
    const known = {
      nodeClaims,
      leases: [],
      quarantined: [],
      withheld: parseWithheld({}).found,
      waiting: parseWaiting({}).waiting,
      provisioning: [],
      disruption: new Pauses([pause]),
    }
    expect(plainText(statusDocument(silent, known, now))).toContain('PAUSED  disruption of NodePool "gpu"')
    expect(plainText(statusDocument(silent, known, now))).not.toContain('not known')
  })
})

test('without prices a pool has none', () => {
  expect(statusJson(report, { nodeClaims }, now).nodePools?.[0]).toEqual({
    nodePool: 'general',
    nodes: 2,
    phases: { Ready: 1, Launching: 1 },
    unpriced: 2,
  })
})
