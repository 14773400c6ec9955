// What clients beside Joiner ask of the simulator: the Azure CLI, cloud-provider-azure, Karpenter for Azure.
import { describe, expect, test, vi } from 'vitest'
import { vmBody } from '../../simulator/sdk-clients.ts'
import { ids, subnetId } from '../../simulator/simulator-process.ts'
import { FastAzure } from './fast-azure.ts'

const subscription = `/subscriptions/${ids.subscriptionId}`
const group = `${subscription}/resourceGroups/${ids.nodeResourceGroup}`
const compute = `${group}/providers/Microsoft.Compute`
const nicPath = `${group}/providers/Microsoft.Network/networkInterfaces`

interface Answer {
  readonly status: number
  /** Of many shapes. */
  readonly body: ReturnType<typeof JSON.parse>
}

type Ask = (method: string, path: string, body?: object, version?: string) => Promise<Answer>

async function azure(settings = {}): Promise<{ readonly azure: FastAzure; readonly ask: Ask }> {
  const one = await FastAzure.start({ settings: { ...ids, subnetId, clusterName: 'demo', ...settings } })
  const ask: Ask = async (method, path, body, version = '2024-07-01') => {
    const token = await one.credential.getToken('https://management.azure.com//.default openid offline_access profile')
    const { status, text } = await one.send(method, `${path}?api-version=${version}`, {
      headers: { authorization: `Bearer ${token?.token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    return { status, body: text === '' ? undefined : JSON.parse(text) }
  }
  return { azure: one, ask }
}

/** The body of a VM's PUT as ARM takes it. */
function vm(name: string, properties: object = {}, tags: Readonly<Record<string, string>> = {}) {
  const { location, zones, hardwareProfile, storageProfile, osProfile, priority } = vmBody(name)
  const networkProfile = {
    networkInterfaceConfigurations: [
      {
        name: `${name}-nic`,
        properties: {
          primary: true,
          deleteOption: 'Delete',
          ipConfigurations: [{ name: 'ip', properties: { subnet: { id: subnetId } } }],
        },
      },
    ],
  }
  return {
    location,
    zones,
    tags,
    properties: { hardwareProfile, storageProfile, osProfile, priority, networkProfile, ...properties },
  }
}

const succeeded = (ask: Ask, path: string) =>
  vi.waitFor(async () => expect((await ask('GET', path)).body.properties.provisioningState).toBe('Succeeded'))

const nicBody = {
  location: ids.location,
  tags: { owner: 'peer' },
  properties: { ipConfigurations: [{ name: 'ip', properties: { primary: true, subnet: { id: subnetId } } }] },
}

describe('lists of a subscription', () => {
  test.each([
    ['', 'subscriptionId', ids.subscriptionId],
    ['/resourceGroups/demo-group', 'name', 'demo-group'],
    ['/providers/Microsoft.Compute', 'registrationState', 'Registered'],
  ])('GET %s', async (path, field, value) => {
    const { ask } = await azure()
    expect((await ask('GET', `${subscription}${path}`)).body[field]).toBe(value)
  })

  test('name groups, regions, providers, identities and VMs', async () => {
    const { ask } = await azure()
    await ask('PUT', `${compute}/virtualMachines/one`, vm('one'))
    const namesOf = async (path: string, version?: string) =>
      (await ask('GET', `${subscription}${path}`, undefined, version)).body.value.map(
        (one: { readonly name?: string; readonly namespace?: string }) => one.name ?? one.namespace,
      )
    expect(await namesOf('/resourceGroups')).toEqual(expect.arrayContaining([ids.nodeResourceGroup, 'demo-group']))
    expect(await namesOf('/locations')).toEqual([ids.location])
    expect(await namesOf('/providers')).toContain('Microsoft.ContainerService')
    expect(await namesOf('/providers/Microsoft.Compute/virtualMachines')).toEqual(['one'])
    const identities = '/providers/Microsoft.ManagedIdentity/userAssignedIdentities'
    expect(await namesOf(identities, '2023-01-31')).toEqual(['demo-agentpool'])
    const usages = await ask('GET', `${subscription}/providers/Microsoft.Compute/locations/${ids.location}/usages`)
    expect(
      usages.body.value.map(({ name }: { readonly name: { readonly localizedValue: string } }) => name.localizedValue),
    ).toEqual(expect.arrayContaining(['Standard DSv5 Family vCPUs', 'Standard NCASv3_T4 Family vCPUs']))
    const registered = await ask('POST', `${subscription}/providers/Microsoft.Network/register`)
    expect(registered.body.registrationState).toBe('Registered')
    expect((await ask('GET', `${subscription}/resourceGroups/none`)).body.error.code).toBe('ResourceGroupNotFound')
  })

  test('name NICs, disks and networks', async () => {
    const { ask } = await azure()
    await ask('PUT', `${compute}/virtualMachines/one`, vm('one'))
    for (const [path, name] of [
      ['Microsoft.Compute/disks', 'one-disk'],
      ['Microsoft.Network/networkInterfaces', 'one-nic'],
      ['Microsoft.Network/virtualNetworks', 'aks-vnet-12345678'],
    ])
      expect((await ask('GET', `${subscription}/providers/${path}`)).body.value).toMatchObject([{ name }])
  })

  test('agent pools are the profiles of their cluster', async () => {
    const { ask } = await azure()
    const cluster = `${subscription}/resourceGroups/demo-group/providers/Microsoft.ContainerService/managedClusters/demo`
    await ask('PUT', `${cluster}/agentPools/extra`, { properties: { mode: 'User', count: 2 } }, '2025-05-01')
    const pools = (await ask('GET', `${cluster}/agentPools`, undefined, '2022-11-01')).body.value
    const { agentPoolProfiles } = (await ask('GET', cluster, undefined, '2022-11-01')).body.properties
    const shown = (all: readonly { readonly name: string; readonly properties?: object }[]) =>
      all.map(({ name, properties, ...rest }) => ({ name, ...(properties ?? rest) }))
    expect(shown(pools).map(({ name }) => name)).toEqual(['extra', 'system'])
    expect(shown(agentPoolProfiles)).toEqual(expect.arrayContaining(shown(pools)))
    expect((await ask('GET', `${cluster}/agentPools/system`, undefined, '2022-11-01')).body.properties.mode).toBe(
      'System',
    )
    for (const name of ['extra', 'system'])
      expect((await ask('DELETE', `${cluster}/agentPools/${name}`, undefined, '2022-11-01')).status).toBe(202)
    expect((await ask('GET', `${cluster}/agentPools`, undefined, '2022-11-01')).body.value).toEqual([])
    expect((await ask('GET', cluster, undefined, '2022-11-01')).body.properties.agentPoolProfiles).toEqual([])
  })
})

test('a resource group is made, and has its tags', async () => {
  const { ask } = await azure()
  const path = `${subscription}/resourceGroups/made`
  const body = { location: ids.location, tags: { team: 'a' } }
  expect((await ask('PUT', path, body)).status).toBe(201)
  expect((await ask('PUT', path.toUpperCase(), body)).status).toBe(200)
  expect((await ask('GET', path)).body).toMatchObject({ name: 'made', tags: { team: 'a' } })
  expect((await ask('GET', `${path}/providers/Microsoft.Compute/disks`)).status).toBe(200)
  expect((await ask('PUT', `${path}-far`, { location: 'mars' })).body.error.code).toBe(
    'LocationNotAvailableForResourceGroup',
  )
})

test('a resource group is made by who may', async () => {
  const { ask } = await azure({ roles: [{ name: 'reads', actions: ['*/read'], scope: subscription }] })
  const { status, body } = await ask('PUT', `${subscription}/resourceGroups/made`, { location: ids.location })
  expect([status, body.error.code]).toEqual([403, 'AuthorizationFailed'])
  expect(body.error.message).toContain("'Microsoft.Resources/subscriptions/resourceGroups/write'")
})

test('an identity is in the directory until it is deleted, with its credentials', async () => {
  const { azure: one, ask } = await azure()
  const path = `${subscription}/resourceGroups/demo-group/providers/Microsoft.ManagedIdentity/userAssignedIdentities/own`
  const version = '2022-01-31-preview'
  const { clientId, principalId } = (await ask('PUT', path, { location: ids.location }, version)).body.properties
  const properties = { issuer: 'https://issuer/', subject: 'a', audiences: ['api://AzureADTokenExchange'] }
  await ask('PUT', `${path}/federatedIdentityCredentials/first`, { properties }, version)
  const directory = async () => {
    const token = await one.credential.getToken(one.url)
    const filter = encodeURIComponent(`servicePrincipalNames/any(c:c eq '${clientId}')`)
    const headers = { authorization: `Bearer ${token?.token}` }
    const { text } = await one.send('GET', `/v1.0/servicePrincipals?$filter=${filter}`, { headers })
    return JSON.parse(text).value
  }
  expect(await directory()).toMatchObject([{ id: principalId, appId: clientId, displayName: 'own' }])
  expect((await ask('POST', '/v1.0/directoryObjects/getByIds', { ids: [principalId] })).body.value).toMatchObject([
    { id: principalId },
  ])
  expect((await ask('DELETE', path, undefined, version)).status).toBe(200)
  expect((await ask('DELETE', path, undefined, version)).status).toBe(204)
  expect(await directory()).toEqual([])
  await ask('PUT', path, { location: ids.location }, version)
  expect((await ask('GET', `${path}/federatedIdentityCredentials`, undefined, version)).body.value).toEqual([])
})

test('a VM has the fields by which others find its disk, its image and its extensions', async () => {
  const { ask } = await azure()
  const path = `${compute}/virtualMachines/one`
  const image = '/CommunityGalleries/AKSUbuntu-38d80f77-467a-481f-a8d4-09b6d4220bd2/images/2404gen2containerd'
  const { storageProfile } = vmBody('one')
  const latest = { ...storageProfile, imageReference: { communityGalleryImageId: `${image}/versions/latest` } }
  expect((await ask('PUT', path, vm('one', { storageProfile: latest }))).status).toBe(201)
  const { body } = await ask('GET', path)
  expect(body).toMatchObject({
    etag: expect.stringMatching(/^W\//),
    properties: {
      osProfile: { secrets: [], allowExtensionOperations: true },
      storageProfile: {
        dataDisks: [],
        imageReference: { exactVersion: '202610.20.0' },
        osDisk: {
          osType: 'Linux',
          caching: 'ReadWrite',
          managedDisk: { id: `${compute}/disks/one-disk`, storageAccountType: 'Premium_LRS' },
        },
      },
    },
  })
  await succeeded(ask, path)
  const view = (await ask('GET', `${path}/instanceView`)).body
  expect(view).toMatchObject({ hyperVGeneration: 'V2', disks: [{ name: 'one-disk' }] })
  expect(view.vmAgent.statuses[0].time).toMatch(/^\d{4}-/)
  const nic = (await ask('GET', `${nicPath}/one-nic`, undefined, '2022-07-01')).body
  expect(nic.properties).toMatchObject({ macAddress: expect.stringMatching(/^00-0D-3A(-[0-9A-F]{2}){3}$/) })
  expect(nic.properties).not.toHaveProperty('deleteOption')
  expect(nic.properties.ipConfigurations[0]).toMatchObject({ id: `${nicPath}/one-nic/ipConfigurations/ip` })
  expect((await ask('GET', `${compute}/disks/one-disk`)).body).toMatchObject({
    sku: { name: 'Premium_LRS' },
    properties: { osType: 'Linux', uniqueId: expect.stringMatching(/^[0-9a-f-]{36}$/) },
  })
})

describe('a NIC that is made by itself', () => {
  const referring = (name: string, deleteOption: 'Delete' | 'Detach') =>
    vm(name, {
      networkProfile: {
        networkInterfaces: [{ id: `${nicPath}/own`, properties: { primary: true, deleteOption } }],
      },
    })

  test('is taken by the VM that refers to it, with its address, and stays or goes with it', async () => {
    const { ask } = await azure()
    for (const [deleteOption, status] of [
      ['Detach', 200],
      ['Delete', 404],
    ] as const) {
      const made = await ask('PUT', `${nicPath}/own`, nicBody, '2022-01-01')
      const address = made.body.properties.ipConfigurations[0].properties.privateIPAddress
      const path = `${compute}/virtualMachines/${deleteOption.toLowerCase()}`
      expect((await ask('PUT', path, referring('peer', deleteOption))).status).toBe(201)
      expect((await ask('GET', path)).body.properties.networkProfile.networkInterfaces).toEqual([
        { id: `${nicPath}/own`, properties: { primary: true, deleteOption } },
      ])
      const { body } = await ask('GET', `${nicPath}/own`)
      expect(body).toMatchObject({ tags: { owner: 'peer' }, properties: { virtualMachine: { id: path } } })
      expect(body.properties.ipConfigurations[0].properties.privateIPAddress).toBe(address)
      expect((await ask('DELETE', path)).status).toBe(202)
      await vi.waitFor(async () => expect((await ask('GET', path)).status).toBe(404))
      expect((await ask('GET', `${nicPath}/own`)).status).toBe(status)
    }
  })

  test('of another VM, one that is not there, and one in no subnet are refused', async () => {
    const { ask } = await azure()
    const path = (name: string) => `${compute}/virtualMachines/${name}`
    expect((await ask('PUT', path('a'), referring('a', 'Delete'))).status).toBe(404)
    await ask('PUT', `${nicPath}/own`, nicBody)
    await ask('PUT', path('a'), referring('a', 'Delete'))
    expect((await ask('PUT', path('b'), referring('b', 'Delete'))).body.error.code).toBe('NicInUse')
    expect((await ask('DELETE', `${nicPath}/own`)).body.error.code).toBe('NicInUse')
    const elsewhere = { ipConfigurations: [{ name: 'ip', properties: { subnet: { id: `${subnetId}-gone` } } }] }
    const refused = await ask('PUT', `${nicPath}/lost`, { ...nicBody, properties: elsewhere })
    expect([refused.status, refused.body.error.code]).toEqual([400, 'InvalidResourceReference'])
  })
})

describe('a VM is refused', () => {
  test.each([
    ['with 51 tags', {}, Object.fromEntries(Array.from({ length: 51 }, (_, at) => [`t${at}`, '']))],
    ['with a slash in a tag', {}, { 'a/b': '1' }],
    ['with a value of 257 characters', {}, { a: 'x'.repeat(257) }],
    ['with twins', {}, { Team: '1', team: '2' }],
  ])('%s', async (_what, properties, tags) => {
    const { ask } = await azure()
    const path = `${compute}/virtualMachines/one`
    expect((await ask('PUT', path, vm('one', properties, tags))).status).toBe(400)
    await ask('PUT', path, vm('one'))
    expect((await ask('PATCH', path, { tags })).status).toBe(400)
  })

  test.each([
    // [size, placement, GiB, security type, what the message says; undefined: accepted]
    ['Standard_D4ds_v5', 'CacheDisk', 148, undefined, undefined],
    ['Standard_D4ds_v5', 'CacheDisk', 149, undefined, 'greater than 148 GB'],
    ['Standard_D4ds_v5', 'CacheDisk', 148, 'TrustedLaunch', 'greater than 147 GB'],
    ['Standard_D4ds_v5', 'NvmeDisk', 30, undefined, 'greater than 0 GB'],
    ['Standard_D4s_v5', undefined, 30, undefined, 'VM size Standard_D4s_v5 when the DiffDiskPlacement is CacheDisk'],
  ])(
    '%s with an ephemeral disk on %s of %s GiB, %s: %s',
    async (vmSize, placement, diskSizeGB, securityType, words) => {
      const { ask } = await azure()
      const { storageProfile } = vmBody('one')
      const osDisk = { ...storageProfile?.osDisk, diskSizeGB, diffDiskSettings: { option: 'Local', placement } }
      const properties = {
        hardwareProfile: { vmSize },
        storageProfile: { ...storageProfile, osDisk },
        ...(securityType === undefined ? {} : { securityProfile: { securityType } }),
      }
      const { status, body } = await ask('PUT', `${compute}/virtualMachines/one`, vm('one', properties))
      expect([status, body.error?.code]).toEqual(words === undefined ? [201, undefined] : [409, 'NotSupported'])
      expect(body.error?.message ?? '').toContain(words ?? '')
    },
  )

  test('with more data disks than its size takes', async () => {
    const { ask } = await azure()
    const dataDisks = Array.from({ length: 5 }, (_, lun) => ({ lun, createOption: 'Empty', diskSizeGB: 4 }))
    const storageProfile = { ...vmBody('one').storageProfile, dataDisks }
    const { status, body } = await ask('PUT', `${compute}/virtualMachines/one`, vm('one', { storageProfile }))
    expect([status, body.error.code]).toEqual([409, 'OperationNotAllowed'])
    expect(body.error.message).toContain('is 4.')
  })
})

test('a refusal of a fault names the bucket', async () => {
  const { azure: one, ask } = await azure()
  await one.simulator('POST', '/faults', { kind: 'throttle', retryAfterSeconds: 7 })
  const { status, body } = await ask('PUT', `${compute}/virtualMachines/one`, vm('one'))
  expect([status, body.error.code]).toEqual([429, 'TooManyRequests'])
  expect(JSON.parse(body.error.details[0].message)).toMatchObject({ allowedRequestCount: 1500 })
})
