import { describe, expect, test } from 'vitest'
import type { CommandFacts, History, Life } from '../../../core/history/life.ts'
import { csvText } from '../../document/csv.ts'
import { plainText } from '../../document/text.ts'
import {
  commandJson,
  coverageJson,
  coverageNotes,
  lifeJson,
  lifeRows,
  livesCsv,
  livesTable,
  nodeParts,
  ofNode,
  ofPool,
  poolRows,
  poolsCsv,
  poolsTable,
  timelineCsv,
  timelineJson,
} from './text.ts'

const hour = 3_600_000
const now = Date.UTC(2026, 0, 10, 12)
const vm = { instanceType: 'Standard_D4s_v5', zone: 'westus2-2', capacityType: 'spot', pricePerHour: 0.05 }

function life(nodeClaim: string, change: Partial<Life> = {}): Life {
  return {
    nodePool: 'general',
    node: `aks-${nodeClaim}`,
    createdMs: now - 4 * hour,
    registeredMs: now - 4 * hour + 40_000,
    readyMs: now - 4 * hour + 50_000,
    vms: [{ ...vm, fromMs: now - 4 * hour }],
    came: { kind: 'pods', pods: 3 },
    refused: [],
    attempts: 1,
    labels: {},
    nodeClaim,
    uid: 'aaaaaaaa',
    workflowId: `nodeclaim/prod/${nodeClaim}-aaaaaaaa`,
    runId: 'run',
    isRunning: true,
    ...change,
  }
}

const gone: Partial<Life> = {
  isRunning: false,
  vms: [{ ...vm, fromMs: now - 4 * hour, toMs: now - 2 * hour }],
  drainingMs: now - 2 * hour - 60_000,
  endedMs: now - 2 * hour,
  drainedPods: 12,
  went: { kind: 'disruption', command: 'drift-1', reason: 'Drifted' },
}

const command: CommandFacts = {
  id: 'drift-1',
  method: 'drift',
  reason: 'Drifted',
  decision: 'replace',
  candidates: ['a'],
  replacements: ['b'],
  savings: 0.02,
  startedMs: now - 2 * hour - 120_000,
  endedMs: now - 2 * hour,
  outcome: 'done',
}

const history = (lives: readonly Life[], change: Partial<History> = {}): History => ({
  lives,
  commands: [command],
  sinceMs: now - 24 * hour,
  untilMs: now,
  retentionMs: 168 * hour,
  unreadable: 0,
  ...change,
})

const both = history([
  life('a', gone),
  life('b', { came: { kind: 'replacement', command: 'drift-1', replaces: ['a'] }, createdMs: now - 2 * hour }),
])

describe('the table of nodes', () => {
  test('says what each cost, why it came and why it went', () => {
    expect(
      plainText([[livesTable(lifeRows(both), now)]])
        .split('\n')
        .map((line) => line.replaceAll(/ {2,}/g, ' | ')),
    ).toEqual([
      'NODECLAIM | NODEPOOL | CREATED | LIVED | READY AFTER | VM | USD | CAME | WENT',
      'a | general | 2026-01-10T08:00:00Z | 2h | 50s | Standard_D4s_v5 spot westus2-2 | 0.10 | for 3 pods | Drifted (command drift-1)',
      'b | general | 2026-01-10T10:00:00Z | 2h | 0s | Standard_D4s_v5 spot westus2-2 | 0.20 | replaces a (command drift-1) | -',
    ])
  })

  test.each<[string, Partial<Life>, RegExp]>([
    ['no VM', { vms: [] }, / - +0\.00 /],
    ['a price that is not known', { vms: [{ ...vm, fromMs: now - hour, pricePerHour: undefined as never }] }, / \? /],
    [
      'two VMs',
      {
        vms: [
          { ...vm, fromMs: now - 3 * hour, toMs: now - 2 * hour },
          { ...vm, fromMs: now - hour },
        ],
      },
      /\(2 VMs\) +0\.10/,
    ],
    [
      'a node that drains',
      { drainingMs: now - hour, went: { kind: 'expired', message: 'expired at X' } },
      /going: expired at X$/,
    ],
    [
      'a cause on several lines',
      { went: { kind: 'gave-up', reason: 'r', message: 'a\nb\u001b[2J' } },
      /gave up: r: a\\nb\\u001b\[2J$/,
    ],
  ])('with %s', (_, change, expected) => {
    const [, ...rows] = plainText([[livesTable(lifeRows(history([life('a', change)])), now)]]).split('\n')
    expect(rows).toHaveLength(1)
    expect(rows[0]).toMatch(expected)
  })
})

test('the timeline of a node tells its whole life, with the command that ended it', () => {
  const [row] = lifeRows(ofNode(both, 'aks-a'))
  expect(row).toBeDefined()
  expect(plainText(nodeParts(row as never, both.commands)).replaceAll(/ {3,}/g, '  ')).toBe(
    `NodeClaim a, Node aks-a, NodePool general
  Standard_D4s_v5 spot westus2-2, $0.05 an hour
  2.00 node-hours, $0.10
  came: for 3 pods
  went: Drifted (command drift-1)

TIME  AFTER  WHAT
2026-01-10T08:00:00Z  +0s  NodeClaim a created, for 3 pods
2026-01-10T08:00:00Z  +0s  VM accepted: Standard_D4s_v5 spot westus2-2, $0.05 an hour
2026-01-10T08:00:40Z  +40s  Node aks-a registered
2026-01-10T08:00:50Z  +50s  Node ready
2026-01-10T09:58:00Z  +1h58m  command drift-1 (Drifted, replace) of a, replaced by b, saves $0.02 an hour
2026-01-10T09:59:00Z  +1h59m  deletion began: Drifted (command drift-1)
2026-01-10T10:00:00Z  +2h  VM gone: Standard_D4s_v5 spot westus2-2
2026-01-10T10:00:00Z  +2h  command drift-1 done
2026-01-10T10:00:00Z  +2h  NodeClaim gone; 12 pods had been moved`.replaceAll(/ {3,}/g, '  '),
  )
})

test('NodePools are summed up', () => {
  const all = history([
    ...both.lives,
    life('c', {
      ...gone,
      nodePool: 'gpu',
      went: { kind: 'interrupted', message: 'Preempt' },
      createdMs: now - 30 * hour,
    }),
    life('d', { nodePool: undefined as never, came: { kind: 'by-hand' } }),
  ])
  expect(poolRows(all)).toMatchObject([
    { nodePool: '(none)', running: 1, created: 1, came: { 'by-hand': 1 } },
    {
      nodePool: 'general',
      running: 1,
      created: 2,
      ended: 1,
      nodeHours: 6,
      came: { pods: 1, replacement: 1 },
      went: { Drifted: 1 },
    },
    { nodePool: 'gpu', running: 0, created: 0, ended: 1, nodeHours: 2, usd: 0.1, came: {}, went: { interrupted: 1 } },
  ])
  expect(
    plainText([[poolsTable(poolRows(all))]])
      .split('\n')[2]
      ?.replaceAll(/ {2,}/g, ' | '),
  ).toBe('general | 1 | 2 | 1 | 6.00 | 0.30 | pods 1, replacement 1 | Drifted 1 | 0')
  expect(csvText(poolsCsv(poolRows(all))).split('\n')[2]).toBe(
    'general,1,2,1,6,0,0.30000000000000004,"pods 1, replacement 1",Drifted 1,0',
  )
  expect(ofPool(all, '(none)').lives.map(({ nodeClaim }) => nodeClaim)).toEqual(['d'])
})

test('only the asked time costs', () => {
  const [row] = lifeRows(history([life('a')], { sinceMs: now - hour }))
  expect(row).toMatchObject({ nodeHours: 1, usd: 0.05 })
})

test('JSON has times as texts, and all facts', () => {
  const [row] = lifeRows(both)
  expect(JSON.parse(JSON.stringify(timelineJson(row as never, both.commands)))).toMatchObject({
    nodeClaim: 'a',
    created: '2026-01-10T08:00:00.000Z',
    ended: '2026-01-10T10:00:00.000Z',
    vms: [{ ...vm, from: '2026-01-10T08:00:00.000Z', to: '2026-01-10T10:00:00.000Z' }],
    went: { kind: 'disruption', command: 'drift-1', reason: 'Drifted' },
    usd: 0.1,
    timeline: { length: 9 },
  })
  expect(lifeJson(row as never)).not.toHaveProperty('endedMs')
  expect(commandJson(command)).toMatchObject({ id: 'drift-1', started: '2026-01-10T09:58:00.000Z', outcome: 'done' })
  expect(coverageJson(both)).toEqual({
    since: '2026-01-09T12:00:00.000Z',
    until: '2026-01-10T12:00:00.000Z',
    retentionHours: 168,
    unreadable: 0,
    withoutVm: 0,
  })
})

test('CSV has one line for each node or moment', () => {
  const [header, first] = csvText(livesCsv(lifeRows(both))).split('\n')
  expect(header?.split(',').length).toBe(first?.split(',').length)
  expect(first).toContain(',Drifted (command drift-1),1,0,12,')
  expect(csvText(timelineCsv(lifeRows(ofNode(both, 'a')), both.commands)).split('\n')).toHaveLength(10)
})

describe('what is missing is said', () => {
  test.each<[string, Partial<History>, readonly RegExp[]]>([
    ['nothing', {}, []],
    [
      'what retention limits',
      { sinceMs: now - 10 * hour, retentionMs: 10 * hour },
      [/for 10h .* before 2026-01-10T02:00:00Z/],
    ],
    ['what cannot be read', { unreadable: 2 }, [/^note: 2 lifecycles have no readable facts/]],
  ])('%s', (_, change, expected) => {
    const notes = coverageNotes(history([], change), now - 24 * hour)
    expect(notes).toHaveLength(expected.length)
    for (const [at, pattern] of expected.entries()) expect(notes[at]).toMatch(pattern)
  })
})
