// 5,000 VMs at a time through HTTP: made, listed in pages, and deleted; a restart reads them all again.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { arm, credential, vmBody } from '../../../test/simulator/sdk-clients.ts'
import { SimulatorProcess } from '../../../test/simulator/simulator-process.ts'

const count = 5000
const connections = 32
const collection = arm('Microsoft.Compute', 'virtualMachines', '').slice(0, -1)

let simulator: SimulatorProcess
let token: string

beforeAll(async () => {
  simulator = await SimulatorProcess.start()
  const access = await credential(simulator).getToken('https://management.azure.com/.default')
  token = access.token
})

afterAll(() => simulator?.stop())

const name = (index: number) => `vm-${String(index).padStart(4, '0')}`

/** As ARM takes it: properties below `properties`, and custom data of the length that a node's has. */
function body(vm: string): string {
  const { location, tags, zones, networkProfile, osProfile, ...properties } = vmBody(vm)
  const [nic] = networkProfile?.networkInterfaceConfigurations ?? []
  const { name: nicName, ipConfigurations = [], ...rest } = nic ?? { name: '' }
  const configurations = ipConfigurations.map(({ name: ipName, ...ip }) => ({ name: ipName, properties: ip }))
  return JSON.stringify({
    location,
    tags,
    zones,
    properties: {
      ...properties,
      osProfile: { ...osProfile, customData: 'x'.repeat(12_000) },
      networkProfile: {
        networkInterfaceConfigurations: [{ name: nicName, properties: { ...rest, ipConfigurations: configurations } }],
      },
    },
  })
}

/** Sends one request for each VM over a few connections. Prints and returns how many a second. */
async function each(what: string, method: 'PUT' | 'DELETE', status: number): Promise<number> {
  const started = performance.now()
  let next = 0
  const work = async () => {
    for (let index = next++; index < count; index = next++) {
      const vm = name(index)
      const path = `${collection}/${vm}?api-version=2026-04-01`
      const answer = await simulator.raw(method, path, { token, ...(method === 'PUT' ? { body: body(vm) } : {}) })
      expect(answer).toBe(status)
    }
  }
  await Promise.all(Array.from({ length: connections }, work))
  const perSecond = Math.round(count / ((performance.now() - started) / 1000))
  console.log(`${what}: ${perSecond} requests/s`)
  return perSecond
}

async function list(): Promise<readonly string[]> {
  const started = performance.now()
  const names: string[] = []
  let path: string | undefined = `${collection}?api-version=2026-04-01`
  while (path !== undefined) {
    const { body: page } = await simulator.send('GET', path, { token })
    const { value, nextLink } = page as { value: { name: string }[]; nextLink?: string }
    names.push(...value.map((vm) => vm.name))
    path = nextLink === undefined ? undefined : nextLink.slice(simulator.url.length)
  }
  console.log(`list of ${names.length}: ${Math.round(performance.now() - started)} ms`)
  return names
}

test('5,000 VMs are made, listed, kept over a restart, and deleted', { timeout: 100_000 }, async () => {
  const expected = Array.from({ length: count }, (_, index) => name(index))
  expect(await each('PUT', 'PUT', 201)).toBeGreaterThan(100)
  await simulator.until('all are made', async () => (await simulator.state()).virtualMachines.every(isMade))
  expect(await list()).toEqual(expected)
  const { rssMib } = await simulator.admin<{ rssMib: number }>('GET', '/process')
  console.log(`memory with ${count} VMs: ${rssMib} MiB`)
  expect(rssMib).toBeLessThan(1500)
  await simulator.kill()
  const restarted = performance.now()
  await simulator.run()
  console.log(`restart: ${Math.round(performance.now() - restarted)} ms`)
  expect(await list()).toEqual(expected)
  expect(await each('DELETE', 'DELETE', 202)).toBeGreaterThan(100)
  await simulator.until('all are gone', async () => (await simulator.state()).virtualMachines.length === 0)
  expect(await simulator.state()).toEqual({ aksMachines: [], virtualMachines: [], networkInterfaces: [], disks: [] })
})

const isMade = ({ state }: { readonly state: string }) => state === 'Succeeded'
