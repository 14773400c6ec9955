// AKS machines whose VMs Azure takes back before their Nodes have joined: AKS does not notice, so its machines still succeed.
import { deployment, nodeClass, nodePool } from '../../applied-objects.ts'
import { addMachinesPool, makingMachines } from '../../arm/machines-mode.ts'
import { machinesOf } from '../../take-over/nap-cluster.ts'
import { World } from '../../world.ts'
import { afterEach, beforeEach, expect, fastTest } from '../scenario.ts'

let world: World

beforeEach(async () => {
  world = await World.start({ cloud: 'instant' })
  await addMachinesPool(world)
  world.startJoiner('joiner', makingMachines)
  await world.apply(nodePool({ consolidateAfter: 'Never' }), nodeClass(), deployment({ apart: true }))
  await world.untilReady('general')
})

afterEach(() => world?.stop())

const minute = 60_000

/** Has a machine made that Joiner asked for before it was killed, and of which it does not know. */
async function madeUnknown() {
  await world.fault({ kind: 'latency', operation: 'PUT machines', ms: 5000, count: 1 })
  await world.scale('inflate', 1)
  const calls = () => world.operator.simulator<Readonly<Record<string, number>>>('GET', '/calls')
  // The first one made the pool, which has that name.
  await world.until('AKS has the PUT', async () => ((await calls())['PUT machines'] ?? 0) > 1)
  await world.crash()
  return made()
}

async function made() {
  const [machine = expect.unreachable()] = await world.until('a machine is made', async () => {
    const machines = await machinesOf(world)
    return machines.length > 0 && machines
  })
  return machine
}

const takeBack = (vm: string) => world.operator.simulator('POST', `/vms/${vm}/delete`)

fastTest(
  'the VM of a machine that Azure takes back while it boots is made again long before the registration limit',
  async () => {
    await world.timing({ bootMs: 30_000 })
    await world.scale('inflate', 1)
    const machine = await made()
    await takeBack(machine.vm)
    await world.untilRunning(1, 4 * minute)
    expect((await world.list('nodeclaims')).map(({ metadata }) => metadata.name)).toEqual([machine.name])
    await world.scale('inflate', 0)
    await world.operator.kubectl(['delete', 'nodeclaim', '--all', '--wait=false'])
    await world.untilNothingLeft()
    expect(await machinesOf(world)).toEqual([])
  },
)

fastTest('a machine whose VM was taken back while nobody looked is not taken for the launch that made it', async () => {
  await world.timing({ bootMs: 30_000 })
  await takeBack((await madeUnknown()).vm)
  world.startJoiner('joiner', makingMachines)
  await world.untilRunning(1, 4 * minute)
})

fastTest('nor is the Node of such a VM registered for the next one, which has the same name', async () => {
  const { vm } = await madeUnknown()
  await world.until('its Node has joined', async () => (await world.list('nodes')).length === 1)
  await world.timing({ bootMs: 60_000 })
  await takeBack(vm)
  world.startJoiner('joiner', makingMachines)
  await world.untilRunning(1, 4 * minute)
  expect((await world.list('nodes')).map(({ metadata }) => metadata.name)).toEqual([vm])
})
