// A cluster of node auto-provisioning: its machines are left alone while it is on, and taken over node by node once it is off.
import { managing } from '../../take-over/nap-cluster.ts'
import { expectOnlyForeignLeft, napCluster, takeOver, untilRefused } from '../../take-over/take-over.ts'
import { World } from '../../world.ts'
import { afterAll, beforeAll, expect, test } from '../scenario.ts'

/** `npm run takeover` sets another number. */
const machines = Number(process.env['JOINER_TAKEOVER_MACHINES'] ?? 6)

let world: World
let left: Awaited<ReturnType<typeof napCluster>>

beforeAll(async () => {
  world = await World.start()
  left = await napCluster(world, machines)
})

afterAll(() => world?.stop())

test('while node auto-provisioning is on nothing is touched, and the AKSNodeClass says why', async () => {
  await untilRefused(world)
})

test('once it is off all machines are adopted and replaced, a crash included, and no budget is ever broken', async () => {
  const figures = await takeOver(world, left, async () => {
    await world.crash()
    world.startJoiner('joiner', managing)
  })
  console.log(JSON.stringify(figures))
  expect(figures.belowMinimum).toBe(0)
  // A tenth of the pool's nodes, rounded up; the replacements of that tenth may count among them.
  expect(figures.mostCounted).toBeLessThanOrEqual(Math.ceil(machines * 0.11))
  await expectOnlyForeignLeft(world, left.names)
})
