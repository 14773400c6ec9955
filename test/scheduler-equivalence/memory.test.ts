import { expect, it } from 'vitest'
import { SolverMemory } from '../../core/scheduling/solver/memory.ts'
import { schedule } from '../samples/schedule.ts'
import { answer, plainForm } from '../vectors/scheduling.ts'
import { randomCluster } from './random-clusters.ts'
import { seeds } from './seeds.ts'

it('one memory through hundreds of clusters, each planned twice, changes no answer', { timeout: 300_000 }, () => {
  const memory = new SolverMemory()
  const changed = seeds.map(randomCluster).filter((cluster) => {
    const fresh = JSON.stringify(plainForm(answer(cluster)))
    const remembering = plainForm(
      answer(cluster, (snapshot, options) => {
        schedule(snapshot, options, memory)
        return schedule(snapshot, options, memory)
      }),
    )
    return JSON.stringify(remembering) !== fresh
  })
  expect(changed.map(({ name }) => name)).toEqual([])
})
