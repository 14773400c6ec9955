import { expect, test } from 'vitest'
import { FakeCluster } from '../../test/fakes/cluster.ts'
import { claimJson, podJson } from '../../test/fakes/objects.ts'
import { pass, useFakeTime } from '../../test/fakes/time.ts'
import { lookAfterChanges } from './after-changes.ts'

useFakeTime()

/** Looks at NodeClaims every second. `takesMs`: how long a look takes. */
function looking(takesMs = 0) {
  const cluster = new FakeCluster()
  const startedAt = Date.now()
  const looks: number[] = []
  const state = { answer: 'done' as 'done' | 'due' }
  const end = lookAfterChanges({
    cache: cluster.cacheOf(),
    kinds: ['NodeClaim'],
    everyMs: 1000,
    look: async () => {
      looks.push(Date.now() - startedAt)
      if (takesMs > 0) await new Promise((resolve) => setTimeout(resolve, takesMs))
      return state.answer
    },
  })
  return { looks, state, end, change: (name: string) => cluster.put('nodeclaims', claimJson(name)), cluster }
}

test('looks once, and then after changes alone, of which several are one', async () => {
  const { looks, change, cluster } = looking()
  await pass(60_000)
  cluster.put('pods', podJson('a', 'n'))
  await pass(60_000)
  change('a')
  change('b')
  await pass(60_000)
  expect(looks).toEqual([1000, 121_000])
})

test('looks again as long as something is due', async () => {
  const { looks, state } = looking()
  state.answer = 'due'
  await pass(3000)
  state.answer = 'done'
  await pass(60_000)
  expect(looks).toEqual([1000, 2000, 3000, 4000])
})

test('a change that comes in the midst of a look has one of its own, after it', async () => {
  const { looks, change } = looking(5000)
  await pass(2000)
  change('a')
  await pass(60_000)
  expect(looks).toEqual([1000, 7000])
})

test('looks no more once it has ended, nor after a look that it ended in', async () => {
  const { looks, change, end } = looking(5000)
  await pass(2000)
  change('a')
  end()
  change('b')
  await pass(60_000)
  expect(looks).toEqual([1000])
})
