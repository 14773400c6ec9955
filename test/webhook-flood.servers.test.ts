import { afterAll, beforeAll, expect, test } from 'vitest'
import { deployment, nodeClass, nodePool } from './applied-objects.ts'
import { flood } from './webhook-flood/flood.ts'
import { World } from './world.ts'

let world: World

beforeAll(async () => {
  world = await World.start()
  // One process with all roles: what reaches its webhook is as near to its planner as it can be.
  world.startJoiner()
  await world.apply(nodePool({ consolidateAfter: 'Never' }), nodeClass(), deployment({ apart: true }))
  await world.untilReady('general')
})

afterAll(() => world?.stop())

test('a flood of the webhook for 10 s ends no process, and pods get their nodes meanwhile', async () => {
  const { restarts, podSeconds, conversionMs, peakRssMiB, done, ...rest } = await flood(world, ['joiner'], 10_000)
  console.log(JSON.stringify({ restarts, podSeconds, conversions: conversionMs.length, peakRssMiB, done, ...rest }))
  expect(restarts).toBe(0)
  expect(podSeconds.length).toBeGreaterThanOrEqual(1)
  expect(conversionMs.length).toBeGreaterThanOrEqual(1)
  expect(peakRssMiB['joiner']).toBeLessThan(1536)
  // It was a flood: everything was tried, and refused for what it was.
  for (const refused of ['63 MB to a wrong path: ', 'a wrong path: ', '63 MB to the right path: ', '600,000 objects: '])
    expect(Object.keys(done).filter((what) => what.startsWith(refused))).not.toEqual([])
  expect(done['idle connections closed']).toBeGreaterThan(100)
})
