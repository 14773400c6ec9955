import { expect, it } from 'vitest'
import { demands, hours, madeIn } from './demand.ts'

it.each([2000, 40_000])('a day makes about %i pods', (pods) => {
  const day = demands(pods)
  expect(day).toHaveLength(hours)
  expect(madeIn(day) / pods).toBeGreaterThan(0.95)
  expect(madeIn(day) / pods).toBeLessThan(1.05)
})

it('the afternoon has three times the pods of the night', () => {
  const totals = demands(40_000).map(({ replicas }) => replicas.reduce((sum, count) => sum + count, 0))
  expect(Math.max(...totals)).toBe(totals[16])
  expect(Math.min(...totals)).toBe(totals[4])
  expect((totals[16] ?? 0) / (totals[4] ?? 1)).toBeCloseTo(1 / 0.3, 0)
})
