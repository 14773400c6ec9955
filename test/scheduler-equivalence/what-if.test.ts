import { describe, expect, it } from 'vitest'
import { settled, snapshotWithout } from '../../core/scheduling/settled.ts'
import type { SchedulableNode, SchedulingPlan, SchedulingSnapshot } from '../../core/scheduling/snapshot.ts'
import { SolverMemory } from '../../core/scheduling/solver/memory.ts'
import { type Removal, WhatIf } from '../../core/scheduling/what-if.ts'
import { schedulePlainly } from '../plain-scheduler/schedule.ts'
import { plainForm, resultOf } from '../vectors/scheduling.ts'
import { randomCluster } from './random-clusters.ts'
import { crowded, type Imagined, type Question, randomQuestions } from './random-removals.ts'
import { batchesOf, seeds } from './seeds.ts'

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

/** Every other cluster has its nodes several times. */
const clusterOf = (seed: number) => (seed % 2 === 0 ? randomCluster(seed) : crowded(randomCluster(seed), 4))

/** What is answered differently to the questions about a cluster. All are asked before an answer is looked at. */
function differences(seed: number, memory: SolverMemory | undefined): readonly string[] {
  const imagined = randomQuestions(clusterOf(seed), seed)
  const whatIf = new WhatIf(imagined.snapshot, imagined.options, memory)
  const plans = imagined.questions.map(({ removed, limits }) => whatIf.without(removed, limits))
  return imagined.questions.flatMap((question, index) => {
    const [fast, plain] = [plans[index] as SchedulingPlan, plainly(imagined, question)].map(textOf)
    return fast === plain ? [] : [`cluster ${seed}, question ${index}:\n${fast}\n${plain}`]
  })
}

describe('what would be if nodes were gone', () => {
  it.each(batchesOf(400))(
    'is answered as the plain rules answer to the cluster without them, whatever was asked before, from seed %i',
    { timeout: 120_000 },
    (_, all) => {
      const memory = new SolverMemory()
      expect(all.flatMap((seed) => differences(seed, seed % 4 < 2 ? memory : undefined)).slice(0, 1)).toEqual([])
    },
  )

  it('is asked of clusters where pods move to nodes, to new claims, and nowhere', { timeout: 30_000 }, () => {
    const plans = seeds.slice(0, 200).flatMap((seed) => {
      const { snapshot, options, questions } = randomQuestions(clusterOf(seed), seed)
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

  it('and decided: every pod is still somewhere, and no node has more than it has room for', {
    timeout: 30_000,
  }, () => {
    let decided = 0
    for (const seed of seeds.slice(0, 200)) {
      const { snapshot, options, questions } = randomQuestions(clusterOf(seed), seed)
      const whatIf = new WhatIf(snapshot, options)
      for (const { removed, limits } of questions) {
        const plan = whatIf.without(removed, limits)
        const after = settled(snapshot, removed, plan)
        const joined = removed.filter(({ place }) => place.joined !== undefined)
        expect(uids(after)).toEqual(
          uids({ ...snapshot, nodes: [...staying(snapshot, removed), ...joined.map(({ place }) => place)] }, removed),
        )
        const overfull = ({ available }: SchedulableNode) => Object.values(available).some(({ nano }) => nano < 0n)
        const before = new Set(snapshot.nodes.filter(overfull).map(({ name }) => name))
        expect(after.nodes.filter((node) => overfull(node) && !before.has(node.name))).toEqual([])
        decided += plan.newNodeClaims.length
      }
    }
    expect(decided).toBeGreaterThan(100)
  })
})

const staying = ({ nodes }: SchedulingSnapshot, removed: readonly Removal[]) =>
  nodes.filter((node) => removed.every(({ place }) => place !== node))

/** Every pod of a snapshot, and those that move off claims that have not joined. */
function uids({ pods, nodes, occupied = [] }: SchedulingSnapshot, removed: readonly Removal[] = []): readonly string[] {
  const all = [
    ...pods,
    ...[
      ...nodes,
      ...occupied,
      ...removed.filter(({ place }) => place.joined === undefined).map(({ moving }) => ({ pods: moving })),
    ].flatMap((one) => one.pods),
  ]
  return all.map(({ metadata }) => metadata.uid).sort()
}
