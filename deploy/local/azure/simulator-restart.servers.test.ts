// `kill -9` of the simulator in the midst of operations, and a start on the same port: nothing that was answered is lost.
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import type { AzureClient } from '../../../activities/azure/arm/client.ts'
import {
  arm,
  collect,
  credential,
  group,
  joinersClient,
  nicConfiguration,
  plainClient,
  vmBody,
} from '../../../test/simulator/sdk-clients.ts'
import { SimulatorProcess } from '../../../test/simulator/simulator-process.ts'
import type { BilledVm } from './virtual-machines/bill.ts'

let simulator: SimulatorProcess
/** The SDK retries until the simulator listens again. On a busy machine that takes longer than its default retries. */
let azure: AzureClient

beforeAll(async () => {
  simulator = await SimulatorProcess.start()
  azure = plainClient(simulator, { maxRetries: 60, maxRetryDelayInMs: 1000 })
})

afterAll(() => simulator?.stop())
afterEach(() => simulator.reset())

/** Time of an operation that ends when the test says so. */
const never = 3_600_000

const vms = () => azure.compute.virtualMachines
const quickly = { updateIntervalInMs: 50 }

async function crash(): Promise<void> {
  await simulator.kill()
  await simulator.run()
}

test('a creation goes on after the restart, and the poller that waited for it ends well', async () => {
  await simulator.timing({ createMs: 3000 })
  const poller = vms().createOrUpdate(group, 'vm', vmBody('vm'), quickly)
  await poller.submitted()
  const before = await vms().get(group, 'vm')
  const done = poller.pollUntilDone()
  await crash()
  const vm = await done
  expect(vm).toMatchObject({ vmId: before.vmId, timeCreated: before.timeCreated, provisioningState: 'Succeeded' })
})

test('a creation takes no less time for the restart, and its operation keeps its URL', async () => {
  await simulator.timing({ createMs: never })
  const poller = vms().createOrUpdate(group, 'vm', vmBody('vm'), quickly)
  await poller.submitted()
  await crash()
  expect((await poller.poll()).status).toBe('running')
  expect((await vms().get(group, 'vm')).provisioningState).toBe('Creating')
  await simulator.finish()
  expect((await poller.pollUntilDone()).provisioningState).toBe('Succeeded')
})

test('a creation that is going to fail fails after the restart, with the same code', async () => {
  await simulator.timing({ createMs: never })
  await simulator.fault({ kind: 'failAsync', code: 'ZonalAllocationFailed' })
  const poller = vms().createOrUpdate(group, 'vm', vmBody('vm'), quickly)
  await poller.submitted()
  await crash()
  await simulator.finish()
  await expect(poller.pollUntilDone()).rejects.toThrow('ZonalAllocationFailed')
  expect((await vms().get(group, 'vm')).provisioningState).toBe('Failed')
})

test('an update and a deletion go on after the restart', async () => {
  await vms().createOrUpdate(group, 'vm', vmBody('vm'))
  await simulator.timing({ updateMs: never, deleteMs: never })
  const updated = vms().update(group, 'vm', { tags: { team: 'blue' } }, quickly)
  await updated.submitted()
  await crash()
  await simulator.finish()
  expect(await updated.pollUntilDone()).toMatchObject({ provisioningState: 'Succeeded', tags: { team: 'blue' } })

  await simulator.timing({ deleteMs: never })
  const deleted = vms().delete(group, 'vm', quickly)
  await deleted.submitted()
  await crash()
  expect((await vms().get(group, 'vm')).provisioningState).toBe('Deleting')
  await simulator.finish()
  await deleted.pollUntilDone()
  expect(await simulator.state()).toEqual({ aksMachines: [], virtualMachines: [], networkInterfaces: [], disks: [] })
})

test('a VM whose PUT lost its answer to the kill is there at most once', async () => {
  const names = Array.from({ length: 20 }, (_, index) => `vm-${index}`)
  const answers = Promise.allSettled(
    names.map((name) =>
      joinersClient(simulator).compute.virtualMachines.createOrUpdate(group, name, vmBody(name)).submitted(),
    ),
  )
  await simulator.until('a VM is made', async () => (await simulator.state()).virtualMachines.length > 0)
  await crash()
  const settled = await answers
  const known = (await collect(vms().list(group))).map(({ name }) => name)
  for (const [index, answer] of settled.entries())
    if (answer.status === 'fulfilled') expect(known).toContain(names[index])
  for (const name of names) await vms().createOrUpdate(group, name, vmBody(name))
  expect((await collect(vms().list(group))).map(({ name }) => name)).toEqual([...names].sort())
})

test('what is left of a VM that is gone, and addresses, outlive the restart', async () => {
  const networkProfile = { networkInterfaceConfigurations: [nicConfiguration('gone', 'Detach')] }
  await vms().createOrUpdate(group, 'gone', { ...vmBody('gone'), networkProfile })
  await vms().createOrUpdate(group, 'one', vmBody('one'))
  await vms().delete(group, 'gone')
  await crash()
  await vms().createOrUpdate(group, 'two', vmBody('two'))
  const nics = await collect(azure.network.networkInterfaces.list(group))
  expect(nics.map(({ name }) => name)).toEqual(['gone-nic', 'one-nic', 'two-nic'])
  const ips = nics.slice(1).map(({ ipConfigurations }) => ipConfigurations?.[0]?.privateIPAddress)
  expect(new Set(ips).size).toBe(2)
  await azure.network.networkInterfaces.delete(group, 'gone-nic')
  await crash()
  expect((await simulator.state()).networkInterfaces).toEqual(['one-nic', 'two-nic'])
})

test('access tokens outlive the restart', async () => {
  const { token } = await credential(simulator).getToken('https://management.azure.com/.default')
  await crash()
  const path = `${arm('Microsoft.Compute', 'virtualMachines', 'vm')}?api-version=2026-04-01`
  expect((await simulator.send('GET', path, { token })).status).toBe(404)
})

test('the bill goes on: what was billed stays, and a VM that exists costs from when it did', async () => {
  const bill = async (names: readonly string[]) => {
    const { virtualMachines } = await simulator.admin<{ virtualMachines: readonly BilledVm[] }>('GET', '/bill')
    return names.map((name) => virtualMachines.findLast((vm) => vm.name === name))
  }
  const names = ['billed-gone', 'billed-stays']
  await Promise.all(names.map((name) => vms().createOrUpdate(group, name, vmBody(name), quickly)))
  await vms().delete(group, 'billed-gone', quickly)
  const before = await bill(names)
  expect(before).toMatchObject([
    { toMs: expect.any(Number), pricePerHour: expect.any(Number) },
    { fromMs: (await vms().get(group, 'billed-stays')).timeCreated?.getTime() },
  ])
  await crash()
  expect(await bill(names)).toEqual(before)
})
