import { expect, test } from 'vitest'
import type { DisruptionPlan } from '../../../core/disruption/plan/plan.ts'
import { FakeCluster } from '../../../test/fakes/cluster.ts'
import { PlanStore } from './plan-store.ts'

const dayMs = 24 * 3_600_000

const planOf = (id: string) => ({ version: 1, id }) as DisruptionPlan

test('a new plan takes the place of one that has expired, which goes; those that have not stay', async () => {
  const cluster = new FakeCluster()
  const store = new PlanStore(cluster.client, 'joiner')
  for (const [key, now] of [
    ['aaaaaaa', 0],
    ['bbbbbbb', 0],
    ['ccccccc', 1],
  ] as const)
    await store.keep(planOf(`0${key}`), now)
  expect(cluster.names('configmaps')).toEqual(['joiner-plan-0', 'joiner-plan-1', 'joiner-plan-2'])
  expect(await store.keep(planOf('0ddddddd'), dayMs)).toBe('0ddddddd')
  expect(cluster.names('configmaps')).toEqual(['joiner-plan-0', 'joiner-plan-2'])
})

test.each([
  ['places are free', 0],
  ['all places are taken', 8],
])('plans that are made at the same time are all kept, where %s', async (_, before) => {
  const cluster = new FakeCluster()
  const store = new PlanStore(cluster.client, 'joiner')
  for (let at = 0; at < before; at += 1) await store.keep(planOf(`0${at}eeeeee`), at)
  const ids = await Promise.all(['aaaaaaa', 'bbbbbbb', 'ccccccc'].map((key) => store.keep(planOf(`0${key}`), 100)))
  expect(new Set(ids.map((id) => id.charAt(0))).size).toBe(3)
  const stored = cluster.all('configmaps').map(({ metadata }) => metadata.annotations?.['joiner.sh/plan-id'])
  expect(stored).toEqual(expect.arrayContaining(ids))
})

test('a plan that is made again keeps its place', async () => {
  const cluster = new FakeCluster()
  const store = new PlanStore(cluster.client, 'joiner')
  await store.keep(planOf('0aaaaaaa'), 0)
  expect(await store.keep(planOf('0bbbbbbb'), 0)).toBe('1bbbbbbb')
  expect(await store.keep(planOf('0bbbbbbb'), 1)).toBe('1bbbbbbb')
  expect(cluster.names('configmaps')).toHaveLength(2)
})
