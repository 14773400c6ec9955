import { expect, test } from 'vitest'
import type { DisruptionPlan } from '../../../core/disruption/plan/plan.ts'
import { FakeCluster } from '../../../test/fakes/cluster.ts'
import { PlanStore } from './plan-store.ts'

const dayMs = 24 * 3_600_000

test('a new plan takes the place of one that has expired, which goes; those that have not stay', async () => {
  const cluster = new FakeCluster()
  const store = new PlanStore(cluster.client, 'joiner')
  for (const [id, now] of [
    ['0aaaaaaa', 0],
    ['1bbbbbbb', 0],
    ['2ccccccc', 1],
  ] as const)
    await store.write({ id } as DisruptionPlan, now)
  expect(await store.newId('ddddddd', dayMs)).toBe('0ddddddd')
  expect(cluster.names('configmaps')).toEqual(['joiner-plan-2'])
})
