import { expect, test } from 'vitest'
import { planOf } from './plan.ts'
import { runPlan } from './run.ts'

test('the same plan takes the same course, whatever ran before it', async () => {
  const first = await runPlan(planOf(7))
  await runPlan(planOf(26))
  const again = await runPlan(planOf(7))
  expect(again.requests).toEqual(first.requests)
  expect([...again.counts]).toEqual([...first.counts])
})
