import * as fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import { bindLatePod, drawnCluster } from '../../../test/fakes/commit-law/cluster.ts'
import { drawnProposals, shuffled } from '../../../test/fakes/commit-law/proposals.ts'
import { type Fate, type Fault, Race } from '../../../test/fakes/commit-law/race.ts'
import { CommitWatch } from '../../../test/fakes/commit-law/watch.ts'
import { ended, useFakeTime } from '../../../test/fakes/time.ts'
import { sampleTime } from '../../../test/samples/sample-objects.ts'
import { Draw } from '../../../test/scheduler-equivalence/draw.ts'

/** How many cases are drawn. `COMMIT_CASES=1000 JOINER_TEST_SEED=7` draws others, and more of them. */
const cases = Number(process.env['COMMIT_CASES'] ?? 60)
/** What the last write of a case may be: a proposal takes some four. */
const lateWrite = 40

/**
 * The longest time of a request, in milliseconds: rounds last long enough for others to come due meanwhile. What a process has sent that another took over
 * from arrives before the first round of that one.
 */
const slowest = { 'fence lost': [20], others: [20, 100, 400] }

useFakeTime()

/** Half of the cases change their leader; in some others a write fails. */
function drawnFault(draw: Draw): Fault | undefined {
  if (draw.chance(0.3)) return undefined
  const fate = draw.pick<Fate>([
    'killed',
    'killed',
    'lost answer',
    'lost answer',
    'fence lost',
    'fence lost',
    'refused',
  ])
  const ofStamps = draw.chance(0.4)
  return {
    fate,
    ofStamps,
    write: draw.between(1, ofStamps ? 4 : draw.pick([8, lateWrite])),
    afterMs: draw.pick([0, 100, 1000, 5000, 90_000]),
  }
}

/** Commits the proposals of a case. Returns what must never be, and what became of them. */
async function committed(seed: number) {
  vi.clearAllTimers()
  vi.setSystemTime(sampleTime)
  const draw = new Draw(seed)
  const { cluster, nodes } = drawnCluster(draw)
  const proposals = drawnProposals(draw, nodes)
  const late = new Set(draw.some(nodes, draw.pick([0, 0.1, 0.3])).map(({ name }) => name))
  cluster.intercept(({ verb, path }) => {
    const name = path.replace('/api/v1/nodes/aks-', '')
    if (verb === 'patch' && late.delete(name)) bindLatePod(cluster, name, draw)
  })
  const fault = drawnFault(draw)
  const mostMs = draw.pick(fault?.fate === 'fence lost' ? slowest['fence lost'] : slowest.others)
  const race = new Race(cluster, { fault, latency: () => draw.below(mostMs) })
  await ended(race.begin())
  const watch = new CommitWatch(cluster, proposals, race.outcomes)
  if (draw.chance(0.5)) cluster.lag()
  const commits = shuffled(draw, proposals).map((proposal) =>
    race.commit({
      proposal,
      afterMs: draw.below(1000),
      retryMs: draw.below(1000),
      isKnownUnbegun: draw.chance(0.5),
    }),
  )
  await ended(Promise.all(commits), 300_000, 100)
  cluster.catchUp()
  watch.end()
  return { violations: watch.violations, outcomes: [...race.outcomes.values()], suffered: race.suffered }
}

describe('20 commands due in one second', () => {
  const seen = { cases: 0, leaderChanges: 0, committed: 0, overBudget: 0 }
  const timeout = 60_000 + cases * 1000

  test('never exceed a budget, a PodDisruptionBudget or limits, over a change of leader as well', { timeout }, () =>
    fc.assert(
      fc.asyncProperty(fc.noShrink(fc.nat()), async (seed) => {
        const { violations, outcomes, suffered } = await committed(seed)
        expect(violations).toEqual([])
        seen.cases += 1
        seen.leaderChanges += Number(suffered !== undefined && suffered !== 'refused')
        seen.committed += outcomes.filter(({ kind }) => kind === 'committed').length
        seen.overBudget += outcomes.filter((one) => one.kind === 'rejected' && /budgets/.test(one.message)).length
      }),
      { numRuns: cases, endOnFailure: true },
    ),
  )

  test('are many enough to meet budgets, and half of the cases change their leader', () => {
    expect(seen.committed / seen.cases).toBeGreaterThan(3)
    expect(seen.overBudget / seen.cases).toBeGreaterThan(2)
    expect(seen.leaderChanges / seen.cases).toBeGreaterThan(0.4)
  })
})
