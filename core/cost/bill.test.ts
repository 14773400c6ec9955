import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { CommandFacts, Life, VmSpan } from '../history/life.ts'
import { billByHour, billedSpans, billOf, hourMs } from './bill.ts'
import { forecastMonth } from './report.ts'
import { savingsIn } from './savings.ts'

const at = Date.UTC(2026, 10, 24, 10)

function vm(fromHour: number, toHour?: number, more: Partial<VmSpan> = {}): VmSpan {
  return {
    instanceType: 'Standard_D4s_v5',
    zone: 'westus2-1',
    capacityType: 'on-demand',
    pricePerHour: 0.2,
    fromMs: at + fromHour * hourMs,
    ...(toHour === undefined ? {} : { toMs: at + toHour * hourMs }),
    ...more,
  }
}

function life(name: string, vms: readonly VmSpan[], more: Partial<Life> = {}): Life {
  return {
    nodeClaim: name,
    // What is known of it, two NodeClaims may share.
    uid: 'aaaaaaaa',
    workflowId: name,
    runId: '1',
    isRunning: false,
    nodePool: 'general',
    createdMs: at,
    vms,
    came: { kind: 'pods', pods: 1 },
    refused: [],
    attempts: 1,
    labels: {},
    ...more,
  }
}

const window = { fromMs: at, toMs: at + 10 * hourMs }
const byPool = ({ life: { nodePool } }: { readonly life: Life }) => nodePool ?? ''
const noPrice = () => undefined

describe('a bill', () => {
  test('is node-hours times price, clipped to the window', () => {
    const lives = [
      life('a', [vm(-5, 2)]),
      life('b', [vm(8, 20)], { nodePool: 'gpu' }),
      life('running', [vm(9)], { isRunning: true }),
      life('before', [vm(-5, 0)]),
    ]
    const bill = billOf(billedSpans(lives, window), byPool, noPrice)
    expect(bill).toMatchObject({ nodeHours: 5, unpricedHours: 0, spotDiscount: 0 })
    expect(bill.usd).toBeCloseTo(1)
    expect(bill.lines.map(({ key, nodeHours }) => [key, nodeHours])).toEqual([
      ['general', 3],
      ['gpu', 2],
    ])
  })

  test.each<[string, readonly Life[], number]>([
    ['a claim whose first VM failed has two spans', [life('a', [vm(0, 1), vm(2, 4)])], 3],
    [
      'a lifecycle that was started again is not billed twice',
      [life('a', [vm(0)]), life('a', [vm(2, 5)], { runId: '2' })],
      5,
    ],
    ['a closed lifecycle ends its VM', [life('a', [vm(0)], { endedMs: at + 3 * hourMs })], 3],
    ['a terminated lifecycle without a successor is not billed', [life('a', [vm(0)])], 0],
  ])('%s', (_, lives, nodeHours) => {
    expect(billOf(billedSpans(lives, window), byPool, noPrice).nodeHours).toBe(nodeHours)
  })

  test('names hours without a price, and what spot saves where both prices are known', () => {
    const spot = { capacityType: 'spot', pricePerHour: 0.05 }
    const { pricePerHour: _, ...unpriced } = vm(0, 3)
    const lives = [
      life('a', [unpriced]),
      life('b', [vm(0, 2, spot)]),
      life('c', [vm(0, 1, { ...spot, instanceType: 'x' })]),
    ]
    const onDemand = (size: string) => (size === 'Standard_D4s_v5' ? 0.2 : undefined)
    const bill = billOf(billedSpans(lives, window), byPool, onDemand)
    expect(bill.unpricedHours).toBe(3)
    expect(bill.usd).toBeCloseTo(0.15)
    expect(bill.spotDiscount).toBeCloseTo(0.3)
  })

  test('by the hour, by key and in all are the same money', () => {
    const span = fc.record({ from: fc.integer({ min: -600, max: 600 }), minutes: fc.integer({ min: 0, max: 900 }) })
    fc.assert(
      fc.property(fc.array(fc.tuple(span, fc.constantFrom('a', 'b', 'c'), fc.nat(5))), (drawn) => {
        const lives = drawn.map(([{ from, minutes }, nodePool, price], index) =>
          life(`n${index}`, [vm(from / 60, (from + minutes) / 60, { pricePerHour: price })], { nodePool }),
        )
        const spans = billedSpans(lives, window)
        const bill = billOf(spans, byPool, noPrice)
        const hours = billByHour(spans, window, byPool).flatMap(({ byKey }) => Object.values(byKey))
        const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0)
        expect(sum(hours)).toBeCloseTo(bill.usd, 6)
        expect(sum(bill.lines.map(({ usd }) => usd))).toBeCloseTo(bill.usd, 6)
      }),
    )
  })
})

describe('savings', () => {
  const command = (more: Partial<CommandFacts> = {}): CommandFacts => ({
    id: 'multi-node-1',
    method: 'multi-node',
    reason: 'Underutilized',
    decision: 'replace',
    candidates: ['a'],
    replacements: ['b'],
    savings: 0.5,
    startedMs: at,
    endedMs: at + hourMs,
    outcome: 'done',
    ...more,
  })
  /** An empty node that goes at an hour. */
  const empty = (name: string, hour: number) =>
    command({ decision: 'delete', candidates: [name], replacements: [], endedMs: at + hour * hourMs })
  const ended = life('b', [], { endedMs: at + 3 * hourMs })
  const day = { fromMs: at, toMs: at + 72 * hourMs }

  test.each<[string, CommandFacts, readonly Life[], number | undefined]>([
    ['count until the replacement ends', command(), [ended], 1],
    ['count for a day at most', command({ replacements: [] }), [], 12],
    ['are nothing for a command that was undone', command({ outcome: 'undone' }), [], undefined],
    ['of drift may be negative', command({ savings: -0.5 }), [ended], -1],
  ])('%s', (_, facts, lives, usd) => {
    expect(savingsIn([facts], lives, day)[0]?.usd).toBe(usd)
  })

  test.each<[string, readonly CommandFacts[], readonly number[], number]>([
    // Scaled up and down each hour: one node is less at a time.
    [
      'of one node that comes and goes each hour are those of one node',
      [1, 2, 3, 4].map((hour) => empty(`a${hour}`, hour)),
      [1.5, 2.5, 3.5, 4.5],
      4 * 0.5 * 0.5,
    ],
    ['end with the next node of the NodePool', [empty('a1', 1)], [3], 2 * 0.5],
    [
      'of two nodes end one after the other',
      [{ ...empty('a1', 1), candidates: ['a1', 'a2'], savings: 1 }],
      [2, 4],
      0.5 + 1.5,
    ],
    ['go on where the next node came for the day after', [empty('a1', 1)], [30], 24 * 0.5],
    ['do not end with a node that is a replacement', [empty('a1', 1), command({ savings: 0 })], [], 24 * 0.5],
  ])('%s', (_, facts, createdAfter, usd) => {
    const lives = [
      ...facts.flatMap(({ candidates }) => candidates.map((name) => life(name, []))),
      life('b', [], { createdMs: at + 2 * hourMs }),
      ...createdAfter.map((hour) => life(`new${hour}`, [], { createdMs: at + hour * hourMs })),
    ].filter(({ nodeClaim }) => nodeClaim !== 'b' || facts.some(({ replacements }) => replacements.includes('b')))
    expect(savingsIn(facts, lives, day).reduce((sum, saving) => sum + saving.usd, 0)).toBeCloseTo(usd)
  })

  test('are never more than nodes that would exist', () => {
    const hours = fc.array(fc.nat(47), { minLength: 1, maxLength: 12 })
    fc.assert(
      fc.property(hours, (started) => {
        // Each node lives half an hour and goes empty: of one NodePool, at 0.5 USD an hour.
        const facts = started.map((hour, index) => empty(`n${index}`, hour + 0.5))
        const lives = started.map((hour, index) => life(`n${index}`, [], { createdMs: at + hour * hourMs }))
        const most = Math.max(...started.map((hour) => started.filter((other) => other === hour).length))
        const end = { fromMs: at, toMs: at + 72 * hourMs }
        const saved = savingsIn(facts, lives, end).reduce((sum, { usd }) => sum + usd, 0)
        // Without disruption as many nodes would be there as were at once, for a day after the last of them at most.
        expect(saved).toBeLessThanOrEqual(most * 0.5 * 72 + 1e-9)
      }),
    )
  })

  test('before the window do not count', () => {
    const late = { fromMs: at + 2 * hourMs, toMs: at + 10 * hourMs }
    expect(savingsIn([command()], [ended], late)[0]?.usd).toBe(0.5)
    expect(savingsIn([command()], [life('b', [], { endedMs: at + hourMs })], late)).toEqual([])
  })
})

describe('the forecast of a month', () => {
  const hour = (index: number, usd: number, knownMs = hourMs) => ({ atMs: at + index * hourMs, usd, knownMs })

  test('begins with the first hour that has a node, before which nothing was', () => {
    // From the 24th at 10 until the end of November there are 158 hours.
    const hours = Array.from({ length: 24 }, (_, index) => hour(index - 22, index < 22 ? 0 : 3))
    expect(forecastMonth(hours, at + 2 * hourMs)).toBeCloseTo(158 * 3)
  })

  test('is what is known of it, and the rest at the average', () => {
    // 720 hours in November; the second hour is half known.
    expect(forecastMonth([hour(0, 3), hour(1, 1.5, hourMs / 2)], at)).toBeCloseTo(720 * 3)
  })

  test('takes the average from hours of other months, too', () => {
    expect(forecastMonth([{ ...hour(0, 2), atMs: Date.UTC(2026, 9, 31) }], at)).toBeCloseTo(720 * 2)
  })

  test('needs an hour', () => {
    expect(forecastMonth([hour(0, 3, hourMs / 2)], at)).toBeUndefined()
    expect(forecastMonth([hour(-1, 0), hour(0, 3, hourMs / 2)], at)).toBeUndefined()
  })
})
