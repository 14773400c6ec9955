import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Budget } from '../../objects.ts'
import { budgetForecast } from './budget-forecast.ts'
import { allowedDisruptions } from './budgets.ts'

/** A Wednesday. */
const from = Date.parse('2026-03-04T12:00:00Z')
const day = 24 * 3_600_000
const forecast = (budgets: readonly Budget[], days = 7, reason = 'Empty') =>
  budgetForecast({ budgets, nodes: 20, reason, from, to: from + days * day }).map(
    ({ fromMs, toMs, allowed, because }) => [written(fromMs), written(toMs), allowed, because],
  )
const written = (ms: number) => new Date(ms).toISOString().slice(5, 16)

describe('budgetForecast', () => {
  it('is one period where nothing changes', () => {
    expect(forecast([])).toEqual([['03-04T12:00', '03-11T12:00', 2147483647, []]])
    expect(forecast([{ nodes: '10%' }, { nodes: '2' }])).toEqual([['03-04T12:00', '03-11T12:00', 2, [0, 1]]])
    expect(forecast([{ nodes: '0', reasons: ['Drifted'] }, { nodes: '50%' }])).toEqual([
      ['03-04T12:00', '03-11T12:00', 10, [1]],
    ])
  })

  it('opens and closes with schedules, and names the least', () => {
    const working = { nodes: '0', schedule: '0 9 * * mon-fri', duration: '8h' }
    expect(forecast([{ nodes: '10%' }, working], 3)).toEqual([
      ['03-04T12:00', '03-04T17:00', 0, [1]],
      ['03-04T17:00', '03-05T09:00', 2, [0]],
      ['03-05T09:00', '03-05T17:00', 0, [1]],
      ['03-05T17:00', '03-06T09:00', 2, [0]],
      ['03-06T09:00', '03-06T17:00', 0, [1]],
      ['03-06T17:00', '03-07T12:00', 2, [0]],
    ])
  })

  it('joins windows that meet or overlap', () => {
    const whole = [['03-04T12:00', '03-11T12:00', 1, [0]]]
    expect(forecast([{ nodes: '1', schedule: '@daily', duration: '24h' }])).toEqual(whole)
    expect(forecast([{ nodes: '1', schedule: '@hourly', duration: '48h' }])).toEqual(whole)
    expect(forecast([{ nodes: '1', schedule: '* * * * *', duration: '1m' }])).toEqual(whole)
    expect(forecast([{ nodes: '1', schedule: '0 0 31 2 *', duration: '1h' }])).toEqual(whole)
  })

  it('is blocked throughout by a budget that cannot be read, whatever its reasons', () => {
    expect(forecast([{ nodes: '5' }, { nodes: '5', reasons: ['Drifted'], schedule: 'noon', duration: '1h' }])).toEqual([
      ['03-04T12:00', '03-11T12:00', 0, [1]],
    ])
  })

  it('goes through each minute of a year in a moment', () => {
    const budgets = Array.from({ length: 5 }, () => ({ nodes: '1', schedule: '* * * * *', duration: '90m' }))
    expect(forecast(budgets, 366)).toEqual([['03-04T12:00', '03-05T12:00', 1, [0, 1, 2, 3, 4]]])
    expect(forecast([{ nodes: '1', schedule: '*/2 * * * *', duration: '1m' }])).toHaveLength(7 * 1440)
  })

  it('says at each moment what the budgets allow then, in periods that follow each other', () => {
    const part = (max: number) =>
      fc.oneof(
        fc.constantFrom('*', '*/2', '*/7'),
        fc.integer({ min: 1, max }).map(String),
        fc
          .tuple(fc.integer({ min: 1, max }), fc.integer({ min: 1, max }))
          .map((ends) => ends.sort((a, b) => a - b).join('-')),
      )
    const schedule = fc.oneof(
      fc.constantFrom('@daily', '@hourly', '@weekly', '@every 1h', 'nonsense', '0 0 31 2 *'),
      fc.tuple(part(59), part(23), part(28), part(12), part(6)).map((fields) => fields.join(' ')),
    )
    const window = fc.record({ schedule, duration: fc.constantFrom('1m', '30m', '1h', '8h', '24h', '100h', '0h') })
    const budget = fc
      .tuple(
        fc.record(
          {
            nodes: fc.constantFrom('0', '1', '7', '10%', '100%'),
            reasons: fc.constantFrom(['Empty'], ['Drifted'], []),
          },
          { requiredKeys: ['nodes'] },
        ),
        fc.option(window, { nil: {}, freq: 5 }),
      )
      .map(([what, when]): Budget => ({ ...what, ...when }))
    const moments = fc.array(fc.integer({ min: 0, max: 7 * day - 1 }), { minLength: 20, maxLength: 20 })
    fc.assert(
      fc.property(
        fc.array(budget, { maxLength: 4 }),
        fc.nat({ max: 4 * 365 * day }),
        moments,
        (budgets, later, offsets) => {
          const of = { budgets, nodes: 15, reason: 'Empty' }
          const [begin, end] = [from + later, from + later + 7 * day]
          const periods = budgetForecast({ ...of, from: begin, to: end })
          expect(periods[0]?.fromMs).toBe(begin)
          expect(periods.at(-1)?.toMs).toBe(end)
          for (const [index, period] of periods.entries()) {
            const before = periods[index - 1]
            if (before === undefined) continue
            expect(before.toMs).toBe(period.fromMs)
            expect([before.allowed, before.because]).not.toEqual([period.allowed, period.because])
          }
          const edges = periods.flatMap(({ fromMs, toMs }) => [fromMs, toMs - 1])
          for (const now of [...offsets.map((offset) => begin + offset), ...edges.slice(0, 100)]) {
            const period = periods.find(({ fromMs, toMs }) => fromMs <= now && now < toMs)
            expect([now, period?.allowed]).toEqual([now, allowedDisruptions({ ...of, now }).allowed])
          }
        },
      ),
    )
  })
})
