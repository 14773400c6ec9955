import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { buildView, claim, facts, node, now, pod, waitingPod } from '../../../test/samples/sample-cluster.ts'
import { plainText } from '../../document/text.ts'
import type { ClusterView, NodeView } from '../../picture/watch/cluster-view.ts'
import { noPaint, paintFor, parseResources, type SortKey, selected, sortKeys } from './columns.ts'
import { frameOf, onceDocument, type Place } from './frame.ts'
import type { TopState } from './keys.ts'
import { changesBetween } from './live.ts'

const state: TopState = { sort: 'name', isReversed: false, filter: '', isTyping: false, offset: 0 }
const place: Place = { columns: 140, rows: 12, paint: noPaint, server: 'https://api', resources: ['cpu', 'memory'] }

const names = ['a', 'b', 'c']
const view = buildView(
  facts({
    nodes: [...names.map((name) => node(`aks-${name}`)), node('aks-system', { ready: 'Unknown' })],
    claims: [
      ...names.map((name) => claim(name, { nodeName: `aks-${name}` })),
      claim('d', { at: 0, conditions: [{ type: 'Launched', status: 'Unknown', message: 'no capacity' }] }),
    ],
    pods: [
      ...['1', '2', '3'].map((name) => pod(name, { nodeName: 'aks-b', cpu: '1' })),
      pod('4', { nodeName: 'aks-c' }),
      waitingPod('big', '0/4 nodes are available: 4 Insufficient cpu'),
    ],
  }),
  now,
)

const linesAt = (columns: number, rows: number, change: Partial<TopState> = {}) =>
  frameOf(view, { ...state, ...change }, { ...place, columns, rows }).lines

test('a frame shows totals, what waits, nodes and keys', () => {
  expect(linesAt(140, 12)).toEqual([
    '5 nodes  2 not ready  4 pods  1 pending  0.400 USD/hour  292.00 USD/month  00:00:00 UTC  https://api',
    'cpu     ███████░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░  18%  3.5 of 19.2 cores requested',
    'memory  ██░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░   6%  4.0 GiB of 71.0 GiB requested',
    'pending  1 pod unschedulable for 1d: 0/4 nodes are available: 4 Insufficient cpu (such as shop/big)',
    'NODE▾       NODEPOOL  TYPE             ZONE       CAPACITY    USD/H  PHASE               PODS  CPU              MEMORY           AGE',
    'aks-a       general   Standard_D4s_v5  westus2-1  spot       0.0500  Ready                  0  ░░░░░░░░░░   0%  ░░░░░░░░░░   0%   1d',
    'aks-b       general   Standard_D4s_v5  westus2-1  spot       0.0500  Ready                  3  ████████░░  79%  ██░░░░░░░░  21%   1d',
    'aks-c       general   Standard_D4s_v5  westus2-1  spot       0.0500  Ready                  1  █░░░░░░░░░  13%  █░░░░░░░░░   7%   1d',
    'aks-system  -         Standard_D4s_v5  -          on-demand  0.2000  Unmanaged,NotReady     0  ░░░░░░░░░░   0%  ░░░░░░░░░░   0%   1d',
    'd           general   Standard_D4s_v5  westus2-1  spot       0.0500  Launching              0  ░░░░░░░░░░   0%  ░░░░░░░░░░   0%   1d',
    '',
    '1-5 of 5  q quit  s/S sort: name  r reverse  p NodePool: all  / filter  arrows, PgUp, PgDn scroll',
  ])
})

test.each<[number, string]>([
  [200, 'NODE▾ NODEPOOL TYPE ZONE CAPACITY USD/H PHASE PODS CPU MEMORY AGE NOTE'],
  [120, 'NODE▾ NODEPOOL TYPE CAPACITY USD/H PHASE PODS CPU MEMORY'],
  [100, 'NODE▾ NODEPOOL TYPE USD/H PHASE PODS CPU MEMORY'],
  [80, 'NODE▾ NODEPOOL USD/H PHASE CPU MEMORY'],
  [40, 'NODE▾ CPU NOTE'],
  [12, 'NODE▾'],
])('at %i characters these columns are left', (columns, expected) => {
  const heading = linesAt(columns, 20).find((line) => line.startsWith('NODE'))
  expect(heading?.split(/ +/).join(' ')).toBe(expected)
})

test('no line is longer than the terminal, and there are not more than it has', () => {
  const size = fc.record({ columns: fc.integer({ min: 1, max: 250 }), rows: fc.integer({ min: 1, max: 60 }) })
  const change = fc.record({
    sort: fc.constantFrom(...sortKeys),
    isReversed: fc.boolean(),
    filter: fc.constantFrom('', 'aks', 'nothing'),
    isTyping: fc.boolean(),
    offset: fc.integer({ min: 0, max: 10 }),
  })
  fc.assert(
    fc.property(size, change, ({ columns, rows }, changed) => {
      const { lines, offset } = frameOf(view, changed, { ...place, columns, rows })
      expect(lines.length).toBeLessThanOrEqual(rows)
      expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(columns)
      expect(offset).toBeLessThanOrEqual(changed.offset)
    }),
  )
})

test('rows are scrolled, but not beyond the last', () => {
  const rowsAt = (offset: number) =>
    linesAt(80, 7, { offset })
      .filter((line) => /^(aks|d )/.test(line))
      .map((line) => line.split(' ')[0])
  expect(rowsAt(0)).toEqual(['aks-a', 'aks-b'])
  expect(rowsAt(2)).toEqual(['aks-c', 'aks-system'])
  expect(rowsAt(100)).toEqual(['aks-system', 'd'])
})

test.each<[SortKey, string]>([
  ['name', 'a b c aks-system d'],
  ['nodepool', 'aks-system a b c d'],
  ['price', 'aks-system a b c d'],
  ['phase', 'd a b c aks-system'],
  ['pods', 'b c a aks-system d'],
  ['cpu', 'b c a aks-system d'],
  ['memory', 'b c a aks-system d'],
  ['capacity', 'aks-system a b c d'],
])('sorted by %s', (sort, expected) => {
  expect(
    selected(view.nodes, { ...state, sort })
      .map(({ key }) => key)
      .join(' '),
  ).toBe(expected)
})

test.each<[string, Partial<TopState>, string]>([
  ['a NodePool', { nodePool: 'general' }, 'a b c d'],
  ['none', { nodePool: '' }, 'aks-system'],
  ['a filter', { filter: 'LAUNCH' }, 'd'],
  ['a note', { filter: 'no capacity' }, 'd'],
  ['reversed', { isReversed: true }, 'd aks-system c b a'],
])('of %s', (_, change, expected) => {
  expect(
    selected(view.nodes, { ...state, ...change })
      .map(({ key }) => key)
      .join(' '),
  ).toBe(expected)
})

test.each<[string, readonly string[] | undefined]>([
  ['cpu', ['cpu']],
  ['memory, cpu', ['cpu', 'memory']],
  ['pods', ['pods']],
  ['gpu', undefined],
  ['', undefined],
])('resources %j', (text, expected) => expect(parseResources(text)).toEqual(expected))

describe("a stranger's input", () => {
  const hostile = '\u001b[2J\u202egoal\nline\u0007'
  const odd: NodeView = {
    ...(view.nodes[0] as NodeView),
    note: hostile,
    nodePool: hostile,
    allocatable: { cpu: Number.NaN, memory: Number.POSITIVE_INFINITY, pods: -1 },
  }
  const bad: ClusterView = {
    ...view,
    nodes: [odd],
    missing: [{ what: hostile, why: hostile, remedy: hostile }],
    pending: view.pending.map((one) => ({ ...one, finding: hostile, pods: [hostile] })),
  }
  test('reaches no terminal as control characters', () => {
    const frame = frameOf(bad, { ...state, filter: hostile }, { ...place, server: hostile }).lines
    const all = [
      ...frame,
      ...frameOf(bad, state, place).lines,
      plainText(onceDocument(bad, state, ['cpu', 'memory', 'pods'])),
    ]
    for (const line of all) expect(line.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u)
    expect(all.join('\n')).toContain('\\u001b[2J')
  })
  test('amounts that are none show as nothing', () => {
    expect(plainText(onceDocument(bad, state, ['cpu']))).toMatch(/aks-a .* - /)
  })
})

test('styles are only given where colours are wanted', () => {
  const painted = (isColored: boolean) =>
    frameOf(view, state, { ...place, paint: paintFor(isColored) })
      .lines.join('')
      .includes('\u001b[')
  expect([painted(true), painted(false)]).toEqual([true, false])
})

test('one view as text', () => {
  expect(plainText(onceDocument(view, { ...state, nodePool: 'general' }, ['cpu'])).split('\n')).toEqual([
    '5 nodes  2 not ready  4 pods  1 pending  0.400 USD/hour  292.00 USD/month',
    'cpu       18%  3.5 of 19.2 cores requested',
    'pending  1 pod unschedulable for 1d: 0/4 nodes are available: 4 Insufficient cpu (such as shop/big)',
    '',
    'NODE   NODEPOOL  TYPE             ZONE       CAPACITY  USD/H   PHASE      PODS  CPU  AGE  NOTE',
    'aks-a  general   Standard_D4s_v5  westus2-1  spot      0.0500  Ready      0     0%   1d   -',
    'aks-b  general   Standard_D4s_v5  westus2-1  spot      0.0500  Ready      3     79%  1d   -',
    'aks-c  general   Standard_D4s_v5  westus2-1  spot      0.0500  Ready      1     13%  1d   -',
    'd      general   Standard_D4s_v5  westus2-1  spot      0.0500  Launching  0     0%   1d   no capacity',
  ])
})

describe('a terminal is written', () => {
  const start = (line: number) => `\u001b[${line};1H`
  test.each<[string, readonly string[], readonly string[], string]>([
    ['nothing where nothing changed', ['a', 'b'], ['a', 'b'], ''],
    ['only changed lines', ['a', 'b', 'c'], ['a', 'x', 'c'], `${start(2)}x\u001b[K`],
    ['new lines', ['a'], ['a', 'b'], `${start(2)}b\u001b[K`],
    ['away what is left', ['a', 'b', 'c'], ['a'], `${start(2)}\u001b[J`],
  ])('%s', (_, before, after, expected) => expect(changesBetween(before, after)).toBe(expected))
})
