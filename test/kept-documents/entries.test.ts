// What is left of ConfigMaps with an entry for each thing.

import * as fc from 'fast-check'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { parseLateLists, readLateLists } from '../../activities/azure/answers/late-list.ts'
import { type Mark, markKey } from '../../activities/azure/capacity/mark.ts'
import { formatMarks, parseMarks } from '../../activities/azure/capacity/mark-format.ts'
import { reportWithheldMachines } from '../../activities/azure/garbage/withheld-machines.ts'
import { parseImages } from '../../activities/azure/node-class/image-cache.ts'
import { LedgerStore, readLedger } from '../../activities/cost/ledger-store.ts'
import type { KubernetesClient } from '../../activities/kubernetes/client/client.ts'
import type { KeptSource } from '../../activities/kubernetes/client/config-map.ts'
import { pauseFaults, readLoopPauses } from '../../activities/kubernetes/pauses/pauses.ts'
import { parseRefusals, RefusalStore } from '../../activities/provisioning/node-refusals/refusal-store.ts'
import { formatEntry, parseEntries, QuarantineStore } from '../../activities/scheduler-thread/quarantine-store.ts'
import { parseEvaluations } from '../../api/disruption-move.ts'
import { parseDisruptionPlan } from '../../api/disruption-plan.ts'
import { parseCancellations } from '../../api/kept/cancellations.ts'
import { type Entries, type KeptFault, mapOf, type NoteFaults, readJson } from '../../api/kept/document.ts'
import { parseLedgerMap } from '../../api/kept/ledger-map.ts'
import { formatWaitingClass, formatWaitingSummary, parseWaiting, summaryKey } from '../../api/waiting-pods.ts'
import { formatWithheld, parseWithheld, withheldKey } from '../../api/withheld-machines.ts'
import { ledgerEntries } from '../../core/cost/ledger-format.ts'
import { addSlice, emptyHour } from '../../core/cost/slice.ts'
import { formatLastPass, formatVerdict, lastPassKey } from '../../core/disruption/verdicts/verdict.ts'
import { formatRefusal, withRefusal } from '../../core/node-refusals.ts'
import { formatPause, storedPauses } from '../../core/pauses/pauses.ts'
import { withEntry } from '../../core/quarantine.ts'
import * as kept from '../../starter/picture/kept.ts'
import type { Part } from '../../starter/picture/picture.ts'
import { sampleCauses } from '../samples/sample-causes.ts'
import { hour, malformed, now, process } from './malformed.ts'

interface Documents {
  readonly good: Entries
  /** The entry that is damaged. */
  readonly key: string
  readonly parse: (data: Entries) => {
    readonly faults: readonly KeptFault[]
    readonly read: ReadonlyMap<unknown, unknown>
  }
  /** As the document is in memory, where it is compared with what is read. */
  readonly value: unknown
  readonly accepts?: (path: string, value: unknown) => boolean
}

const mark = {
  kind: 'size',
  instanceType: 'Standard_D4s_v5',
  lastsMs: hour,
  image: 'an-image',
  nodeClass: 'default',
  refusal: 'abc',
  state: 'def',
  trial: { code: 'Refused', nextAtMs: now, turn: 'a-claim', family: 'standardDSv5Family', capacityType: 'spot' },
  untilMs: now + hour,
  reason: 'Refused',
  cause: 'Azure says no',
} as const
const spot = { kind: 'allSpot', untilMs: now, reason: 'none left' } as const
const markText = Object.entries(formatMarks(new Map([['x', mark]])))[0]?.[1] ?? ''
const markKeyOf = markKey(mark)

const entry = { id: 'Pod/default/web', hash: 'h', cause: 'crashed', sinceMs: now, untilMs: now + hour }
const refusal = withRefusal(
  new Map(),
  { podClass: 'c', pod: 'a/b', nodePool: 'p', state: 's', message: 'no', claims: { a: now }, claim: 'a' },
  now,
).get('c')
const costs = addSlice(emptyHour, {
  fromMs: now,
  toMs: now + hour,
  pools: new Map([['general', { usd: 2, idle: 1, nodeHours: 2, unpricedHours: 0 }]]),
  workloads: new Map([['shop/Deployment/web', 1]]),
})
const ledger = ledgerEntries(new Map([[now, costs]]), {}) as Entries
const pause = { reason: 'why', sinceMs: now, untilMs: now + hour, by: 'me' }
const waiting = {
  state: 'unschedulable',
  cause: 'limits',
  pods: ['a/b'],
  count: 1,
  sinceMs: now,
  plannedOn: ['x'],
  finding: 'none',
  funnel: ['y'],
  remedies: ['z'],
} as const
const machine = { kind: 'VM', name: 'a', node: 'a', pods: 2, instanceType: 'D2', costPerDay: 2 } as const
const verdict = {
  nodeClaim: 'a',
  node: 'n',
  nodePool: 'p',
  since: '2026-01-01T00:00:00Z',
  price: 1,
  moves: Object.values(sampleCauses)
    .slice(0, 12)
    .map((cause) => ({ methods: ['drift'] as const, outcome: 'hindered' as const, cause })),
}
const late = { list: 'VMs', sinceMs: now - hour, atMs: now, process: 'a', why: 'silence' }

const documents: Readonly<Record<string, Documents>> = {
  'joiner-unavailable-offerings': {
    good: { [markKeyOf]: markText, ...formatMarks(new Map([['spot', spot]])) },
    key: markKeyOf,
    parse: (data) => ({ ...parseMarks(data), read: parseMarks(data).marks }),
    value: mark,
  },
  'joiner-quarantine': {
    good: { a: formatEntry(entry), b: formatEntry({ ...entry, id: 'Pod/default/other' }) },
    key: 'a',
    parse: (data) => ({ ...parseEntries(data), read: parseEntries(data).entries }),
    value: withEntry(new Map(), entry, now).get(entry.id),
  },
  'joiner-node-refusals': {
    good: { c: formatRefusal(refusal as never), d: formatRefusal({ ...refusal, podClass: 'd' } as never) },
    key: 'c',
    parse: (data) => ({ ...parseRefusals(data), read: parseRefusals(data).all }),
    value: refusal,
    accepts: (path, value) => path.startsWith('.claims.') && value === -1,
  },
  'joiner-image-versions': {
    good: { a: imagesText('one'), b: imagesText('two') },
    key: 'a',
    parse: (data) => ({ ...parseImages(data), read: parseImages(data).documents }),
    value: { readAt: now, images: { ubuntu: 'one', other: null } },
    accepts: (path, value) => path.startsWith('.images.') && (value === null || typeof value === 'string'),
  },
  'joiner-cost-1': {
    good: { ...ledger, '13': ledger['12'] ?? '' },
    key: '12',
    parse: (data) => ({ ...parseLedgerMap(data), read: parseLedgerMap(data).hours }),
    value: costs,
  },
  'joiner-cancellations': {
    good: { 'accepted.a': cancellation('a'), 'refused.b': '2026-11-28T12:00:00Z' },
    key: 'accepted.a',
    parse: (data) => {
      const { cancellations, faults } = parseCancellations(data)
      return { faults, read: new Map<string, unknown>([...cancellations.accepted, ...cancellations.refused]) }
    },
    value: { atMs: now, nodeClaim: 'a', nodePool: 'p' },
  },
  'joiner-waiting-pods': {
    good: {
      [summaryKey]: formatWaitingSummary(now, []),
      a: formatWaitingClass(waiting),
      b: formatWaitingClass(waiting),
    },
    key: 'a',
    parse: (data) => ({ ...parseWaiting(data), read: parseWaiting(data).waiting.classes }),
    value: waiting,
  },
  'joiner-evaluations-0': {
    good: {
      a: formatVerdict(verdict),
      b: formatVerdict(verdict),
      [lastPassKey]: formatLastPass({ atMs: now, commands: 1 }),
    },
    key: 'a',
    parse: (data) => ({ ...parseEvaluations(data), read: parseEvaluations(data).verdicts }),
    value: verdict,
  },
  'joiner-late-lists': {
    good: { VMs: JSON.stringify(late), b: JSON.stringify(late) },
    key: 'VMs',
    parse: (data) => ({ ...parseLateLists(data), read: parseLateLists(data).documents }),
    value: late,
  },
  'joiner-withheld-machines': {
    good: { [withheldKey]: formatWithheld(now, [machine]) },
    key: withheldKey,
    parse: (data) => {
      const { found, faults } = parseWithheld(data)
      return { faults, read: new Map(found.count === 0 ? [] : [['one', found]]) }
    },
    value: { atMs: now, count: 1, costPerDay: 2, machines: [machine] },
  },
}

function imagesText(id: string): string {
  return JSON.stringify({ readAt: new Date(now).toISOString(), images: { ubuntu: id, other: null } })
}

function cancellation(nodeClaim: string): string {
  return JSON.stringify({ at: new Date(now).toISOString(), nodeClaim, nodePool: 'p' })
}

test.each(Object.entries(documents))('what is written into %s is read back the same', (_, { good, parse, value }) => {
  const { faults, read } = parse(good)
  expect(faults).toEqual([])
  expect([...read.values()]).toContainEqual(value)
})

test.each(Object.entries(documents))(
  'an entry of %s is read whole or not at all, is named once, and spoils no other',
  (name, { good, key, parse, accepts = () => false }) => {
    const before = parse(good).read.size
    const { note, lines, events } = process()
    for (const text of malformed(good[key] ?? '', accepts)) {
      const { faults, read } = parse({ ...good, [key]: text })
      expect([text.slice(0, 300), read.size, faults.map((fault) => fault.key)]).toEqual([
        text.slice(0, 300),
        before - 1,
        [key],
      ])
      const known = lines().length
      note(name, faults)
      note(name, faults)
      expect(lines().length - known).toBeLessThanOrEqual(1)
      expect(lines().at(-1)).toContain(`ConfigMap joiner/${name}: ${key} cannot be used: `)
      expect(lines().at(-1)?.length).toBeLessThan(800)
    }
    expect(events).toHaveBeenCalledTimes(lines().length)
  },
)

test('an entry of joiner-pauses that is malformed is a pause all the same, and is named', () => {
  const good = formatPause(pause)
  expect(pauseFaults({ disruption: good, 'disruption.nodepool.gpu': good })).toEqual([])
  for (const text of malformed(good, () => false)) {
    const data = { disruption: text }
    expect([text.slice(0, 300), pauseFaults(data).map(({ key }) => key)]).toEqual([text.slice(0, 300), ['disruption']])
    expect(storedPauses(data, 'disruption', now).inForce).toHaveLength(1)
  }
  expect(pauseFaults({ 'disruption.pool.x': good })).toEqual([
    { key: 'disruption.pool.x', why: 'it is the key of no scope' },
  ])
})

test('a text that is no plan is refused with a line', () => {
  for (const text of malformed('{"version":1,"id":"00000000","commands":[]}', () => false))
    expect(parseDisruptionPlan(text)).toMatchObject({ kind: 'refused', message: expect.stringMatching(/^.{5,500}$/s) })
})

const word = fc.string({ minLength: 1, maxLength: 200 })
const time = fc.integer({ min: 0, max: 4_000_000_000_000 })
const reported = { untilMs: time, reason: word }
const place = { family: word, zone: word, capacityType: word }
const anyMark: fc.Arbitrary<Mark> = fc.oneof(
  fc.record({ kind: fc.constant('allSpot' as const), ...reported }),
  fc.record({ kind: fc.constant('offering' as const), instanceType: word, ...place, ...reported }),
  fc.record({
    kind: fc.constant('family' as const),
    minVCpus: fc.integer({ min: -1, max: 1000 }),
    ...place,
    ...reported,
  }),
  fc.record({ kind: fc.constant('image' as const), image: word, nodeClass: word, lastsMs: time, ...reported }),
)
const anyEntry = fc
  .record({ rest: word, hash: word, cause: fc.string({ maxLength: 500 }), sinceMs: time, ms: fc.nat({ max: hour }) })
  .map(({ rest, ms, ...each }) => ({ ...each, id: `Pod/${rest}`, untilMs: each.sinceMs + ms }))
const anyRefusal = fc.record({
  podClass: word,
  pod: word,
  nodePool: word,
  state: word,
  message: word,
  refused: fc.array(word, { maxLength: 20 }),
  claims: fc.dictionary(
    word.filter((text) => text !== '__proto__'),
    time,
    { noNullPrototype: true },
  ),
  count: fc.nat({ max: 1000 }),
  sinceMs: time,
  untilMs: time,
})

test('whatever is written into entries is read back the same', () => {
  fc.assert(
    fc.property(anyMark, anyEntry, anyRefusal, (one, entryOf, refusalOf) => {
      const marks = new Map([[markKey(one), one]])
      expect(parseMarks(formatMarks(marks))).toEqual({ marks, faults: [] })
      const entries = new Map([[entryOf.id, entryOf]])
      expect(parseEntries({ a: formatEntry(entryOf) })).toEqual({ entries, faults: [] })
      const all = new Map([[refusalOf.podClass, refusalOf]])
      expect(parseRefusals({ [refusalOf.podClass]: formatRefusal(refusalOf) })).toEqual({ all, faults: [] })
    }),
  )
})

test('a text that is nested too deep is not even parsed; brackets in its texts are none', () => {
  const any = z.unknown()
  expect(readJson(any, `${'['.repeat(201)}${']'.repeat(201)}`)).toEqual({
    kind: 'damaged',
    why: 'it is nested more than 200 levels deep',
  })
  expect(readJson(any, JSON.stringify({ a: '\\"[{'.repeat(300) }))).toMatchObject({ kind: 'read' })
})

test('a map with too many keys, and an entry of the quarantine for longer than an hour, are refused', () => {
  const many = Object.fromEntries(Array.from({ length: 101 }, (_, at) => [`n${at}`, 1]))
  expect(readJson(mapOf(z.number(), 100), JSON.stringify(many))).toMatchObject({
    kind: 'damaged',
    why: expect.stringContaining('a map of at most 100 entries'),
  })
  const long = formatEntry({ ...entry, untilMs: entry.sinceMs + hour + 1 })
  expect(parseEntries({ a: long }).faults).toMatchObject([{ why: expect.stringMatching(/^until is /) }])
})

/** A client for which each ConfigMap has one entry that is damaged, and what is written. */
function odd(data: Entries) {
  const written: unknown[] = []
  const client = {
    get: () => Promise.resolve({ metadata: { resourceVersion: '1' }, data }),
    mergePatch: (_: string, body: { readonly data: unknown }) => {
      written.push(body.data)
      return Promise.resolve({ data: {} })
    },
  } as unknown as KubernetesClient
  return { client, written }
}

const partOf =
  (part: Part<unknown>) =>
  (source: Required<KeptSource>): Promise<unknown> =>
    part.read({ ...source, now, leaveOut: () => {} })

test.each<[string, Entries, (source: Required<KeptSource>) => Promise<unknown>]>([
  ['joiner-pauses', { disruption: 'x' }, (source) => readLoopPauses(source, 'provisioning', now)],
  ['joiner-waiting-pods', { a: 'x' }, partOf(kept.waiting)],
  ['joiner-late-lists', { a: 'x' }, (source) => readLateLists(source, now)],
  ['joiner-withheld-machines', { [withheldKey]: 'x' }, partOf(kept.withheld)],
  ['joiner-cancellations', { 'accepted.a': 'x' }, partOf(kept.refusedCancellations)],
  ['joiner-evaluations-0', { a: 'x' }, partOf(kept.evaluations(0))],
  ['joiner-quarantine', { a: 'x' }, (source) => new QuarantineStore(source).read()],
  [
    'joiner-node-refusals',
    { a: 'x' },
    (source) => new RefusalStore().read({ ...source, log: pino({ level: 'silent' }), now: () => now }, new Map()),
  ],
  ['joiner-cost-1', { day: 'x' }, (source) => new LedgerStore(source).storedUntil(Date.UTC(1970, 0, 2))],
  ['joiner-cost-1', { day: 'x' }, (source) => readLedger(source, { fromMs: 24 * hour, toMs: 25 * hour })],
])('who reads %s says what of it cannot be read', async (name, data, read) => {
  const note = vi.fn<NoteFaults>()
  await read({ client: odd(data).client, namespace: 'joiner', note })
  expect(note).toHaveBeenCalledWith(name, [{ key: Object.keys(data)[0], why: expect.stringMatching(/./) }])
})

test('what cannot be read of joiner-quarantine goes with the next entry', async () => {
  const { client, written } = odd({ rubbish: 'x' })
  const store = new QuarantineStore({ client, namespace: 'joiner' })
  await store.read()
  await store.add(entry)
  expect(written).toEqual([expect.objectContaining({ rubbish: null })])
})

test('the machines of a pass are written over what cannot be read, also when there are none', async () => {
  const { client, written } = odd({ [withheldKey]: 'x' })
  const log = pino({ level: 'silent' })
  const deps = { client, namespace: 'joiner', log, now: () => now, registry: new Registry() }
  await reportWithheldMachines(deps as never, [])
  expect(written).toEqual([{ [withheldKey]: formatWithheld(now, []) }])
})
