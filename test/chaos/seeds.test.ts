import { availableParallelism } from 'node:os'
import { expect, test } from 'vitest'
import { type Coverage, coverageOf, keptWork } from './coverage.ts'
import { runBeside } from './jobs.ts'
import { planOf } from './plan.ts'
import { type ChaosRun, runPlan } from './run.ts'

/** `npm run test:all` draws others. */
const { seeds, hourly } = await keptWork()
/** What happens in an hour may be so many times what it was: after any change of the product troubles meet other moments. */
const mostGrowth = 1.1

test('the same plan takes the same course, whatever ran before it', { timeout: 600_000 }, async () => {
  const first = await runPlan(planOf(2010), { isJudged: false })
  await runPlan(planOf(2041), { isJudged: false })
  const again = await runPlan(planOf(2010), { isJudged: false })
  expect(again.requests).toEqual(first.requests)
  expect([...again.counts]).toEqual([...first.counts])
  expect(again.work).toEqual(first.work)
})

test('nothing is wrong at any time or left at the end, whatever happens', { timeout: 600_000 }, async () => {
  const runs: ChaosRun[] = []
  const wrong: string[] = []
  await runBeside(seeds.map(planOf), { jobs: availableParallelism() }, async ({ seed }, run) => {
    runs.push({ ...run, requests: [] })
    wrong.push(...run.wrong.map(({ kind, what }) => `seed ${seed}: ${kind}: ${what}`))
    return 'next'
  })
  expect(wrong).toEqual([])
  const coverage = coverageOf(runs)
  expectTroubled(coverage)
  // A poll that never rests, say. Where it is meant: `npm run chaos -- --write`, and the commit says why.
  for (const what of ['timers', 'requests', 'activations'] as const)
    expect([what, coverage.hourly[what]]).toEqual([
      what,
      expect.toSatisfy((n: number) => n <= mostGrowth * hourly[what]),
    ])
})

/** Without nodes, and kills and faults that hit, the seeds would prove nothing. */
function expectTroubled({ counts }: Coverage): void {
  for (const name of [
    'claims',
    'drains',
    'nodes disrupted: Drifted',
    'hit: api 500',
    'hit: api answer lost',
    'disruptionCommand done',
  ])
    expect([name, counts.get(name) ?? 0]).toEqual([name, expect.toSatisfy((count: number) => count > 0)])
}
