import { describe, expect, it } from 'vitest'
import { snapshotWithout } from '../../core/scheduling/settled.ts'
import type { SchedulingPlan } from '../../core/scheduling/snapshot.ts'
import { SolverMemory } from '../../core/scheduling/solver/memory.ts'
import { WhatIf } from '../../core/scheduling/what-if.ts'
import { resultOf } from '../../starter/simulate/result.ts'
import { schedulePlainly } from '../plain-scheduler/schedule.ts'
import { plainForm } from '../vectors/scheduling.ts'
import { randomCluster } from './random-clusters.ts'
import { type Imagined, type Question, randomQuestions } from './random-removals.ts'

/** `CLUSTERS=20000 FIRST_CLUSTER=100000` looks at others, and at more of them. */
const clusters = Number(process.env['CLUSTERS'] ?? 2000)
const first = Number(process.env['FIRST_CLUSTER'] ?? 0)
const batch = 500

/** The answer of the plain rules to the cluster as it would be. */
function plainly({ snapshot, options }: Imagined, { removed, limits }: Question): SchedulingPlan {
  const { closed, maxNewClaims } = limits
  const running = removed.flatMap(({ moving }) => moving.filter(({ phase }) => phase !== 'Pending'))
  return schedulePlainly(
    {
      ...snapshotWithout(snapshot, removed),
      ...(closed === undefined ? {} : { barred: { places: closed, pods: new Set(running) } }),
    },
    { ...options, ...(maxNewClaims === undefined ? {} : { maxNewClaims }) },
  )
}

/** Where a stopped pass would have gone on is told of by no text. */
function textOf(plan: SchedulingPlan): string {
  const { stopped, unschedulable } = plan
  const failed = unschedulable.map(({ pod }) => `${pod.metadata.namespace}/${pod.metadata.name}`).sort()
  return JSON.stringify([plainForm(resultOf(stopped ? { ...plan, unschedulable: [] } : plan)), failed, stopped])
}

/** What is answered differently to the questions about a cluster, in their order. */
function differences(seed: number, memory: SolverMemory | undefined): readonly string[] {
  const imagined = randomQuestions(randomCluster(seed), seed)
  const whatIf = new WhatIf(imagined.snapshot, imagined.options, memory)
  return imagined.questions.flatMap((question, index) => {
    const [fast, plain] = [whatIf.without(question.removed, question.limits), plainly(imagined, question)].map(textOf)
    return fast === plain ? [] : [`cluster ${seed}, question ${index}:\n${fast}\n${plain}`]
  })
}

describe('what would be if nodes were gone', () => {
  const seeds = Array.from({ length: clusters }, (_, index) => first + index)
  const batches = Map.groupBy(seeds, (seed) => Math.floor((seed - first) / batch))

  it.each([...batches.values()].map((all) => [all[0], all] as const))(
    'is answered as the plain rules answer to the cluster without them, whatever was asked before, from seed %i',
    { timeout: 120_000 },
    (_, all) => {
      const memory = new SolverMemory()
      expect(all.flatMap((seed) => differences(seed, seed % 2 === 0 ? memory : undefined)).slice(0, 1)).toEqual([])
    },
  )

  it('is asked of clusters where pods move to nodes, to new claims, and nowhere', () => {
    const plans = seeds.slice(0, 300).flatMap((seed) => {
      const { snapshot, options, questions } = randomQuestions(randomCluster(seed), seed)
      const whatIf = new WhatIf(snapshot, options)
      return questions.flatMap(({ removed, limits }) => {
        const moving = new Set(removed.flatMap((removal) => removal.moving))
        const { newNodeClaims, existing, unschedulable, stopped } = whatIf.without(removed, limits)
        const some = (pods: readonly object[]) => pods.some((pod) => moving.has(pod as never))
        return [
          {
            existing: existing.some(({ pods }) => some(pods)),
            claims: newNodeClaims.some(({ pods }) => some(pods)),
            nowhere: some(unschedulable.map(({ pod }) => pod)),
            stopped,
          },
        ]
      })
    })
    for (const outcome of ['existing', 'claims', 'nowhere', 'stopped'] as const)
      expect(plans.filter((plan) => plan[outcome]).length, outcome).toBeGreaterThan(20)
  })
})
