import { expect, it } from 'vitest'
import { BufferPasses } from './buffer-room.ts'

it('is due at once for another buffer, and a second after the cluster changed', () => {
  const passes = new BufferPasses()
  expect(passes.dueAt(0)).toBe(Number.POSITIVE_INFINITY)
  passes.touched(5000)
  expect(passes.dueAt(5000)).toBe(6000)
  passes.changed(5100)
  expect(passes.dueAt(5100)).toBe(5100)
})

it('rests four times as long as a pass took, whatever changes', () => {
  const passes = new BufferPasses()
  passes.began(0)
  passes.ended(2000, true)
  for (let now = 2000; now < 10_000; now += 100) {
    passes.touched(now)
    passes.changed(now)
  }
  expect(passes.dueAt(9900)).toBe(10_000)
})

it.each([
  ['every pod has a place', true, 30_100],
  ['a pod has none', false, 10_100],
  ['there are no buffers', undefined, Number.POSITIVE_INFINITY],
])('looks again when %s', (_, isComplete, at) => {
  const passes = new BufferPasses()
  passes.changed(0)
  passes.began(0)
  passes.ended(100, isComplete)
  expect(passes.dueAt(100)).toBe(at)
})

it('keeps what changed during a pass', () => {
  const passes = new BufferPasses()
  passes.began(0)
  passes.changed(50)
  passes.ended(100, true)
  expect(passes.dueAt(100)).toBe(50)
})

it('looks at once after the clock was set back, and goes on as ever', () => {
  const passes = new BufferPasses()
  const days = 31 * 86_400_000
  passes.began(days)
  passes.ended(days, true)
  passes.touched(1000)
  expect(passes.dueAt(1000)).toBe(1000)
  passes.began(1000)
  passes.ended(1000, true)
  expect(passes.dueAt(1000)).toBe(31_000)
})
