import { expect, test } from 'vitest'
import { LatestOnly } from './latest-only.ts'

test('work ends when later work begins, and with its own signal', () => {
  const latest = new LatestOnly()
  const own = new AbortController()
  const first = latest.begin(new AbortController().signal)
  expect(first.aborted).toBe(false)
  const second = latest.begin(own.signal)
  expect([first.aborted, second.aborted]).toEqual([true, false])
  own.abort()
  expect(second.aborted).toBe(true)
})
