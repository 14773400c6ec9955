// Two replicas, of which one ends in order: held to seconds, so nothing runs beside it.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { deployment, nodeClass, nodePool } from './applied-objects.ts'
import { expectWhole } from './whole.ts'
import { World } from './world.ts'

let world: World

beforeAll(async () => {
  world = await World.start()
  await world.startWithPool(nodePool({ consolidateAfter: 'Never' }), nodeClass(), deployment({ apart: true }))
})

afterAll(() => world?.stop())

test('SIGTERM of one of two replicas: the other acts within 3 s', async () => {
  const starts = async (name: string) =>
    (await world.cluster.supervisor.tail(name, 1000)).split('"msg":"started workers"').length - 1
  world.startJoiner('second')
  await world.until('the second works', async () => (await starts('second')) === 1)
  for (const [name, replicas] of [
    ['joiner', 2],
    ['second', 4],
  ] as const) {
    const seen = (await world.list('nodeclaims')).length
    await world.scale('inflate', replicas)
    const stoppedAt = Date.now()
    const ended = world.cluster.supervisor.kill(name, 'SIGTERM').then(() => Date.now() - stoppedAt)
    await world.until('a new NodeClaim', async () => (await world.list('nodeclaims')).length > seen)
    expect(Date.now() - stoppedAt).toBeLessThan(3000)
    expect(await ended).toBeLessThan(15_000)
    world.startJoiner(name)
    await world.until(`${name} works again`, async () => (await starts(name)) === 2)
    await expectWhole(world, replicas)
  }
})
