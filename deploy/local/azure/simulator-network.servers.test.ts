// Networks, refusals in Azure's words, extensions, boot diagnostics and the lag of Resource Graph, as the SDK clients see them.
import type { ResourceSku } from '@azure/arm-compute'
import type { RestError } from '@azure/core-rest-pipeline'
import { afterEach, describe, expect, test } from 'vitest'
import { simulatedAzure } from '../../../test/simulated-azure.ts'
import { arm, collect, credential, group, nicConfiguration, vmBody } from '../../../test/simulator/sdk-clients.ts'
import { ids, subnetId } from '../../../test/simulator/simulator-process.ts'
import type { Fault } from './admin/fault-shape.ts'
import type { LiveSettings } from './admin/settings.ts'

const { simulator, azure } = await simulatedAzure()

afterEach(async () => {
  await set({ network: {}, nicReservationMs: 0, graphLagMs: 0, extensionMs: 0 })
  await simulator.reset()
  await simulator.admin('DELETE', '/leftovers')
})

const set = (settings: LiveSettings) => simulator.admin('POST', '/settings', settings)
const vms = () => azure.compute.virtualMachines
const quickly = { updateIntervalInMs: 20 }
const create = (name: string, changes = {}) => vms().createOrUpdate(group, name, vmBody(name, changes), quickly)
const network = 'aks-vnet-12345678'

async function refusal(work: PromiseLike<unknown>): Promise<RestError> {
  return work.then(
    () => Promise.reject(new Error('it was not refused')),
    (error: unknown) => error as RestError,
  )
}

/** A VM with so many secondary addresses. */
function withAddresses(name: string, count: number, subnet = subnetId) {
  const nic = nicConfiguration(name)
  const secondary = Array.from({ length: count }, (_, index) => ({ name: `${name}-${index}`, subnet: { id: subnet } }))
  const [first] = nic.ipConfigurations
  return {
    networkProfile: {
      networkApiVersion: '2022-11-01',
      networkInterfaceConfigurations: [
        { ...nic, ipConfigurations: [{ ...first, name: 'first', subnet: { id: subnet } }, ...secondary] },
      ],
    },
  }
}

describe('a subnet', () => {
  const small = { virtualNetworks: [{ name: network, subnets: [{ name: 'aks-subnet', prefix: '10.1.0.0/28' }] }] }

  test('that is full refuses a VM with all its addresses, until others are released', async () => {
    await set({ network: small })
    await create('six', withAddresses('six', 5))
    expect(await refusal(create('more', withAddresses('more', 5)).submitted())).toMatchObject({
      statusCode: 400,
      code: 'SubnetIsFull',
      message: expect.stringContaining(
        'with address prefix 10.1.0.0/28 does not have enough capacity for 6 IP addresses',
      ),
    })
    const [usage] = await collect(azure.network.virtualNetworks.listUsage(group, network))
    expect(usage).toMatchObject({ id: subnetId, currentValue: 6, limit: 11 })
    expect((await azure.network.subnets.get(group, network, 'aks-subnet')).ipConfigurations).toHaveLength(6)
    await vms().delete(group, 'six', quickly)
    await create('more', withAddresses('more', 5))
    const nic = await azure.network.networkInterfaces.get(group, 'more-nic')
    const addresses = nic.ipConfigurations?.map(({ privateIPAddress }) => privateIPAddress)
    expect(new Set(addresses).size).toBe(6)
    for (const address of addresses ?? []) expect(address).toMatch(/^10\.1\.0\.\d+$/)
  })

  test('may be one of several, in networks of other resource groups', async () => {
    const virtualNetworks = [
      {
        name: network,
        subnets: [
          { name: 'aks-subnet', prefix: '10.1.0.0/24' },
          { name: 'gpu', prefix: '10.1.1.0/24' },
        ],
      },
      {
        name: 'hub',
        resourceGroup: 'shared',
        resourceGuid: 'a-guid',
        subnets: [{ name: 'one', prefix: '10.9.0.0/24' }],
      },
    ]
    await set({ network: { virtualNetworks } })
    expect(await azure.network.virtualNetworks.get('shared', 'hub')).toMatchObject({ resourceGuid: 'a-guid' })
    const { id = '' } = await azure.network.subnets.get('shared', 'hub', 'one')
    await create('vm', withAddresses('vm', 0, id))
    const nic = await azure.network.networkInterfaces.get(group, 'vm-nic')
    expect(nic.ipConfigurations?.[0]?.privateIPAddress).toMatch(/^10\.9\.0\./)
  })
})

test('a backend pool that vanished refuses VMs that refer to it', async () => {
  await set({ network: { loadBalancers: [{ name: 'kubernetes', backendPools: ['other'] }] } })
  expect(await refusal(create('vm').submitted())).toMatchObject({
    statusCode: 400,
    code: 'InvalidResourceReference',
    message: expect.stringContaining('/backendAddressPools/kubernetes referenced by resource'),
  })
  await set({ network: {} })
  await create('vm')
})

test('the NIC of a VM that failed is kept for it for a while, and then can be deleted', async () => {
  await set({ nicReservationMs: 1500 })
  await simulator.fault({ kind: 'failAsync', code: 'ZonalAllocationFailed' })
  await refusal(create('vm').pollUntilDone())
  await vms().delete(group, 'vm', quickly)
  const nics = azure.network.networkInterfaces
  const refused = await refusal(nics.delete(group, 'vm-nic'))
  expect(refused).toMatchObject({ statusCode: 400, code: 'NicReservedForAnotherVm' })
  expect(refused.message).toContain(`Reserved VM: ${arm('Microsoft.Compute', 'virtualMachines', 'vm')}`)
  expect(await refusal(create('vm').submitted())).toMatchObject({ code: 'NicReservedForAnotherVm' })
  await simulator.until('the NIC can be deleted', () => nics.delete(group, 'vm-nic').then(() => true))
  expect((await simulator.state()).networkInterfaces).toEqual([])
})

describe('a refusal that is asked for comes in the words of its code', () => {
  const cases: readonly (readonly [Fault, object, string])[] = [
    [
      { kind: 'failSync', code: 'AuthorizationFailed' },
      { statusCode: 403, code: 'AuthorizationFailed' },
      "does not have authorization to perform action 'Microsoft.Compute/virtualMachines/write' over scope '/subscriptions/",
    ],
    [
      { kind: 'failSync', code: 'RequestDisallowedByPolicy' },
      { statusCode: 403, code: 'RequestDisallowedByPolicy' },
      "Resource 'vm' was disallowed by policy.",
    ],
    [
      { kind: 'failSync', code: 'MissingSubscriptionRegistration' },
      { statusCode: 409 },
      "not registered to use namespace 'Microsoft.Compute'",
    ],
  ]
  test.each(cases)('%o', async (fault, expected, words) => {
    await simulator.fault(fault)
    const error = await refusal(create('vm').submitted())
    expect(error).toMatchObject(expected)
    expect(error.message).toContain(words)
  })

  test('a policy names itself in additionalInfo', async () => {
    await simulator.fault({ kind: 'failSync', operation: 'GET virtualMachines', code: 'RequestDisallowedByPolicy' })
    const { token } = await credential(simulator).getToken('https://management.azure.com/.default')
    const path = `${arm('Microsoft.Compute', 'virtualMachines', 'vm')}?api-version=2026-04-01`
    expect(await simulator.send('GET', path, { token })).toMatchObject({
      status: 403,
      body: { error: { additionalInfo: [{ type: 'PolicyViolation', info: { policyDefinitionEffect: 'deny' } }] } },
    })
  })

  test('a fault that says too little is refused', async () => {
    await expect(simulator.fault({ kind: 'failSync' } as unknown as Fault)).rejects.toThrow('code is missing: add it')
    await expect(simulator.fault({ kind: 'nonsense' } as unknown as Fault)).rejects.toThrow('use one of failSync')
  })
})

describe('an extension', () => {
  const extensions = () => azure.compute.virtualMachineExtensions
  const billing = {
    location: ids.location,
    publisher: 'Microsoft.AKS',
    typePropertiesType: 'Compute.AKS.Linux.Billing',
    typeHandlerVersion: '1.0',
    protectedSettings: { commandToExecute: 'a secret' },
  }

  test('is put, read, tagged, listed and deleted', async () => {
    await create('vm')
    const made = await extensions().createOrUpdate(group, 'vm', 'billing', billing, quickly)
    expect(made).toMatchObject({ name: 'billing', publisher: 'Microsoft.AKS', provisioningState: 'Succeeded' })
    expect(JSON.stringify(made)).not.toContain('secret')
    await extensions().update(group, 'vm', 'billing', { tags: { team: 'blue' } }, quickly)
    expect((await extensions().get(group, 'vm', 'billing')).tags).toEqual({ team: 'blue' })
    expect((await extensions().list(group, 'vm')).value).toHaveLength(1)
    const view = (await vms().get(group, 'vm', { expand: 'instanceView' })).instanceView
    expect(view?.extensions?.[0]?.statuses?.[0]?.code).toBe('ProvisioningState/succeeded')
    expect(view?.vmAgent?.statuses?.[0]?.displayStatus).toBe('Ready')
    await extensions().delete(group, 'vm', 'billing', quickly)
    expect(await refusal(extensions().get(group, 'vm', 'billing'))).toMatchObject({ statusCode: 404 })
  })

  test('fails when that is asked for, and says so in the instance view', async () => {
    await create('vm')
    await simulator.fault({ kind: 'failExtension', code: 'VMExtensionProvisioningError', message: 'exit 50' })
    const work = extensions().createOrUpdate(group, 'vm', 'billing', billing, quickly).pollUntilDone()
    expect((await refusal(work)).message).toContain('VMExtensionProvisioningError')
    const view = (await vms().get(group, 'vm', { expand: 'instanceView' })).instanceView
    expect(view?.extensions?.[0]?.statuses?.[0]).toMatchObject({ level: 'Error', message: 'exit 50' })
  })

  test('needs its VM', async () => {
    const work = extensions().createOrUpdate(group, 'gone', 'billing', billing).submitted()
    expect(await refusal(work)).toMatchObject({ statusCode: 404, code: 'ParentResourceNotFound' })
  })
})

test('boot diagnostics are a link to the serial log that needs no token', async () => {
  await simulator.fault({ kind: 'neverJoins' })
  await create('mute')
  const { serialConsoleLogBlobUri = '' } = await vms().retrieveBootDiagnosticsData(group, 'mute')
  const { pathname, search } = new URL(serialConsoleLogBlobUri)
  expect(await simulator.text(`${pathname}${search}`)).toContain('kubelet.service: never started')
  expect(await simulator.text(`${pathname}${search}x`)).toContain('AuthenticationFailed')
})

test('Resource Graph learns of VMs and of their end so much later, lists do not', async () => {
  const lagMs = 1500
  await set({ graphLagMs: lagMs })
  const { token } = await credential(simulator).getToken('https://management.azure.com/.default')
  const query = 'Resources | where type == "microsoft.compute/virtualmachines"'
  const known = async () => {
    const path = '/providers/Microsoft.ResourceGraph/resources?api-version=2024-04-01'
    const { body } = await simulator.send('POST', path, { token, body: { query } })
    return (body as { data: { name: string }[] }).data.map(({ name }) => name)
  }
  await create('vm')
  expect((await collect(vms().list(group))).map(({ name }) => name)).toEqual(['vm'])
  expect(await known()).toEqual([])
  await simulator.until('the graph knows it', async () => (await known()).length === 1)
  await vms().delete(group, 'vm', quickly)
  expect(await known()).toEqual(['vm'])
  await simulator.until('the graph forgets it', async () => (await known()).length === 0)
})

test('node image versions and disk encryption sets are listed', async () => {
  const { token } = await credential(simulator).getToken('https://management.azure.com/.default')
  const path = `/subscriptions/${ids.subscriptionId}/providers/Microsoft.ContainerService/locations/${ids.location}/nodeImageVersions?api-version=2025-01-01`
  const { body } = await simulator.send('GET', path, { token })
  const { value } = body as { value: readonly ResourceSku[] }
  expect(value).toContainEqual({
    fullName: 'AKSUbuntu-2204gen2fipsTLcontainerd-202610.20.0',
    os: 'AKSUbuntu',
    sku: '2204gen2fipsTLcontainerd',
    version: '202610.20.0',
  })
  const id = arm('Microsoft.Compute', 'diskEncryptionSets', 'own-key').replace(group, 'keys')
  await set({ diskEncryptionSets: [id] })
  expect((await azure.compute.diskEncryptionSets.get('keys', 'own-key')).id).toBe(id)
  await simulator.fault({ kind: 'failSync', operation: 'GET diskEncryptionSets', code: 'AuthorizationFailed' })
  expect(await refusal(azure.compute.diskEncryptionSets.get('keys', 'own-key'))).toMatchObject({ statusCode: 403 })
})
