import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { hourMs } from './bill.ts'
import { CostMeter, type MeteredNode } from './meter.ts'
import { addSlice, type Bounded, type CostSlice, emptyHour, mostKeys, sumOfPools, weightOf } from './slice.ts'

const start = Date.UTC(2026, 10, 24, 10)
const sliceMs = 15_000
const node: MeteredNode = { nodeName: 'n1', nodePool: 'general', capacityType: 'on-demand', pricePerHour: 2, weight: 4 }

const sum = (values: Iterable<number>) => [...values].reduce((total, value) => total + value, 0)
const used = (slices: readonly CostSlice[]) => sum(slices.flatMap(({ workloads }) => [...workloads.values()]))
const poolsOf = (slices: readonly CostSlice[]) => sumOfPools(slices.flatMap(({ pools }) => [...pools.values()]))

describe('the meter', () => {
  test('gives pods their share from when they came until they went, and the rest is idle', () => {
    const meter = new CostMeter(start, sliceMs)
    meter.node('c1', node, { atMs: start })
    meter.pod('p', { nodeName: 'n1', workload: 'shop/Deployment/web', weight: 1 }, start + 0.25 * hourMs)
    meter.pod('p', undefined, start + 0.75 * hourMs)
    meter.endNode('c1', { atMs: start + hourMs })
    meter.advance(start + 2 * hourMs)
    const { usd, idle, nodeHours } = poolsOf(meter.slices)
    expect(used(meter.slices)).toBeCloseTo(0.25)
    expect([usd, idle, nodeHours]).toEqual([expect.closeTo(2), expect.closeTo(1.75), expect.closeTo(1)])
    expect(meter.slices).toHaveLength(480)
  })

  test('counts a node from its launch, which it hears of later, but not from before it began', () => {
    const meter = new CostMeter(start, sliceMs)
    meter.node('late', node, { atMs: start + 5000, fromMs: start + 2000 })
    meter.node('old', { ...node, nodeName: 'n2' }, { atMs: start + 5000, fromMs: start - hourMs })
    meter.advance(start + sliceMs)
    expect(poolsOf(meter.slices).nodeHours * hourMs).toBeCloseTo(13_000 + 15_000)
  })

  test('takes back what it counted after the end of a node, but nothing from before its beginning', () => {
    const meter = new CostMeter(start, sliceMs)
    for (const id of ['a', 'b']) meter.node(id, { ...node, nodeName: id }, { atMs: start + 1000 })
    meter.endNode('a', { atMs: start + 20_000, toMs: start + 12_000 })
    meter.endNode('b', { atMs: start + 20_000, toMs: start })
    meter.advance(start + 2 * sliceMs)
    expect(poolsOf(meter.slices).nodeHours * hourMs).toBeCloseTo(11_000)
  })

  test('reduces shares of more than the whole node in proportion', () => {
    const meter = new CostMeter(start, sliceMs)
    meter.node('c1', node, { atMs: start })
    for (const [uid, weight] of [
      ['a', 6],
      ['b', 2],
    ] as const)
      meter.pod(uid, { nodeName: 'n1', workload: `x/Pod/${uid}`, weight }, start)
    const { pools, workloads } = meter.rate()
    expect(pools).toEqual([{ nodePool: 'general', capacityType: 'on-demand', usd: 2, idle: 0 }])
    expect(Object.fromEntries(workloads)).toEqual({ 'x/Pod/a': 1.5, 'x/Pod/b': 0.5 })
  })

  test('knows nodes without a price by their hours', () => {
    const meter = new CostMeter(start, sliceMs)
    const { pricePerHour: _, ...unpriced } = node
    meter.node('c1', unpriced, { atMs: start })
    meter.advance(start + hourMs)
    expect(poolsOf(meter.slices)).toMatchObject({
      usd: 0,
      nodeHours: expect.closeTo(1),
      unpricedHours: expect.closeTo(1),
    })
  })

  test('a core weighs as 8 GiB, a GPU as 30 cores', () => {
    expect(weightOf({ cpu: 4, memoryGib: 16, gpus: 0 })).toBe(6)
    expect(weightOf({ cpu: 6, memoryGib: 112, gpus: 1 })).toBe(50)
  })

  const change = fc.record({
    afterMs: fc.integer({ min: 0, max: 40_000 }),
    what: fc.oneof(
      fc.record({ node: fc.nat(2), price: fc.option(fc.nat(9)) }),
      fc.record({ pod: fc.nat(5), on: fc.option(fc.nat(2)), weight: fc.nat(6) }),
    ),
  })

  test('whatever happens when, the pods and the idle share cost what the nodes cost, however time is cut', () => {
    fc.assert(
      fc.property(fc.array(change, { maxLength: 40 }), (changes) => {
        const meters = [new CostMeter(start, sliceMs), new CostMeter(start, hourMs)]
        for (const meter of meters) {
          let atMs = start
          for (const { afterMs, what } of changes) {
            atMs += afterMs
            if ('node' in what) {
              const facts =
                what.price === null ? undefined : { ...node, nodeName: `n${what.node}`, pricePerHour: what.price }
              if (facts === undefined) meter.endNode(`c${what.node}`, { atMs, toMs: atMs - 3000 })
              else meter.node(`c${what.node}`, facts, { atMs })
            } else
              meter.pod(
                `p${what.pod}`,
                what.on === null
                  ? undefined
                  : { nodeName: `n${what.on}`, workload: `ns${what.pod % 2}/Pod/${what.pod}`, weight: what.weight },
                atMs,
              )
          }
          meter.advance(start + 2 * hourMs)
        }
        const [fine, whole] = meters.map((meter) => ({ ...poolsOf(meter.slices), used: used(meter.slices) }))
        expect(fine?.usd).toBeCloseTo((fine?.used ?? 0) + (fine?.idle ?? 0), 9)
        expect(fine?.usd).toBeCloseTo(whole?.usd ?? 0, 9)
        expect(fine?.used).toBeCloseTo(whole?.used ?? 0, 9)
      }),
    )
  })
})

/** Slices of an hour, in which each second costs something in some namespace. */
const slices = fc
  .array(fc.record({ workload: fc.tuple(fc.nat(5), fc.nat(400)), usd: fc.nat(1000), idle: fc.nat(1000) }), {
    minLength: 1,
    maxLength: 240,
  })
  .map((drawn) =>
    drawn.map(
      ({ workload: [namespace, name], usd, idle }, index): CostSlice => ({
        fromMs: start + index * sliceMs,
        toMs: start + (index + 1) * sliceMs,
        pools: new Map([['general', { usd: usd + idle, idle, nodeHours: 1, unpricedHours: 0 }]]),
        workloads: new Map([[`ns${namespace}/Deployment/${name}`, usd]]),
      }),
    ),
  )
const total = ({ byKey, other }: Bounded) => sum(byKey.values()) + other

describe('an hour of the ledger', () => {
  test('keeps the sum whatever it keeps by name, and keeps a bounded number of names', () => {
    fc.assert(
      fc.property(slices, (all) => {
        const hour = all.reduce(addSlice, emptyHour)
        const { usd, idle } = sumOfPools(hour.pools.values())
        expect(total(hour.namespaces) + idle).toBeCloseTo(usd)
        expect(total(hour.workloads) + idle).toBeCloseTo(usd)
        expect(usd).toBeCloseTo(poolsOf(all).usd)
        expect(hour.workloads.byKey.size).toBeLessThanOrEqual(mostKeys)
        expect(hour.covered).toEqual([{ fromMs: all[0]?.fromMs, toMs: all.at(-1)?.toMs }])
      }),
    )
  })

  test('counts a slice once, whoever writes it, how often and in which order', () => {
    fc.assert(
      fc.property(slices, fc.array(fc.nat(239)), (all, again) => {
        const repeated = again.flatMap((index) => all[index] ?? [])
        const once = all.reduce(addSlice, emptyHour)
        const twice = [...repeated, ...all, ...repeated].reduce(addSlice, emptyHour)
        expect(sumOfPools(twice.pools.values())).toEqual({
          usd: expect.closeTo(sumOfPools(once.pools.values()).usd),
          idle: expect.closeTo(sumOfPools(once.pools.values()).idle),
          nodeHours: expect.closeTo(sumOfPools(once.pools.values()).nodeHours),
          unpricedHours: 0,
        })
        expect(total(twice.workloads)).toBeCloseTo(total(once.workloads))
        expect(twice.covered).toEqual(once.covered)
      }),
    )
  })

  test('two planners that watched the same time count it once, and a time that nobody watched stays a gap', () => {
    const slice = (fromS: number, toS: number): CostSlice => ({
      fromMs: start + fromS * 1000,
      toMs: start + toS * 1000,
      pools: new Map([['general', { usd: toS - fromS, idle: 0, nodeHours: 0, unpricedHours: 0 }]]),
      workloads: new Map(),
    })
    const first = [slice(0, 15), slice(15, 30)]
    const second = [slice(15, 30), slice(45, 60), slice(52, 67)]
    const hour = [...first, ...second].reduce(addSlice, emptyHour)
    expect(hour.pools.get('general')?.usd).toBe(45)
    expect(hour.covered.map(({ fromMs, toMs }) => [(fromMs - start) / 1000, (toMs - start) / 1000])).toEqual([
      [0, 30],
      [45, 60],
    ])
  })
})
