import { describe, expect, test } from 'vitest'
import { lifecycleDetails } from '../../../core/history/details.ts'
import { unknownFacts } from '../../../core/history/record.ts'
import { Pauses } from '../../../core/pauses/pauses.ts'
import { lifecycleId } from '../../../core/task-queues.ts'
import { sampleClaim, sampleNode, sampleTime } from '../../../test/samples/sample-objects.ts'
import { plainText } from '../../document/text.ts'
import type { LifecycleFacts } from '../../picture/lifecycles.ts'
import { detailsDocument, detailsJson, detailsOf, listTable, nodeRows, rowJson, rowNamed } from './report.ts'

const now = sampleTime + 3_600_000
const ready = sampleClaim('n1', {
  metadata: { annotations: { 'joiner.sh/hold-until': 'released', 'joiner.sh/hold-by': 'ann' } },
})
const leaving = sampleClaim('n2', { metadata: { deletionTimestamp: new Date(now - 600_000).toISOString() } })

const lifecycleOf = (node: string, change: Partial<LifecycleFacts> = {}): LifecycleFacts => ({
  workflowId: lifecycleId('demo', { name: `${node}-claim`, uid: `uid-${node}-claim` }),
  name: `${node}-claim`,
  uid: `uid-${node}-claim`,
  phase: 'Ready',
  nodePool: 'default',
  nodeName: node,
  retried: [],
  ...change,
})
const terminating = lifecycleOf('n2', {
  phase: 'Terminating',
  status: { phase: 'Terminating', sinceMs: now - 540_000, attempt: 1, waitingFor: 'the VM to be gone' },
  retried: [{ step: 'deleteInstance', attempt: 7, failure: 'AuthorizationFailed', againMs: now + 40_000 }],
})
const both = { claims: [ready, leaving], lifecycles: [lifecycleOf('n1'), terminating] }

describe('the list', () => {
  test('what waits stands first, with what failed and when it is tried again', () => {
    expect(plainText([[listTable(nodeRows(both, now), now)]]).split('\n')).toEqual([
      'NODECLAIM  NODE  NODEPOOL  PHASE        SINCE  ATTEMPT           WAITS FOR',
      'n2-claim   n2    default   Terminating  9m     deleteInstance 7  deleted by somebody: the VM to be gone; last failure (again in 40s): AuthorizationFailed',
      'n1-claim   n1    default   Ready        1h     -                 HELD until released by ann, no reason given',
    ])
  })

  test('without Temporal it goes by conditions', () => {
    const rows = nodeRows({ claims: both.claims }, now)
    expect(rows.map(({ nodeClaim, phase, note }) => [nodeClaim, phase, note])).toEqual([
      ['n2-claim', 'Draining', undefined],
      ['n1-claim', 'Ready', undefined],
    ])
  })

  test('without the cluster it goes by Temporal', () => {
    expect(
      nodeRows({ lifecycles: both.lifecycles }, now).map(({ nodeClaim, node, phase }) => [nodeClaim, node, phase]),
    ).toEqual([
      ['n2-claim', 'n2', 'Terminating'],
      ['n1-claim', 'n1', 'Ready'],
    ])
  })

  test.each<[string, Parameters<typeof nodeRows>[0], RegExp]>([
    [
      'a lifecycle that does not answer',
      { ...both, lifecycles: [lifecycleOf('n1'), { ...terminating, status: 'silent' }] },
      /does not answer/,
    ],
    ['a NodeClaim without a lifecycle', { ...both, lifecycles: [lifecycleOf('n1')] }, /no lifecycle runs/],
    ['a lifecycle whose NodeClaim is gone', { claims: [], lifecycles: [terminating] }, /its NodeClaim is gone/],
  ])('reports %s', (_, facts, note) => {
    expect(rowNamed(nodeRows(facts, now), 'n2')?.note).toMatch(note)
    expect(plainText([[listTable(nodeRows(facts, now), now)]])).toContain('! ')
  })

  test.each([
    ['Launching', { Launched: 'Unknown' }, 'Launching'],
    ['Launching', { Launched: 'True' }, 'Registering'],
    ['Launching', { Launched: 'True', Registered: 'True' }, 'Initializing'],
    ['Registering', { Launched: 'True', Registered: 'True' }, 'Initializing'],
    ['Initializing', { Launched: 'True' }, 'Initializing'],
    ['Draining', { Launched: 'True' }, 'Draining'],
  ] as const)('a lifecycle in %s whose NodeClaim has %j: the node is %s', (phase, given, shown) => {
    const lastTransitionTime = new Date(sampleTime).toISOString()
    const conditions = Object.entries(given).map(([type, status]) => ({ type, status, lastTransitionTime }))
    const status = { phase, sinceMs: now - 60_000, attempt: 1, waitingFor: 'its Node' }
    const facts = {
      claims: [sampleClaim('n1', { status: { conditions } })],
      lifecycles: [lifecycleOf('n1', { status })],
    }
    expect(nodeRows(facts, now).map((row) => row.phase)).toEqual([shown])
  })

  test('no NodeClaims', () => expect(plainText([[listTable([], now)]])).toBe('no NodeClaims'))
})

test('what holds up a drain is reported with its time', () => {
  const on = [{ what: 'pod shop/web-1 has the annotation karpenter.sh/do-not-disrupt', sinceMs: now - 300_000 }]
  const status = {
    phase: 'Draining' as const,
    sinceMs: now - 540_000,
    attempt: 1,
    waitingFor: 'a pod',
    drain: { on, more: 2 },
  }
  const lifecycle = lifecycleOf('n2', { phase: 'Draining', status })
  const [row] = nodeRows({ claims: [leaving], lifecycles: [lifecycle] }, now)
  if (row === undefined) throw new Error('no row')
  const text = plainText(detailsDocument({ row, lifecycle }, now))
  expect(text).toContain('  pod shop/web-1 has the annotation karpenter.sh/do-not-disrupt, for 5m\n  and 2 more\n')
  expect(detailsJson({ row, lifecycle })).toMatchObject({ drain: { on: [{ since: '2026-01-01T00:55:00Z' }], more: 2 } })
})

test('what helps is what ends the cause, and by force at last; nothing where nothing holds it up', () => {
  const helpsOf = (status: NonNullable<LifecycleFacts['status']>) => {
    const lifecycle = lifecycleOf('n2', { phase: 'Draining', status })
    const row = rowNamed(nodeRows({ claims: [leaving], lifecycles: [lifecycle] }, now), 'n2')
    if (row === undefined) throw new Error('no row')
    return detailsJson({ row, lifecycle }).remedies
  }
  const status = { phase: 'Draining' as const, sinceMs: now - 540_000, attempt: 1, waitingFor: 'a pod' }
  expect(helpsOf(status)).toEqual([])
  const what = 'evicting pod violates a PDB (Pod=shop/web-1, PodDisruptionBudget=[shop/web])'
  expect(helpsOf({ ...status, drain: { on: [{ what, sinceMs: now }], more: 0 } })).toEqual([
    'kubectl edit pdb --namespace shop web',
    'as a last resort, without eviction: joiner node force-finish n2-claim --reason WHY',
  ])
})

type Status = Exclude<NonNullable<LifecycleFacts['status']>, 'silent'>
const started = { sinceMs: now - 540_000, attempt: 1 }
const refusedEviction = {
  what: 'evicting pod violates a PDB (Pod=shop/web-1, PodDisruptionBudget=[shop/web])',
  sinceMs: now,
}
const announced = { ...leaving.metadata, annotations: { 'joiner.sh/interrupted': 'Preempt' } }
const launching = sampleClaim('n2', { status: { conditions: [] } })

// The NodeClaim may know less than its lifecycle, such as the Node's condition that a repair follows from.
test.each<[string, typeof ready, Status]>([
  ['rests', sampleClaim('n2'), { ...started, phase: 'Ready', waitingFor: 'a change' }],
  ['launches', launching, { ...started, phase: 'Launching', waitingFor: 'a VM' }],
  [
    'launches after a refusal',
    launching,
    { ...started, phase: 'Launching', waitingFor: 'a VM', lastCapacityFailure: 'no room' },
  ],
  ['was deleted', leaving, { ...started, phase: 'Draining', waitingFor: 'pods', leaves: 'deleted by somebody' }],
  ['was repaired', leaving, { ...started, phase: 'Draining', waitingFor: 'pods', leaves: 'repaired: Ready is False' }],
  [
    'was given up',
    leaving,
    { ...started, phase: 'Terminating', waitingFor: 'the VM', leaves: 'gave up: launch_timeout: no VM' },
  ],
  [
    'is interrupted while a PodDisruptionBudget holds up its drain',
    { ...leaving, metadata: announced },
    {
      ...started,
      phase: 'Draining',
      waitingFor: 'pods',
      leaves: 'interrupted: Preempt',
      drain: { on: [refusedEviction], more: 0 },
    },
  ],
])('of a node that %s, the command says what Temporal says', (_, claim, status) => {
  const lifecycle = lifecycleOf('n2', { phase: status.phase, status })
  const [row] = nodeRows({ claims: [claim], lifecycles: [lifecycle] }, now)
  if (row === undefined) throw new Error('no row')
  const shown = lifecycleDetails({
    ...status,
    nodeClaim: claim.metadata.name,
    facts: unknownFacts(now),
    outcomes: [],
  }).replaceAll(/[\\`]/g, '')
  const [, helps = ''] = /\*\*What helps\*\*\n\n((?:- .*\n)+)/.exec(shown) ?? []
  expect({
    headline: row.headline,
    remedies: detailsJson({ row, claim, lifecycle })
      .remedies.map((remedy) => `- ${remedy}\n`)
      .join(''),
  }).toEqual({ headline: shown.split('\n')[0]?.replaceAll('**', ''), remedies: helps })
})

test('a pod that has left holds up no drain, whatever its lifecycle has heard', () => {
  const what = 'evicting pod violates a PDB (Pod=shop/web-1, PodDisruptionBudget=[shop/web])'
  const drain = { on: [{ what, sinceMs: now }], more: 0 }
  const status = { phase: 'Draining' as const, sinceMs: now - 540_000, attempt: 1, waitingFor: what, drain }
  const facts = { claims: [leaving], lifecycles: [lifecycleOf('n2', { phase: 'Draining', status })] }
  const row = rowNamed(nodeRows(facts, now), 'n2')
  if (row === undefined) throw new Error('no row')
  const picture = {
    now,
    node: sampleNode('n2'),
    claim: leaving,
    pods: [],
    budgets: [],
    events: [],
    pauses: new Pauses([]),
    drain: { evicted: ['shop/web-1'], attachments: [] },
  }
  const details = detailsOf(row, facts, { picture })
  expect(detailsJson(details)).toMatchObject({ waitsFor: 'pods to leave the Node', drain: { on: [] }, remedies: [] })
  expect(plainText(detailsDocument(details, now))).not.toContain('violates a PDB')
})

test('one node in full, by the name of the Node or of the NodeClaim', () => {
  const rows = nodeRows(both, now)
  const row = rowNamed(rows, 'n2')
  expect(row).toBe(rowNamed(rows, 'n2-claim'))
  if (row === undefined) throw new Error('no row')
  const events = [{ reason: 'RetryNow', message: 'started again', about: 'NodeClaim', at: now - 60_000, times: 2 }]
  const text = plainText(detailsDocument({ row, claim: leaving, lifecycle: terminating, events }, now))
  expect(text).toContain('NodeClaim n2-claim (Node n2) of NodePool default\n')
  expect(text).toContain('  Terminating since 2026-01-01T00:51:00Z: deleted by somebody: the VM to be gone\n')
  expect(text).toContain('  deleteInstance, attempt 7, again in 40s: AuthorizationFailed\n')
  expect(text).toContain('  try at once: joiner node retry n2-claim\n')
  expect(text).toContain('joiner node force-finish n2-claim --reason WHY')
  expect(text).toContain('  1m ago  NodeClaim  RetryNow (2 times): started again')
  expect(detailsJson({ row, lifecycle: terminating })).toMatchObject({
    nodeClaim: 'n2-claim',
    since: '2026-01-01T00:51:00Z',
    retried: [{ step: 'deleteInstance', again: '2026-01-01T01:00:40Z' }],
  })
  expect(rowJson(row)).not.toHaveProperty('sinceMs')
})
