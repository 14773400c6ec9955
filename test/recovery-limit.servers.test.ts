// Held to 20 s, so nothing runs beside it. Other crashes are in durability.servers.test.ts.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { deployment, nodeClass, nodePool } from './applied-objects.ts'
import { expectWhole } from './whole.ts'
import { isTrue, World } from './world.ts'

const pods = 4

let world: World

beforeAll(async () => {
  world = await World.start()
  await world.startWithPool(nodePool({ consolidateAfter: 'Never' }), nodeClass(), deployment({ apart: true }))
})

afterAll(() => world?.stop())

test('kill -9 while Azure holds the answer to a create, which is then lost: Joiner acts again within 20 s', async () => {
  const startedAt = Date.now()
  await world.fault({ kind: 'latency', ms: 2000, count: pods })
  await world.fault({ kind: 'resetAfterCommit', count: pods })
  await world.scale('inflate', pods)
  const asked = async () =>
    (await world.journal()).filter(({ method, atMs }) => method === 'PUT' && atMs > startedAt).map(({ name }) => name)
  await world.until('a PUT of a VM', async () => (await asked()).length > 0)
  const killedAt = Date.now()
  await world.crash()
  world.startJoiner()
  // The VMs of the lost answers are found again and taken over: that is the next thing that Joiner does outside of itself.
  await world.until('a NodeClaim says that it launched', async () =>
    (await world.list('nodeclaims')).some((claim) => isTrue(claim, 'Launched')),
  )
  expect(Date.now() - killedAt).toBeLessThan(20_000)
  await expectWhole(world, pods)
  expect(new Set(await asked()).size).toBe(pods)
})
