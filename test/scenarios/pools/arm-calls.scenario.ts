import { measureNodeCalls } from '../../arm/arm-calls.ts'
import { shippedRoles } from '../../arm/joiner-roles.ts'
import { World } from '../../world.ts'
import { afterAll, beforeAll, expect, test } from '../scenario.ts'

const nodes = 20
/** The shared list's shortest interval, and VMs on one page of the simulator. */
const pollMs = 500
const pageSize = 100

let world: World

beforeAll(async () => {
  world = await World.start()
  await world.operator.simulator('POST', '/settings', { roles: shippedRoles })
  await world.startWithNodeClass()
})

afterAll(() => world?.stop())

test(`${nodes} nodes cost one PUT, one DELETE, a GET before each and one that proves the end; all else is shared`, async () => {
  // A drain looks at the VM of a Node that is not ready, which would be one GET more.
  const { launch, deletion } = await measureNodeCalls(world, nodes, { until: 'Initialized', limitMs: 90_000 })
  console.log(JSON.stringify({ launch, deletion }))
  expect(launch.mostOfOneVm).toEqual({ 'PUT virtualMachines': 1, 'GET virtualMachines': 1 })
  expect(deletion.mostOfOneVm).toEqual({ 'DELETE virtualMachines': 1, 'GET virtualMachines': 2 })
  for (const { vmListPages, elapsedMs } of [launch, deletion]) {
    const polls = Math.ceil(elapsedMs / pollMs) + 1
    expect(vmListPages).toBeLessThanOrEqual(polls * Math.ceil(nodes / pageSize))
  }
})
