import { describe, expect, test } from 'vitest'
import { hourMs } from '../../core/cost/bill.ts'
import { ledgerEntries, ledgerMapOf, ledgerMaps } from '../../core/cost/ledger-format.ts'
import { addSlice, emptyHour, type LedgerHour, mostKeys } from '../../core/cost/slice.ts'
import { parseLedgerMap } from './ledger-map.ts'

const start = Date.UTC(2026, 10, 24, 10)
const dayMs = 24 * hourMs

function hourWith(workloads: readonly (readonly [string, number])[]): LedgerHour {
  const usd = workloads.reduce((sum, [, one]) => sum + one, 0)
  return addSlice(emptyHour, {
    fromMs: start,
    toMs: start + hourMs,
    pools: new Map([['general', { usd: usd + 1 / 3, idle: 1 / 3, nodeHours: 2, unpricedHours: 0 }]]),
    workloads: new Map(workloads),
  })
}

const written = (entries: Readonly<Record<string, string | null>>) =>
  Object.fromEntries(Object.entries(entries).filter((entry): entry is [string, string] => entry[1] !== null))

describe('the ledger in its ConfigMap', () => {
  test('is read as it was written, to twelve digits', () => {
    const hour = hourWith([
      ['shop/Deployment/web', 0.1],
      ['a/Pod/__proto__', 2],
    ])
    const entries = written(ledgerEntries(new Map([[start, hour]]), {}))
    expect(Object.keys(entries).sort()).toEqual(['10', 'day'])
    const [[atMs, read] = []] = parseLedgerMap(entries).hours
    expect(atMs).toBe(start)
    expect(read).toEqual({
      ...hour,
      pools: new Map([
        [
          'general',
          { usd: expect.closeTo(2.1 + 1 / 3, 11), idle: expect.closeTo(1 / 3, 11), nodeHours: 2, unpricedHours: 0 },
        ],
      ]),
    })
  })

  test('adds up names that are the same where they are cut', () => {
    const name = `a/Pod/${'x'.repeat(300)}`
    const entries = written(
      ledgerEntries(
        new Map([
          [
            start,
            hourWith([
              [`${name}1`, 1],
              [`${name}2`, 2],
            ]),
          ],
        ]),
        {},
      ),
    )
    expect([...(parseLedgerMap(entries).hours.get(start)?.workloads.byKey.values() ?? [])]).toEqual([3])
  })

  test('replaces the hours of the month before', () => {
    const before = { day: '2026-10-24', '09': 'x', '10': 'y' }
    expect(ledgerEntries(new Map([[start, emptyHour]]), before)).toEqual({
      day: '2026-11-24',
      '09': null,
      '10': expect.stringContaining('"v":1'),
    })
  })

  test.each([
    ['no day', { '10': '{}' }],
    ['another version', { day: '2026-11-24', '10': '{"v":2}' }],
    ['no JSON', { day: '2026-11-24', '10': '{"v":1' }],
    [
      'texts for numbers',
      { day: '2026-11-24', '10': '{"v":1,"covered":[["a","b"]],"pools":[],"namespaces":[],"workloads":[]}' },
    ],
    ['an hour that is none', { day: '2026-11-24', '24': '{"v":1}' }],
  ])('is empty with %s', (_, entries) => {
    expect(parseLedgerMap(entries).hours.size).toBe(0)
  })

  test('keeps a day for 31 days, and a full day with the longest names in less than a ConfigMap holds', () => {
    const places = Array.from({ length: 31 }, (_, day) => ledgerMapOf(start - day * dayMs))
    expect(new Set(places)).toEqual(new Set(ledgerMaps))
    expect(ledgerMapOf(start - 31 * dayMs)).toBe(ledgerMapOf(start))
    const long = (index: number) => `${index}${'n'.repeat(60)}/${'k'.repeat(63)}/${'ä'.repeat(200)}`
    const hour = hourWith(Array.from({ length: 2 * mostKeys }, (_, index) => [long(index), 1 / (index + 3)] as const))
    const full = new Map(
      Array.from({ length: 24 }, (_, index) => [start - 10 * hourMs + index * hourMs, hour] as const),
    )
    const entries = written(ledgerEntries(full, {}))
    expect(new TextEncoder().encode(Object.values(entries).join('')).length).toBeLessThan(1_048_576)
    const read = parseLedgerMap(entries).hours.get(start)
    const sum = [...(read?.workloads.byKey.values() ?? [])].reduce(
      (total, usd) => total + usd,
      read?.workloads.other ?? 0,
    )
    expect(sum + 1 / 3).toBeCloseTo(read?.pools.get('general')?.usd ?? 0)
  })
})
