import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import * as fc from 'fast-check'
import { marked, type Token, type Tokens } from 'marked'
import { afterEach, describe, expect, test } from 'vitest'
import type { CommandFacts, History, Life } from '../../../core/history/life.ts'
import { reportOf } from '../../../core/history/report/report.ts'
import { printable } from '../../../core/values/printable.ts'
import { arbitraryHistory, hostileText } from '../../../test/fakes/arbitrary-history.ts'
import { amountOf, type Cell, type Document, isLine, type Table, wordsOf } from '../../document/document.ts'
import { htmlOf } from '../../document/html.ts'
import { markdownOf } from '../../document/markdown.ts'
import { type Measured, measuredWaits, selectorOf } from './prometheus.ts'
import { reportDocument, reportText } from './run.ts'

const hour = 3_600_000
const since = Date.UTC(2026, 10, 17)
const until = since + 24 * hour
const vm = { instanceType: 'Standard_D4s_v5', zone: 'westus2-1', capacityType: 'spot', pricePerHour: 0.05 }

const node: Life = {
  nodeClaim: 'general-a',
  uid: 'uid-a',
  workflowId: 'a',
  runId: 'run',
  isRunning: false,
  nodePool: 'general',
  createdMs: since + hour,
  registeredMs: since + hour + 38_000,
  readyMs: since + hour + 41_000,
  drainingMs: since + 3 * hour,
  endedMs: since + 3 * hour + 25_000,
  drainedPods: 12,
  vms: [{ ...vm, fromMs: since + hour + 1500, toMs: since + 3 * hour + 24_000 }],
  came: { kind: 'pods', pods: 12 },
  went: { kind: 'interrupted', message: 'PreemptionScheduled (SpotEvictionIncoming)' },
  refused: [{ ...vm, instanceType: 'Standard_D4as_v5', reason: 'SkuNotAvailable' }],
  attempts: 2,
  labels: {},
}
const { endedMs: _, drainingMs: __, went: ___, drainedPods: ____, ...alive } = node
const next: Life = {
  ...alive,
  nodeClaim: 'general-b',
  uid: 'uid-b',
  isRunning: true,
  refused: [],
  createdMs: since + 3 * hour + 1000,
  registeredMs: since + 3 * hour + 19_000,
  readyMs: since + 3 * hour + 21_000,
  vms: [{ ...vm, fromMs: since + 3 * hour + 1500 }],
}
const command: CommandFacts = {
  id: 'single-1',
  method: 'single-node',
  reason: 'Underutilized',
  decision: 'replace',
  candidates: ['general-a'],
  replacements: ['general-c'],
  savings: 0.02,
  startedMs: since + 2 * hour,
  endedMs: since + 2 * hour + 60_000,
  outcome: 'undone',
  message: 'replacement "general-c" did not become ready: insufficient capacity',
}
const history: History = {
  lives: [node, next],
  commands: [
    command,
    { ...command, id: 'empty-1', method: 'emptiness', reason: 'Empty', outcome: 'done', replacements: [] },
  ],
  sinceMs: since,
  untilMs: until,
  retentionMs: 24 * hour,
  unreadable: 2,
}
const reported = (from: History = history, measured: Measured = { kind: 'unasked' }) => ({
  cluster: 'prod',
  facts: reportOf(from),
  askedMs: since - 144 * hour,
  measured,
})

/** Rows of tables, with their padding taken away. */
const tableRows = (markdown: string) =>
  markdown
    .split('\n')
    .filter((line) => line.startsWith('|') && !line.startsWith('| -'))
    .map((line) => line.replaceAll(/ +/g, ' '))

test('the report says what happened', async () => {
  const markdown = await reportText(reported(), 'markdown')
  expect(markdown.split('\n').slice(0, 10)).toEqual([
    '# Joiner report: `prod`, 2026-11-17T00:00:00Z to 2026-11-18T00:00:00Z',
    '',
    '- Nodes: 0 at the start, 2 created, 1 ended, 1 at the end; 23 node-hours, 1.15 USD',
    '- Launches: 2 of 2 NodeClaims became ready, 0 gave up; created to ready p50 20s, p90 41s, p99 41s',
    '- Capacity failures: 1 launch failed, for 1 offering and reason',
    '- Disruption: 1 command done, 1 undone; 0.0197 USD saved',
    '- Interruptions: 1 node, 1 with a replacement in time',
    '- Incomplete: asked for since 2026-11-11T00:00:00Z, but Temporal keeps ended lifecycles for 24 hours in this namespace',
    '- Incomplete: 2 lifecycles have no readable facts: terminated, begun under another version, or encrypted with a key that is missing here (JOINER_TEMPORAL_ENCRYPTION_KEYS)',
    '',
  ])
  expect(tableRows(markdown)).toEqual([
    '| NodePool | At the start | Created | Ended | At the end | Node-hours | USD |',
    '| `general` | 0 | 2 | 1 | 1 | 23 | 1.15 |',
    '| all | 0 | 2 | 1 | 1 | 23 | 1.15 |',
    '| Reason | NodePool | NodeClaims |',
    '| pods needed a node | `general` | 2 |',
    '| Reason | NodePool | NodeClaims |',
    '| interrupted by Azure | `general` | 1 |',
    '| NodePool | Size | NodeClaims | Created to accepted | To registered | To ready | Created to ready | Longest |',
    '| `general` | `Standard_D4s_v5` | 2 | 0.5s / 1.5s / 1.5s | 18s / 37s / 37s | 2s / 3s / 3s | 20s / 41s / 41s | 41s |',
    '| all | all | 2 | 0.5s / 1.5s / 1.5s | 18s / 37s / 37s | 2s / 3s / 3s | 20s / 41s / 41s | 41s |',
    '| Size | Zone | Capacity type | Reason | Times | NodeClaims | Ready nevertheless |',
    '| `Standard_D4as_v5` | `westus2-1` | `spot` | `SkuNotAvailable` | 1 | 1 | 1 |',
    '| Method | Reason | Done | Undone | Running | Terminated | Nodes removed | Replacements | USD an hour | USD saved |',
    '| emptiness | Empty | 1 | 0 | 0 | 0 | 1 | 0 | 0.02 | 0.0197 |',
    '| single-node | Underutilized | 0 | 1 | 0 | 0 | 0 | 0 | 0.00 | 0.00 |',
    '| Method | Why | Commands | NodeClaims that stayed | Last |',
    '| single-node | `replacement "general-c" did not become ready: insufficient capacity` | 1 | `general-a` | 2026-11-17T02:01:00Z |',
    '| NodeClaim | NodePool | Size | Zone | Notice | Announced | VM gone after | Pods moved | Replacement | Ready after | Outcome |',
    '| `general-a` | `general` | `Standard_D4s_v5` | `westus2-1` | 2026-11-17T03:00:00Z | `PreemptionScheduled (SpotEvictionIncoming)` | 24s | 12 | `general-b` | 21s | replacement ready in time |',
  ])
  expect(markdown).toContain(
    '24 pods waited for a node that was created for them: p50 20s, p90 41s, p99 41s, at most 41s',
  )
  expect(markdown).toContain('give --prometheus')
})

test('an empty history is a report, too', async () => {
  const markdown = await reportText(reported({ ...history, lives: [], commands: [], unreadable: 0 }), 'markdown')
  for (const line of [
    'No NodeClaim that was created became ready',
    'No launch failed.',
    'No disruption command ran.',
    'No node was interrupted with a notice.',
    'No node was created for pods and became ready.',
  ])
    expect(markdown).toContain(line)
  expect(tableRows(markdown)).toHaveLength(2)
})

describe('what Prometheus measured', () => {
  const measured: Measured = {
    kind: 'measured',
    waits: [
      { metric: 'karpenter_pods_x', what: 'created to bound', pods: 1200, averageMs: 1250, p50Ms: 900, p90Ms: 61_400 },
    ],
  }

  test('is a table', async () => {
    expect(tableRows(await reportText(reported(history, measured), 'markdown')).at(-1)).toBe(
      '| created to bound | 1,200 | 1.3s | 0.9s | 1m1s | - | `karpenter_pods_x` |',
    )
  })

  test('is missing where it does not answer', async () => {
    const text = await reportText(reported(history, { kind: 'failed', why: 'connect ECONNREFUSED' }), 'markdown')
    expect(text).toContain('Prometheus did not answer: `connect ECONNREFUSED`')
  })

  test('is in the JSON, in seconds', async () => {
    const json = async (from: Measured) =>
      JSON.parse(await reportText(reported(history, from), 'json')) as Record<string, never>
    expect(await json(measured)).toMatchObject({
      cluster: 'prod',
      since: '2026-11-17T00:00:00.000Z',
      retentionHours: 24,
      unreadable: 2,
      nodes: { created: 2 },
      latencies: { all: { total: { count: 2, p50: 20, max: 41 } }, rows: [{ steps: { accepted: { p50: 0.5 } } }] },
      interruptions: [
        { gone: '2026-11-17T03:00:24.000Z', replacement: { nodeClaim: 'general-b' }, outcome: 'in-time' },
      ],
      undone: [{ commands: 1, last: '2026-11-17T02:01:00.000Z' }],
      podWaits: {
        plannedOntoNewNodes: { count: 24, p50: 20 },
        measured: [{ pods: 1200, average: 1.25, p50: 0.9, p99: null }],
      },
    })
    expect((await json({ kind: 'unasked' }))['podWaits']).toMatchObject({ measured: null })
    expect((await json({ kind: 'failed', why: 'x' }))['podWaits']).toMatchObject({ measured: { error: 'x' } })
  })
})

/** All texts of a document that somebody else chose, as they are to be shown. */
function foreignTexts(document: unknown): readonly string[] {
  if (typeof document !== 'object' || document === null) return []
  if ('foreign' in document) return [printable(String(document.foreign))]
  return Object.values(document).flatMap(foreignTexts)
}

const tablesOf = (document: Document) =>
  document.flat().filter((part): part is Table => typeof part === 'object' && 'rows' in part)

const html = (text: string) =>
  text.replaceAll(/&(?:#(\d+)|lt|gt|amp|quot);/g, (entity, code?: string) =>
    code === undefined
      ? ({ '&lt;': '<', '&gt;': '>', '&amp;': '&', '&quot;': '"' }[entity] ?? '')
      : String.fromCodePoint(Number(code)),
  )

function tokensOf(markdown: string): readonly Token[] {
  const all: Token[] = []
  void marked.walkTokens(marked.lexer(markdown), (token) => {
    all.push(token)
  })
  return all
}

const hostileHistory = arbitraryHistory(hostileText, 6)
const asReported = (from: History, cluster: string) => ({ ...reported(from), cluster })

describe('hostile names and messages', () => {
  test('are text in Markdown, as a parser of GitHub Markdown reads it', () => {
    fc.assert(
      fc.property(hostileHistory, hostileText, (from, cluster) => {
        const document = reportDocument(asReported(from, cluster))
        const markdown = markdownOf(document)
        expect(markdown).toBe(printableText(markdown))
        const tokens = tokensOf(markdown)
        const known = new Set([
          'heading',
          'space',
          'list',
          'list_item',
          'text',
          'paragraph',
          'strong',
          'table',
          'codespan',
          'html',
          'escape',
        ])
        expect([...new Set(tokens.map(({ type }) => type))].filter((type) => !known.has(type))).toEqual([])
        const tags = tokens.filter(({ type }) => type === 'html').map(({ raw }) => raw)
        expect(tags.filter((tag) => tag !== '<code>' && tag !== '</code>')).toEqual([])
        const tables = tokens.filter((token): token is Tokens.Table => token.type === 'table')
        const expected = tablesOf(document)
        expect(tables.map(({ header, rows }) => [header.length, rows.length])).toEqual(
          expected.map(({ header, rows }) => [header?.length, rows.length]),
        )
        expect(tokens.filter(({ type }) => type === 'heading')).toHaveLength(document.length)
        const shown = tables.flatMap(({ rows }) => rows.flat().map(({ text }) => cellText(text)))
        expect(shown).toEqual(expected.flatMap(({ rows }) => rows.flat().map(shownCell)))
      }),
      { numRuns: 300 },
    )
  })

  test('are text in HTML', () => {
    fc.assert(
      fc.property(hostileHistory, hostileText, (from, cluster) => {
        const document = reportDocument(asReported(from, cluster))
        const page = htmlOf(document)
        expect(page).toBe(printableText(page))
        const tags = [...page.matchAll(/<[^>]*>/g)].map(([tag]) => tag)
        const ours =
          /^<(!doctype html|html lang="en"|\/?(head|title|style|body|main|h1|h2|ul|li|section|p|table|caption|thead|tbody|tr|code)|\/html|meta [-\w ="',;:/.]*|t[hd]( scope="col")?( class="number")?|\/t[hd])>$/
        expect(tags.filter((tag) => !ours.test(tag))).toEqual([])
        expect(page.replaceAll(/<[^>]*>/g, '')).not.toMatch(/[<>]/)
        const shown = [...page.matchAll(/<code>([^<]*)<\/code>/g)].map(([, text = '']) => html(text))
        expect(shown.toSorted()).toEqual(
          foreignTexts(document)
            .filter((text) => text !== '')
            .toSorted(),
        )
      }),
      { numRuns: 300 },
    )
  })
})

/** Nothing of it controls a terminal. */
const printableText = (text: string) => text.split('\n').map(printable).join('\n')

/** The text of a cell, as a browser shows it. */
function cellText(markdown: string): string {
  const rendered = marked.parseInline(markdown) as string
  return html(rendered.replaceAll(/<\/?code>/g, '')).trim()
}

function shownCell(cell: Cell): string {
  if (cell === undefined) return '-'
  if (!isLine(cell)) return amountOf(cell)
  return wordsOf(cell) === '' ? '-' : printable(wordsOf(cell)).trim()
}

describe('Prometheus is asked', () => {
  let server: Server | undefined
  afterEach(() => server?.close())

  async function serve(answer: (query: string) => { readonly status?: number; readonly body: string }): Promise<URL> {
    server = createServer((request, response) => {
      let body = ''
      request.on('data', (chunk) => (body += chunk))
      request.on('end', () => {
        const { status = 200, body: text } = answer(new URLSearchParams(body).get('query') ?? '')
        response.writeHead(status).end(request.url === '/prefix/api/v1/query' ? text : 'not found')
      })
    })
    await new Promise<void>((listening) => server?.listen(0, '127.0.0.1', listening))
    const { port } = server.address() as AddressInfo
    return new URL(`http://127.0.0.1:${port}/prefix/`)
  }

  const value = (text: string) => JSON.stringify({ status: 'success', data: { result: [{ value: [0, text] }] } })
  const window = { sinceMs: since, untilMs: until }
  const match = { cluster: 'a"b' }

  test('for what pods waited', async () => {
    const queries: string[] = []
    const url = await serve((query) => {
      queries.push(query)
      if (query.startsWith('histogram_quantile(0.99')) return { body: value('NaN') }
      return { body: value(query.includes(' / ') ? '1.5' : '2') }
    })
    const measured = await measuredWaits({ url, match }, window)
    expect(measured).toMatchObject({ kind: 'measured', waits: { length: 4 } })
    if (measured.kind !== 'measured') return
    expect(measured.waits[1]).toEqual({
      metric: 'karpenter_pods_bound_duration_seconds',
      what: 'created to bound',
      pods: 2,
      averageMs: 1500,
      p50Ms: 2000,
      p90Ms: 2000,
    })
    expect(measured.waits[2]).not.toHaveProperty('p50Ms')
    expect(queries).toContain(
      'histogram_quantile(0.9, sum by (le) (increase(karpenter_pods_bound_duration_seconds_bucket{cluster="a\\"b"}[86400s])))',
    )
    expect(queries).toContain('sum(increase(karpenter_pods_startup_duration_seconds_count{cluster="a\\"b"}[86400s]))')
  })

  test.each<[string, string, RegExp]>([
    [
      'an error',
      JSON.stringify({ status: 'error', error: 'bad \u001b[2J' }),
      /no result of Prometheus: bad \\u001b\[2J$/,
    ],
    ['no JSON', '<html>', /answered 200 and no result of Prometheus$/],
    ['no data', '{"status":"success"}', /no result/],
    ['an endless answer', 'x'.repeat(1_100_000), /longer than/],
  ])('and answers %s', async (_, body, why) => {
    const url = await serve(() => ({ body }))
    expect(await measuredWaits({ url, match: {} }, window)).toEqual({ kind: 'failed', why: expect.stringMatching(why) })
  })

  test('and has nothing', async () => {
    const url = await serve(() => ({ body: '{"status":"success","data":{"result":[]}}' }))
    const measured = await measuredWaits({ url, match: {} }, window)
    expect(measured).toMatchObject({ waits: [{ pods: 0 }, {}, {}, {}] })
  })

  test('and does not answer', async () => {
    const url = await serve(() => ({ body: '' }))
    server?.close()
    await new Promise((closed) => server?.once('close', closed))
    expect(await measuredWaits({ url, match: {} }, window)).toMatchObject({ kind: 'failed', why: /ECONNREFUSED/ })
  })

  test('with labels that are one matcher each', () => {
    expect(selectorOf({})).toBe('')
    expect(selectorOf({ a: 'x', b: '"}\n' })).toBe('{a="x",b="\\"}\\n"}')
  })
})
