// What is left of ConfigMaps with one document, compressed.
import { gzipSync } from 'node:zlib'
import * as fc from 'fast-check'
import { pino } from 'pino'
import { expect, test, vi } from 'vitest'
import { keptUsages } from '../../activities/azure/capacity/quota-accounting.ts'
import { DurableDocument, type KeptFormat } from '../../activities/azure/catalogue/durable-document.ts'
import { keptPrices, PriceList, pricesOf } from '../../activities/azure/catalogue/pricing.ts'
import { RefreshedAnswer } from '../../activities/azure/catalogue/refreshed-answer.ts'
import { keptSizes } from '../../activities/azure/catalogue/size-list.ts'
import { keptGroups } from '../../activities/azure/reservations/stored-groups.ts'
import type { Json } from '../../activities/kubernetes/client/answers.ts'
import type { KubernetesClient } from '../../activities/kubernetes/client/client.ts'
import { goldenSizes } from '../vectors/golden-cases.ts'
import { hour, malformed, now, process } from './malformed.ts'

interface Large<T> {
  readonly format: KeptFormat<T>
  readonly value: T
}

const group = {
  kind: 'read',
  groupId: 'g',
  associated: ['vm'],
  reservations: [
    { id: 'r', instanceType: 'D2', zone: 'z-1', capacity: 2, isSettled: true, allocated: ['vm'], others: 0 },
  ],
} as const
const prices = pricesOf([
  { armSkuName: 'Standard_D2s_v5', retailPrice: 0.1 },
  { armSkuName: 'Standard_D2s_v5', retailPrice: 0.02, skuName: 'D2s v5 Spot' },
])
const large: readonly Large<unknown>[] = [
  {
    format: keptSizes,
    value: new Map(
      goldenSizes('southcentralus')
        .slice(0, 5)
        .map((size) => [size.name, size]),
    ),
  },
  { format: keptPrices, value: { region: 'westus2', list: prices } },
  { format: keptUsages, value: new Map([['cores', { limit: 100, current: 4 }]]) },
  {
    format: keptGroups,
    value: [group, { kind: 'gone', groupId: 'h' }, { kind: 'unreadable', groupId: 'i', why: '403' }],
  },
] as readonly unknown[] as readonly Large<unknown>[]

const gz = 'document.json.gz'
type Map_ = Readonly<Record<'metadata' | 'data' | 'binaryData', Readonly<Record<string, string>>>>

/** A ConfigMap in memory. */
function configMap({ format }: Large<unknown>) {
  let map: Map_ | undefined
  let version = 0
  const put = (next: Omit<Map_, 'metadata'>) => {
    version += 1
    map = { ...next, metadata: { name: format.name, resourceVersion: String(version) } }
    return Promise.resolve(map)
  }
  const client = {
    get: () => Promise.resolve(map ?? put({ data: {}, binaryData: {} })),
    mergePatch: (_: string, body: Map_) => put({ data: { ...map?.data, ...body.data }, binaryData: body.binaryData }),
  } as unknown as KubernetesClient
  return { client, put, map: () => map as Map_ }
}

async function stored(one: Large<unknown>) {
  const { client, put, map } = configMap(one)
  const of = process()
  const document = new DurableDocument(client, one.format, {
    namespace: 'joiner',
    about: { region: 'here' },
    now: () => now,
    note: of.note,
  })
  await document.write({ value: one.value, readAtMs: now - hour })
  return { client, put, map, document, ...of }
}

test.each(large)('what is written into $format.name is read back the same, and is parsed once', async (one) => {
  const { client, document } = await stored(one)
  const again = new DurableDocument(client, one.format, {
    namespace: 'joiner',
    about: { region: 'here' },
    now: () => now,
  })
  expect(await again.read()).toEqual({ kind: 'read', value: one.value, readAtMs: now - hour })
  expect([await again.read(), await document.read()]).toEqual([{ kind: 'same' }, { kind: 'same' }])
})

test('a damaged document that is read only after the next one was written is not named any more', async () => {
  const [one] = large
  if (one === undefined) throw new Error('there is no document')
  const { client, map, put, registry, note } = await stored(one)
  const damaged = { ...map(), binaryData: {} }
  await put(damaged)
  const late = Promise.withResolvers<Json>()
  vi.spyOn(client, 'get').mockReturnValueOnce(late.promise)
  const place = { namespace: 'joiner', about: { region: 'here' }, now: () => now, note }
  const document = new DurableDocument(client, one.format, place)
  const reading = document.read()
  await document.write({ value: one.value, readAtMs: now })
  late.resolve(damaged)
  expect((await reading).kind).toBe('damaged')
  expect(await registry.metrics()).not.toContain(`joiner_kept_documents_damaged{config_map="${one.format.name}"} 1`)
})

const name = fc.stringMatching(/^[A-Za-z0-9_-]{1,40}$/).filter((text) => text !== '__proto__')
const cost = fc.double({ min: 0, max: 1e6, noNaN: true }).map((value) => value + 0)
const priceMap = fc.dictionary(name, cost).map((prices) => new Map(Object.entries(prices)))
const vCpus = fc.integer({ min: 0 })
const laws: readonly (readonly [KeptFormat<never>, fc.Arbitrary<unknown>])[] = [
  [
    keptSizes,
    fc
      .subarray([...goldenSizes('southcentralus')], { minLength: 1 })
      .map((sizes) => new Map(sizes.map((size) => [size.name, size]))),
  ],
  [
    keptPrices,
    fc.record({ region: name, list: fc.tuple(priceMap, priceMap).map(([all, spot]) => new PriceList(all, spot)) }),
  ],
  [
    keptUsages,
    fc.array(fc.tuple(fc.string(), fc.record({ limit: vCpus, current: vCpus }))).map((pools) => new Map(pools)),
  ],
  [
    keptGroups,
    fc.array(
      fc.oneof(
        fc.record({ kind: fc.constant('gone'), groupId: name }),
        fc.record({ kind: fc.constant('unreadable'), groupId: name, why: fc.string() }),
        fc.record({
          kind: fc.constant('read'),
          groupId: name,
          associated: fc.array(name),
          reservations: fc.constant([]),
        }),
      ),
    ),
  ],
] as readonly unknown[] as readonly (readonly [KeptFormat<never>, fc.Arbitrary<unknown>])[]

test.each(laws)('whatever is written into $name is read back the same', async (format, values) => {
  await fc.assert(
    fc.asyncProperty(values, async (value) => {
      const { client } = await stored({ format, value })
      const again = new DurableDocument(client, format, { namespace: 'joiner', about: {}, now: () => now })
      expect(await again.read()).toEqual({ kind: 'read', value, readAtMs: now - hour })
    }),
  )
})

test.each(large)(
  '$format.name is read whole or not at all; the last good one stays and is written again',
  async (one) => {
    const { map, put, document, note, lines, registry } = await stored(one)
    const good = map()
    const json = JSON.stringify(one.format.schema.encode(one.value))
    const packed = (text: string) => gzipSync(text).toString('base64')
    const bytes = good.binaryData[gz] ?? ''
    // Right but for its ten million spaces, which a ConfigMap takes as 10 kB.
    const bomb = packed(`${' '.repeat(10_000_000)}${json}`)
    const maps: readonly Omit<Map_, 'metadata'>[] = [
      ...['', '!!!!', bomb, bytes.slice(0, 20), bytes.slice(0, -8), packed(json).slice(9)].map((text) => ({
        ...good,
        binaryData: { [gz]: text },
      })),
      { ...good, binaryData: {} },
      ...[{ format: '999' }, { readAt: 'yesterday' }, { readAt: '2027-11-28T12:00:00Z' }].map((odd) => ({
        ...good,
        data: { ...good.data, ...odd },
      })),
      ...malformed(json, () => false).map((text) => ({ ...good, binaryData: { [gz]: packed(text) } })),
    ]
    await put(good)
    const source = { what: 'documents', remedy: '', ask: undefined, follows: false, asksAtStart: false, document }
    const answer = new RefreshedAnswer(source, pino({ level: 'silent' }), () => now)
    vi.useFakeTimers({ now })
    try {
      answer.start()
      await vi.waitFor(() => expect(answer.answer?.value).toEqual(one.value))
      for (const each of maps) {
        await put(each)
        const known = lines().length
        const [found, again] = [await document.read(), await document.read()]
        expect([found.kind, again.kind, lines().length - known]).toEqual(['damaged', 'damaged', 1])
        expect(lines().at(-1)).toMatch(new RegExp(`^kept document is damaged: ConfigMap joiner/${one.format.name}: `))
        expect(answer.answer?.value).toEqual(one.value)
        note(one.format.name, [])
      }
      await document.read()
      expect(await registry.metrics()).toContain(`joiner_kept_documents_damaged{config_map="${one.format.name}"} 1`)
      await vi.advanceTimersByTimeAsync(5 * 60_000)
      await vi.waitFor(async () => expect((await document.read()).kind).toBe('same'))
      expect(map().data['readAt']).toBe(new Date(now - hour).toISOString())
      expect(await registry.metrics()).toContain(`joiner_kept_documents_damaged{config_map="${one.format.name}"} 0`)
    } finally {
      answer.stop()
      vi.useRealTimers()
    }
  },
)
