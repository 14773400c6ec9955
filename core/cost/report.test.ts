import { describe, expect, test } from 'vitest'
import type { History, Life } from '../history/life.ts'
import { hourMs } from './bill.ts'
import { costOf } from './report.ts'
import { addSlice, emptyHour, type LedgerHour } from './slice.ts'

const at = Date.UTC(2026, 10, 24, 10)
const window = { fromMs: at, toMs: at + 4 * hourMs }

function life(name: string, fromHour: number, toHour: number | undefined, more: Partial<Life> = {}): Life {
  const vm = {
    instanceType: 'Standard_D4s_v5',
    zone: 'westus2-1',
    capacityType: 'on-demand',
    pricePerHour: 2,
    fromMs: at + fromHour * hourMs,
    ...(toHour === undefined ? {} : { toMs: at + toHour * hourMs }),
  }
  return {
    nodeClaim: name,
    uid: `uid-${name}`,
    workflowId: name,
    runId: '1',
    isRunning: toHour === undefined,
    nodePool: 'general',
    createdMs: vm.fromMs,
    vms: [vm],
    came: { kind: 'pods', pods: 1 },
    refused: [],
    attempts: 1,
    labels: {},
    ...more,
  }
}

const history = (lives: readonly Life[], sinceHour = 0): History => ({
  lives,
  commands: [],
  sinceMs: at + sinceHour * hourMs,
  untilMs: window.toMs,
  unreadable: 0,
})

/** An hour of which the first part was watched: half of the price is idle, the other half one namespace's. */
function watched(hour: number, usd: number, part = 1): readonly [number, LedgerHour] {
  const fromMs = at + hour * hourMs
  return [
    fromMs,
    addSlice(emptyHour, {
      fromMs,
      toMs: fromMs + part * hourMs,
      pools: new Map([['general', { usd, idle: usd / 2, nodeHours: usd / 2, unpricedHours: 0 }]]),
      workloads: new Map([['shop/Deployment/web', usd / 2]]),
    }),
  ]
}

const noPrice = () => undefined

describe('costs of a time', () => {
  test('that both know: what planners did not watch is unknown, and all of it is the bill', () => {
    const ledger = new Map([watched(0, 2), watched(1, 1, 0.5), watched(3, 2)])
    const { total, shares, hours } = costOf({
      history: history([life('a', -1, undefined)]),
      ledger,
      priceOf: noPrice,
      window,
    })
    expect(total.usd).toBeCloseTo(8)
    expect(shares).toMatchObject({
      namespaces: [{ key: 'shop', usd: 2.5 }],
      workloads: [{ key: 'shop/Deployment/web', usd: 2.5 }],
      idle: 2.5,
      unknown: 3,
      watchedMs: 2.5 * hourMs,
    })
    expect(hours.map(({ usd, knownMs, idle }) => [usd, knownMs / hourMs, idle])).toEqual([
      [2, 1, 1],
      [2, 1, 0.5],
      [2, 1, undefined],
      [2, 1, 1],
    ])
  })

  test('from before what Temporal keeps come from the ledger, and hours that nobody knows are unknown', () => {
    const ledger = new Map([watched(0, 2, 0.5), watched(2, 2), watched(3, 2)])
    const kept = history([life('a', -1, undefined)], 1.5)
    const { total, hours, spans, knownSinceMs } = costOf({ history: kept, ledger, priceOf: noPrice, window })
    expect(knownSinceMs).toBe(at + 2 * hourMs)
    expect(spans.map(({ fromMs }) => fromMs)).toEqual([at + 2 * hourMs])
    expect(hours.map(({ usd, knownMs }) => [usd, knownMs / hourMs])).toEqual([
      [2, 0.5],
      [0, 0],
      [2, 1],
      [2, 1],
    ])
    expect(total.lines).toEqual([{ key: 'general', usd: 6, nodeHours: 3, unpricedHours: 0, spotDiscount: 0 }])
  })

  test('without Temporal come from the ledger, without a ledger have no shares', () => {
    const ledger = new Map([watched(0, 2)])
    expect(costOf({ ledger, priceOf: noPrice, window })).toMatchObject({
      total: { usd: 2 },
      shares: { unknown: 0 },
      spans: [],
    })
    expect(costOf({ history: history([life('a', 0, 1)]), priceOf: noPrice, window }).shares).toBeUndefined()
  })

  test('of a VM that was launched a moment ago have the price of now', () => {
    const [vm] = life('a', 3, undefined).vms
    const { pricePerHour: _, ...unpriced } = vm ?? {}
    const young = { ...life('a', 3, undefined), vms: [unpriced as NonNullable<typeof vm>] }
    const priceOf = (size: string, capacityType: string) =>
      size === 'Standard_D4s_v5' && capacityType === 'on-demand' ? 5 : undefined
    expect(costOf({ history: history([young]), priceOf, window }).total).toMatchObject({ usd: 5, unpricedHours: 0 })
  })
})
