import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cronProblem, nextTime, parseCron } from './cron.ts'

/** Returns the next time of a schedule's text; undefined when it is invalid. */
function nextCronTime(text: string, after: number): number | 'never' | undefined {
  const schedule = parseCron(text)
  return schedule && nextTime(schedule, after)
}

const wednesday = '2026-03-04T12:00:00.000Z'

describe('the next time', () => {
  it.each([
    ['0 9 * * *', '2026-03-05T09:00:00.000Z'],
    ['*/15 * * * *', '2026-03-04T12:15:00.000Z'],
    ['5/20 * * * *', '2026-03-04T12:05:00.000Z'],
    ['0 9 * * mon-fri', '2026-03-05T09:00:00.000Z'],
    ['0 9 * * SAT', '2026-03-07T09:00:00.000Z'],
    ['0 0 1 jan *', '2027-01-01T00:00:00.000Z'],
    ['0 12 29 2 *', '2028-02-29T12:00:00.000Z'],
    // With both days restricted, either suffices. With one of them any, also with a step of one, both must hold.
    ['0 0 13 * 5', '2026-03-06T00:00:00.000Z'],
    ['0 0 13 * *', '2026-03-13T00:00:00.000Z'],
    ['0 0 */10 * 5', '2026-03-06T00:00:00.000Z'],
    ['? ? * * ?', '2026-03-04T12:01:00.000Z'],
    ['@hourly', '2026-03-04T13:00:00.000Z'],
    ['@weekly', '2026-03-08T00:00:00.000Z'],
    ['@every 90m', '2026-03-04T13:30:00.000Z'],
    ['@every 1ms', '2026-03-04T12:00:01.000Z'],
    ['@monthly', '2026-04-01T00:00:00.000Z'],
    ['@annually', '2027-01-01T00:00:00.000Z'],
    ['0 9 * JAN,mar-MAY 2,Thu', '2026-03-05T09:00:00.000Z'],
    ['10-20/5,50 12 * * *', '2026-03-04T12:10:00.000Z'],
    ['\t0   9\t* * *  ', '2026-03-05T09:00:00.000Z'],
    // Time zones do not matter: a day has 24 hours even when Europe's clocks change.
    ['30 2 29 3 *', '2026-03-29T02:30:00.000Z'],
  ])('%s', (schedule, expected) => {
    const hit = nextCronTime(schedule, Date.parse(wednesday))
    expect(typeof hit === 'number' ? new Date(hit).toISOString() : hit).toBe(expected)
  })

  it('never fires on a day that no month has', () => {
    expect(nextCronTime('0 0 31 2 *', Date.parse(wednesday))).toBe('never')
  })

  it.each([
    '',
    '* * * *',
    '* * * * * *',
    '60 * * * *',
    '0 25 * * *',
    '0 0 0 * *',
    '0 0 * * 7',
    '5-1 * * * *',
    '1-2-3 * * * *',
    '*/0 * * * *',
    '*/5/5 * * * *',
    '-1 * * * *',
    'x * * * *',
    '@never',
    '@every soon',
    'TZ=Europe/Berlin 0 9 * * *',
    'CRON_TZ=UTC @daily',
    '@Daily',
    '@every -',
  ])('rejects %j', (schedule) => {
    expect(nextCronTime(schedule, Date.parse(wednesday))).toBeUndefined()
  })

  it.each([
    ['TZ=Europe/Berlin 0 9 * * *', 'schedules are in UTC and take no time zone; remove it and shift the hours'],
    ['0 0 9 * * *', 'it has 6 fields; write five: minute, hour, day of the month, month, day of the week'],
    ['0 25 * * *', 'its hour "25" is not within 0-23'],
    ['0 9 * * 1-7', 'its day of the week "1-7" is not within 0-6 or sun-sat; Sunday is 0'],
    ['0 9 * * fri-mon', 'its day of the week "fri-mon" is not within 0-6 or sun-sat; Sunday is 0'],
    ['@every day', '"day" is not a duration such as 1h30m'],
    ['0 9 * * \u001b[31m', 'its day of the week "\\u001b[31m" is not within 0-6 or sun-sat; Sunday is 0'],
    [`${'*,'.repeat(50_000)} * * * *`, 'it has 100008 characters; write at most 1000'],
    [
      '@never',
      'write @every with a duration, or one of @yearly, @annually, @monthly, @weekly, @daily, @midnight, @hourly',
    ],
  ])('names the error in %s', (schedule, expected) => {
    expect(cronProblem(schedule)).toBe(expected)
  })

  it('never fires with a field that allows nothing', () => {
    expect(nextCronTime(', * * * *', Date.parse(wednesday))).toBe('never')
    expect(nextCronTime('* , * * *', Date.parse(wednesday))).toBe('never')
  })

  it('finds the first time after the given one, whichever that is', () => {
    const field = (min: number, max: number) =>
      fc.oneof(
        fc.constantFrom('*', '*/2', '*/7'),
        fc.integer({ min, max }).map(String),
        fc.uniqueArray(fc.integer({ min, max }), { minLength: 1, maxLength: 3 }).map((values) => values.join(',')),
      )
    const schedule = fc
      .tuple(field(0, 59), field(0, 23), field(1, 31), field(1, 12), field(0, 6))
      .map((fields) => fields.join(' '))
    const time = fc.integer({ min: Date.parse('2020-01-01T00:00:00Z'), max: Date.parse('2030-01-01T00:00:00Z') })
    fc.assert(
      fc.property(schedule, time, fc.double({ min: 0, max: 1, noNaN: true }), (text, after, part) => {
        const hit = nextCronTime(text, after)
        if (typeof hit !== 'number') return
        expect(hit).toBeGreaterThan(after)
        expect(hit % 60_000).toBe(0)
        expect(nextCronTime(text, after + Math.floor((hit - 1 - after) * part))).toBe(hit)
      }),
    )
  })
})
