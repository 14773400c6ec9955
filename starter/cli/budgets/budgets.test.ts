import { describe, expect, it } from 'vitest'
import type { Budget, NodeClaim } from '../../../core/objects.ts'
import { type Pause, Pauses } from '../../../core/pauses/pauses.ts'
import { sampleClaim, sampleCondition, sampleNode, samplePool } from '../../../test/samples/sample-objects.ts'
import { anywhere, plainText } from '../../document/text.ts'
import { Times } from '../../document/words.ts'
import { type BudgetPicture, budgetReport, type Reason } from './report.ts'
import { budgetsDocument, budgetsJson } from './text.ts'

/** A Saturday. */
const now = Date.parse('2026-11-21T19:20:30Z')
const all: readonly Reason[] = ['Empty', 'Drifted', 'Underutilized']
const working: Budget = { nodes: '0', schedule: '0 9 * * mon-fri', duration: '8h' }

interface World {
  readonly budgets: readonly Budget[]
  readonly nodes?: number
  readonly claims?: readonly NodeClaim[]
  readonly notReady?: readonly string[]
  readonly pauses?: readonly Pause[]
}

function cluster({ budgets, nodes = 20, claims = [], notReady = [], pauses = [] }: World): BudgetPicture {
  const names = Array.from({ length: nodes }, (_, index) => `n${index}`)
  const changed = new Map(claims.map((claim) => [claim.status.nodeName, claim]))
  return {
    nodePools: [samplePool('default', { disruption: { budgets } })],
    nodes: names.map((name) =>
      sampleNode(name, notReady.includes(name) ? { conditions: [{ type: 'Ready', status: 'Unknown' }] } : {}),
    ),
    nodeClaims: names.map((name) => changed.get(name) ?? sampleClaim(name)),
    pauses: new Pauses(pauses),
  }
}

const stamped = sampleClaim('n1', {
  metadata: {
    labels: { 'karpenter.sh/nodepool': 'default' },
    annotations: { 'joiner.sh/disruption-command': 'drifted-1' },
  },
  status: {
    conditions: [
      ...['Registered', 'Initialized'].map((type) => sampleCondition(type)),
      { ...sampleCondition('DisruptionReason'), reason: 'Drifted' },
    ],
  },
})
const deleted = sampleClaim('n2', {
  metadata: { labels: { 'karpenter.sh/nodepool': 'default' }, deletionTimestamp: new Date(now).toISOString() },
})
const terminating = sampleClaim('n3', { status: { conditions: [sampleCondition('InstanceTerminating')] } })

const report = (world: World, reasons = all, days = 3) => budgetReport(cluster(world), { reasons, now, days })
function text(world: World, zone = 'UTC', reasons = all) {
  const times = new Times(now, zone)
  return plainText(budgetsDocument(report(world, reasons), { days: 3, times }), { ...anywhere, times }).split('\n')
}

describe('what counts', () => {
  it('is what budgets count: initialized nodes; not those whose VM is being deleted', () => {
    const [pool] = report({
      budgets: [{ nodes: '20%' }],
      claims: [stamped, deleted, terminating],
      notReady: ['n0', 'n3'],
    })
    expect(pool).toMatchObject({
      nodes: 19,
      consuming: [
        { node: 'n0', nodeClaim: 'n0-claim', why: 'not ready' },
        { node: 'n1', why: 'being disrupted: Drifted' },
        { node: 'n2', why: 'being deleted' },
      ],
      reasons: all.map((reason) => ({ reason, allowed: 4, left: 1, limitedBy: [0] })),
    })
  })

  it('is never less than nothing left', () => {
    const [pool] = report({ budgets: [{ nodes: '1' }], notReady: ['n0', 'n1'] })
    expect(pool?.reasons[0]).toMatchObject({ allowed: 1, left: 0 })
  })
})

describe('the gate', () => {
  const gate = (budgets: readonly Budget[]) => report({ budgets }, ['Empty'])[0]?.reasons[0]?.gate
  const at = (text: string) => Date.parse(text)
  it('says when it closes, and of the window after it opens', () => {
    expect(gate([{ nodes: '10%' }])).toEqual({ kind: 'open' })
    expect(gate([{ nodes: '0' }])).toEqual({ kind: 'blocked' })
    expect(gate([working])).toEqual({ kind: 'open', untilMs: at('2026-11-23T09:00:00Z') })
    expect(gate([{ nodes: '0', schedule: '@daily', duration: '23h' }])).toEqual({
      kind: 'blocked',
      untilMs: at('2026-11-21T23:00:00Z'),
      next: { fromMs: at('2026-11-21T23:00:00Z'), toMs: at('2026-11-22T00:00:00Z') },
    })
    expect(gate([{ nodes: '0', schedule: '0 18 21 11 *', duration: '5h' }])).toEqual({
      kind: 'blocked',
      untilMs: at('2026-11-21T23:00:00Z'),
      next: { fromMs: at('2026-11-21T23:00:00Z') },
    })
  })
})

describe('the text', () => {
  it('is one line for a pool of which there is nothing more to tell', () => {
    expect(text({ budgets: [{ nodes: '10%' }] })).toEqual([
      'NODEPOOL  REASON                         NODES  BUDGET  IN USE  LEFT  LIMITED BY',
      'default   Empty, Drifted, Underutilized  20     2       0       2     10% (budgets[0])',
    ])
  })

  it('names nodes in use, and the times to come in UTC and here', () => {
    const budgets = [{ nodes: '10%' }, { ...working, reasons: ['Drifted', 'Underutilized'] }]
    expect(text({ budgets, notReady: ['n4'] }, 'Europe/Berlin')).toEqual([
      'NODEPOOL  REASON                  NODES  BUDGET  IN USE  LEFT  LIMITED BY',
      'default   Empty                   20     2       1       1     10% (budgets[0])',
      'default   Drifted, Underutilized  20     2       1       1     10% (budgets[0])',
      '',
      'default:',
      '  in use by 1 node: n4 (not ready)',
      '  Drifted, Underutilized: open for 1d13h more (until Mon 23 Nov 09:00 UTC, 10:00 Berlin)',
      '    UTC                                  [Europe/Berlin]                        BUDGET  LIMITED BY',
      '    Sat 21 Nov 19:20 - Mon 23 Nov 09:00  [Sat 21 Nov 20:20 - Mon 23 Nov 10:00]  2       10% (budgets[0])',
      '    Mon 23 Nov 09:00 - 17:00             [Mon 23 Nov 10:00 - 18:00]             0       0 by "0 9 * * mon-fri" for 8h (budgets[1])',
      '    Mon 23 Nov 17:00 - Tue 24 Nov 09:00  [Mon 23 Nov 18:00 - Tue 24 Nov 10:00]  2       10% (budgets[0])',
      '    Tue 24 Nov 09:00 - 17:00             [Tue 24 Nov 10:00 - 18:00]             0       0 by "0 9 * * mon-fri" for 8h (budgets[1])',
      '    Tue 24 Nov 17:00 - 19:20             [Tue 24 Nov 18:00 - 20:20]             2       10% (budgets[0])',
    ])
  })

  it('says until when it is blocked, and what comes then', () => {
    const lines = (budget: Budget) => text({ budgets: [budget] }, 'UTC', ['Empty'])[4]
    expect(lines({ nodes: '0', schedule: '@daily', duration: '23h' })).toBe(
      '  Empty: blocked for 3h39m more (until 23:00 UTC); then open for 4h39m more (until Sun 22 Nov 00:00 UTC)',
    )
    expect(lines({ nodes: '0', schedule: '0 18 21 11 *', duration: '5h' })).toBe(
      '  Empty: blocked for 3h39m more (until 23:00 UTC); then open for the rest of 3 days',
    )
  })

  it('says what cannot be read, and that all is blocked', () => {
    const lines = text({ budgets: [{ nodes: '10%' }, { nodes: '1', schedule: '0 9 * * 7', duration: '1h' }] })
    expect(lines.slice(1)).toEqual([
      'default   Empty, Drifted, Underutilized  20     0       0       0     1 by "0 9 * * 7" for 1h (budgets[1])',
      '',
      'default:',
      '  ✗ spec.disruption.budgets[1].schedule: "0 9 * * 7" cannot be read, so it blocks all disruption: its day of the week "7" is not within 0-6 or sun-sat; Sunday is 0',
      '  Empty, Drifted, Underutilized: blocked for the next 3 days at least',
    ])
  })

  it('says what is paused, by whom and why', () => {
    const pauses: readonly Pause[] = [
      { reason: 'release day', sinceMs: now, by: 'ann', scope: { kind: 'reason', reason: 'Drifted' } },
      { reason: 'debugging', sinceMs: 0, scope: { kind: 'node', name: 'n7' } },
      { reason: 'not of this pool', sinceMs: 0, scope: { kind: 'nodePool', name: 'other' } },
    ]
    expect(text({ budgets: [], pauses })).toEqual([
      'NODEPOOL  REASON                NODES  BUDGET    IN USE  LEFT      LIMITED BY',
      'default   Empty, Underutilized  20     no limit  0       no limit  -',
      'default   Drifted               20     no limit  0       paused    -',
      '',
      'default:',
      '  disruption for reason Drifted is paused by ann for 0s (since 19:20 UTC) until resumed: release day',
      '  disruption of node "n7" is paused until resumed: debugging',
    ])
  })

  it('tells a pool without nodes as if it had one', () => {
    expect(text({ budgets: [{ nodes: '10%' }], nodes: 0 }, 'UTC', ['Empty']).slice(1)).toEqual([
      'default   Empty   0      1       0       1     10% (budgets[0])',
      '',
      'default:',
      '  no nodes that count yet; budgets are reported as for one node',
    ])
  })

  it('cuts a long list short', () => {
    const lines = text({ budgets: [{ nodes: '0', schedule: '*/15 * * * *', duration: '5m' }] }, 'UTC', ['Empty'])
    expect(lines).toHaveLength(4 + 1 + 1 + 16 + 1)
    expect(lines.at(-1)).toBe('    and 561 more until Tue 24 Nov 19:20 UTC; --output json has all')
  })
})

it('JSON has times as texts, and null for what has no limit or no end in sight', () => {
  const [pool] = budgetsJson(report({ budgets: [working] }, ['Empty'], 2)).nodePools
  expect(pool).toEqual({
    nodePool: 'default',
    budgets: [working],
    nodes: 20,
    consuming: [],
    problems: [],
    nodePauses: [],
    reasons: [
      {
        reason: 'Empty',
        allowed: null,
        left: null,
        limitedBy: [],
        openUntil: '2026-11-23T09:00:00.000Z',
        pausedBy: [],
        periods: [
          { from: '2026-11-21T19:20:30.000Z', to: '2026-11-23T09:00:00.000Z', allowed: null, limitedBy: [] },
          { from: '2026-11-23T09:00:00.000Z', to: '2026-11-23T17:00:00.000Z', allowed: 0, limitedBy: [0] },
          { from: '2026-11-23T17:00:00.000Z', to: '2026-11-23T19:20:30.000Z', allowed: null, limitedBy: [] },
        ],
      },
    ],
  })
})
