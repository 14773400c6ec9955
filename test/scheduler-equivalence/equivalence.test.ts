import { describe, expect, it } from 'vitest'
import type { Pod } from '../../core/objects.ts'
import { schedulePlainly } from '../plain-scheduler/schedule.ts'
import { schedule } from '../samples/schedule.ts'
import { answer, plainForm, type Solver, shuffled, type VectorScenario } from '../vectors/scheduling.ts'
import { randomCluster } from './random-clusters.ts'
import { batchesOf, seeds } from './seeds.ts'
import { shrunk } from './shrink.ts'

const textOf = (scenario: VectorScenario, solve?: Solver) => JSON.stringify(plainForm(answer(scenario, solve)))
/** A third of the pods in each of two groups, by their names. */
function groupsOf(pods: readonly Pod[]): ReadonlyMap<Pod, string> {
  const number = ({ metadata: { name } }: Pod) => Number(name.replaceAll(/\D/g, '')) % 3
  return new Map(pods.filter((pod) => number(pod) > 0).map((pod) => [pod, `group ${number(pod)}`]))
}

const differs = (scenario: VectorScenario) => textOf(scenario) !== textOf(scenario, schedulePlainly)

/** The first cluster that is answered differently, made as small as it can be; undefined: all are answered alike. */
function difference(all: readonly number[], isDifferent: (scenario: VectorScenario) => boolean) {
  const found = all.map(randomCluster).find(isDifferent)
  if (found === undefined) return undefined
  const { name } = found
  const scenario = shrunk(found, isDifferent)
  return { name, scenario: JSON.stringify(scenario), fast: answer(scenario), plain: answer(scenario, schedulePlainly) }
}

describe('the fast scheduler on random clusters', () => {
  it.each(batchesOf(500))(
    'answers as the plain rules do, messages included, from seed %i',
    { timeout: 120_000 },
    (_, all) => {
      expect(difference(all, differs)).toBeUndefined()
    },
  )

  it('answers as the plain rules do where some pods are to share new claims with their group alone', {
    timeout: 60_000,
  }, () => {
    const some = seeds.filter((seed) => seed % 5 === 0)
    const grouped =
      (solve: Solver): Solver =>
      (snapshot, options) =>
        solve({ ...snapshot, apart: groupsOf(snapshot.pods) }, options)
    const isDifferent = (scenario: VectorScenario) =>
      textOf(scenario, grouped(schedule)) !== textOf(scenario, grouped(schedulePlainly))
    expect(difference(some, isDifferent)).toBeUndefined()
    const changed = some.filter((seed) => {
      const scenario = randomCluster(seed)
      return textOf(scenario) !== textOf(scenario, grouped(schedule))
    })
    expect(changed.length).toBeGreaterThan(some.length / 10)
  })

  it('does not depend on the order of any list', { timeout: 60_000 }, () => {
    const some = seeds.filter((seed) => seed % 10 === 0)
    const depends = (scenario: VectorScenario) => textOf(scenario) !== textOf(shuffled(scenario, 7))
    expect(difference(some, depends)).toBeUndefined()
  })

  it('finds both pods that it can place and pods that it cannot', () => {
    const some = seeds.slice(0, 500)
    const outcomes = some.map((seed) => {
      const { newNodeClaims, existingNodes, errors } = answer(randomCluster(seed))
      return { places: newNodeClaims.length + existingNodes.length > 0, fails: Object.keys(errors).length > 0 }
    })
    const share = (wanted: (typeof outcomes)[number]) =>
      outcomes.filter(({ places, fails }) => places === wanted.places && fails === wanted.fails).length / some.length
    expect(share({ places: true, fails: true })).toBeGreaterThan(0.35)
    expect(share({ places: true, fails: false })).toBeGreaterThan(0.1)
    console.log(`${seeds.length} random clusters compared`)
  })
})
