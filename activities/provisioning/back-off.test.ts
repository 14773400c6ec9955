import { expect, test } from 'vitest'
import { BackOff } from './back-off.ts'

test('each failure in a row doubles the back-off, up to five minutes', () => {
  const backOff = new BackOff()
  const rests: number[] = []
  let now = 0
  for (let turn = 0; turn < 7; turn += 1) {
    backOff.failed('web', now)
    const end = backOff.nextEnd(now)
    rests.push((end - now) / 1000)
    expect(backOff.resting(end - 1)).toEqual(['web'])
    expect(backOff.resting(end)).toEqual([])
    now = end
  }
  expect(rests).toEqual([10, 20, 40, 80, 160, 300, 300])
})

test('nodes of one command that fail together count once, and a success ends it all', () => {
  const backOff = new BackOff()
  for (const at of [0, 5, 40]) backOff.failed('web', at)
  backOff.failed('batch', 100)
  expect(backOff.nextEnd(100)).toBe(10_000)
  backOff.succeeded('web')
  expect(backOff.nextEnd(100)).toBe(10_100)
  backOff.failed('web', 20_000)
  expect(backOff.nextEnd(20_000)).toBe(30_000)
})

test('a back-off ends when the clock is set back, and the next one begins', () => {
  const backOff = new BackOff()
  backOff.failed('web', 1_000_000)
  expect(backOff.resting(1000)).toEqual([])
  expect(backOff.nextEnd(1000)).toBe(Number.POSITIVE_INFINITY)
  backOff.failed('web', 1000)
  expect(backOff.isResting('web', 1000)).toBe(true)
})

test('a failure long ago does not lengthen the back-off', () => {
  const backOff = new BackOff()
  backOff.failed('web', 0)
  backOff.failed('web', 10_000 + 5 * 60_000 + 1)
  expect(backOff.nextEnd(400_000)).toBe(Number.POSITIVE_INFINITY)
  expect(backOff.nextEnd(315_000)).toBe(320_001)
})
