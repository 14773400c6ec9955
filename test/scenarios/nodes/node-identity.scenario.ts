// A node in the hands of somebody else: what it says of itself changes nothing, and its own end holds nothing up.
import { nodeClass } from '../../applied-objects.ts'
import { nodeIdentityScenario } from '../../hostile/node-identity.ts'
import { World } from '../../world.ts'
import { afterAll, beforeAll, expect, isFast, test } from '../scenario.ts'

let world: World

beforeAll(async () => {
  world = await World.start()
  world.startJoiner()
  await world.apply(nodeClass())
})

afterAll(() => world?.stop())

test('a node that lies about itself, poses as another and holds its Node is treated as any other', async () => {
  const { taken, broken } = await nodeIdentityScenario(world, { isReal: !isFast })
  expect(broken).toEqual([])
  expect(taken).toContain('lies about its node, and holds it')
})
