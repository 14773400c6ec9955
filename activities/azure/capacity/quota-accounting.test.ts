import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  freeOf,
  inFlight,
  keptUsages,
  poolsOf,
  quotaSignature,
  regionalPool,
  shortagesOf,
  shortageText,
  spotPool,
  usagesOf,
  type VmUse,
} from './quota-accounting.ts'

const countedAtMs = 1_000_000
const family = 'standardDSv5Family'
const pool = family.toLowerCase()
const use = (change: Partial<VmUse> = {}): VmUse => ({
  family,
  vCpus: 4,
  capacityType: 'on-demand',
  launchedAtMs: countedAtMs + 1000,
  ...change,
})
const before = countedAtMs - 60_000

describe('vCPUs in flight', () => {
  it.each<[string, readonly VmUse[], number]>([
    ['a VM launched since the count takes', [use()], 4],
    [
      'a VM of the second of the count takes, as conditions have whole seconds',
      [use({ launchedAtMs: countedAtMs - 999 })],
      4,
    ],
    ['a VM launched before is counted already', [use({ launchedAtMs: before })], 0],
    ['a VM that was counted and is gone gives back', [use({ launchedAtMs: before, goneAtMs: countedAtMs + 1 })], -4],
    ['a VM that was gone before was not counted', [use({ launchedAtMs: before, goneAtMs: before + 1 })], 0],
    ['a VM that came and went since is nothing', [use({ goneAtMs: countedAtMs + 5000 })], 0],
    ['several add up', [use(), use({ vCpus: 8 }), use({ launchedAtMs: before, goneAtMs: countedAtMs })], 8],
  ])('%s', (_what, uses, expected) => {
    const sums = inFlight(uses, [], countedAtMs)
    expect([sums.get(pool) ?? 0, sums.get(regionalPool) ?? 0, sums.get(spotPool) ?? 0]).toEqual([expected, expected, 0])
  })

  it('of spot count in the spot pool alone', () => {
    expect(inFlight([use({ capacityType: 'spot' })], [], countedAtMs)).toEqual(new Map([[spotPool, 4]]))
  })

  it('count launches that are about to be requested', () => {
    expect(inFlight([], [use(), use({ vCpus: 2 })], countedAtMs).get(pool)).toBe(6)
  })
})

describe('room', () => {
  const usages = usagesOf([
    { name: { value: family }, limit: 10, currentValue: 2 },
    { name: { value: 'cores' }, limit: 100, currentValue: 95 },
    { name: { value: 'lowPriorityCores' }, limit: 3, currentValue: 0 },
    { name: { value: 'unlimitedFamily' }, limit: -1, currentValue: 40 },
    { limit: 1, currentValue: 1 },
  ])
  const none = new Map<string, number>()

  it.each<[string, Partial<VmUse>, ReadonlyMap<string, number>, readonly string[]]>([
    ['is there', { vCpus: 4 }, none, []],
    ['is there where Azure sets no limit', { family: 'unlimitedFamily' }, none, []],
    ['ends at the total of the region', { vCpus: 6 }, none, [regionalPool]],
    ['ends at both', { vCpus: 9 }, none, [pool, regionalPool]],
    ['is less by what is in flight', { vCpus: 4 }, new Map([[pool, 5]]), [pool]],
    [
      'is more by what was given back',
      { vCpus: 9 },
      new Map([
        [pool, -2],
        [regionalPool, -8],
      ]),
      [],
    ],
    ['of spot is its own', { vCpus: 4, capacityType: 'spot' }, none, [spotPool]],
    ['of spot knows no family', { vCpus: 2, capacityType: 'spot' }, new Map([[pool, 50]]), []],
    ['of an unknown family ends at the total', { vCpus: 6, family: 'other' }, none, [regionalPool]],
    ['is there in a family of another case', { vCpus: 4, family: 'STANDARDDSv5FAMILY' }, none, []],
  ])('%s', (_what, change, flying, expected) => {
    expect(shortagesOf(usages, flying, use(change)).map((shortage) => shortage.pool)).toEqual(expected)
  })

  it('is endless without usages', () => {
    expect(shortagesOf(new Map(), none, use({ vCpus: 1000 }))).toEqual([])
  })

  it('that is missing is reported with numbers and a remedy', () => {
    const [shortage] = shortagesOf(usages, new Map([[pool, 6]]), use())
    expect(shortage && shortageText(shortage)).toMatch(
      /family standarddsv5family has no room for 4 vCPUs: limit 10, used 2, in flight 6; ask for more/,
    )
  })
})

describe('laws of the accounting', () => {
  const uses = fc.array(
    fc.record({
      family: fc.constantFrom('a', 'b'),
      vCpus: fc.integer({ min: 1, max: 64 }),
      capacityType: fc.constantFrom('spot', 'on-demand'),
      launchedAtMs: fc.integer({ min: countedAtMs - 100_000, max: countedAtMs + 100_000 }),
      goneAfterMs: fc.option(fc.integer({ min: 1, max: 200_000 }), { nil: undefined }),
    }),
    { maxLength: 30 },
  )
  const toUses = (drawn: typeof uses extends fc.Arbitrary<infer T> ? T : never): readonly VmUse[] =>
    drawn.map(({ goneAfterMs, ...rest }) => ({
      ...rest,
      ...(goneAfterMs === undefined ? {} : { goneAtMs: rest.launchedAtMs + goneAfterMs }),
    }))

  it('with what Azure counted, gives at least what runs: never more room than there is', () => {
    fc.assert(
      fc.property(uses, (drawn) => {
        const all = toUses(drawn)
        const sums = inFlight(all, [], countedAtMs)
        for (const name of ['a', 'b', spotPool]) {
          const ofPool = all.filter((one) => poolsOf(one).includes(name))
          const counted = ofPool.filter(
            (one) => one.launchedAtMs < countedAtMs && (one.goneAtMs ?? Number.POSITIVE_INFINITY) >= countedAtMs,
          )
          const running = ofPool.filter((one) => one.goneAtMs === undefined)
          const vCpus = (some: readonly VmUse[]) => some.reduce((sum, one) => sum + one.vCpus, 0)
          expect(vCpus(counted) + (sums.get(name) ?? 0)).toBeGreaterThanOrEqual(vCpus(running))
        }
      }),
    )
  })

  it('does not depend on the order, and a regional sum is that of its families', () => {
    fc.assert(
      fc.property(uses, (drawn) => {
        const all = toUses(drawn)
        const sums = inFlight(all, [], countedAtMs)
        const reversed = inFlight([...all].reverse(), [], countedAtMs)
        expect(reversed).toEqual(sums)
        expect((sums.get('a') ?? 0) + (sums.get('b') ?? 0)).toBe(sums.get(regionalPool) ?? 0)
      }),
    )
  })

  it('two states of one signature have room for the same sizes', () => {
    const steps = [2, 4, 8, 16]
    const state = fc.record({ limit: fc.integer({ min: 0, max: 40 }), flying: fc.integer({ min: -10, max: 40 }) })
    fc.assert(
      fc.property(state, state, (one, other) => {
        const [a, b] = [one, other].map(({ limit, flying }) => {
          const usages = new Map([['a', { limit, current: 0 }]])
          const sums = new Map([['a', flying]])
          return {
            signature: quotaSignature(usages, sums, steps),
            fitting: steps.filter((vCpus) => vCpus <= freeOf(usages, sums, 'a')),
          }
        })
        expect(a?.signature === b?.signature).toBe(a?.fitting.length === b?.fitting.length)
      }),
    )
  })
})

describe('usages that are stored for other processes', () => {
  it('come back as they were, whatever pools are called', () => {
    const usage = fc.record({ limit: fc.nat(), current: fc.nat() })
    const names = fc.oneof(fc.string(), fc.constantFrom('__proto__', 'constructor'))
    fc.assert(
      fc.property(fc.array(fc.tuple(names, usage)), (entries) => {
        const usages = new Map(entries)
        expect(keptUsages.schema.parse(JSON.parse(JSON.stringify(keptUsages.schema.encode(usages))))).toEqual(usages)
      }),
    )
  })

  it.each([null, {}, [1], [['cores']], [['cores', null]], [['cores', { limit: '10' }]]])('refuse %j', (json) => {
    expect(keptUsages.schema.safeParse(json).success).toBe(false)
  })
})
