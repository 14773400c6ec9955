// The simulator under the SDK clients that Joiner uses, unmodified: VMs with what belongs to them, lists, and ARM's refusals.
import { afterEach, describe, expect, test } from 'vitest'
import { cloudInitDocument } from '../../../activities/azure/node-config/custom-data.ts'
import { simulatedAzure } from '../../../test/simulated-azure.ts'
import { arm, collect, credential, group, nicConfiguration, vmBody } from '../../../test/simulator/sdk-clients.ts'
import { ids, subnetId } from '../../../test/simulator/simulator-process.ts'

const { simulator, azure } = await simulatedAzure({ pageSize: 2 })

afterEach(() => simulator.reset())

/** Time of an operation that ends when the test says so. */
const never = 3_600_000

const vms = () => azure.compute.virtualMachines
const create = (name: string, changes = {}) =>
  vms().createOrUpdate(group, name, vmBody(name, changes), { updateIntervalInMs: 50 })

describe('a virtual machine', () => {
  test('is created by a long-running operation, with its NIC and disk', async () => {
    await simulator.timing({ createMs: never })
    const poller = create('vm')
    await poller.submitted()
    expect((await vms().get(group, 'vm')).provisioningState).toBe('Creating')
    await simulator.finish()
    const created = await poller.pollUntilDone()

    expect(created).toMatchObject({
      id: arm('Microsoft.Compute', 'virtualMachines', 'vm'),
      provisioningState: 'Succeeded',
      location: 'westus2',
      zones: ['1'],
      tags: { owner: 'vm' },
      hardwareProfile: { vmSize: 'Standard_D2s_v5' },
    })
    expect(created.vmId).toMatch(/^[0-9a-f-]{36}$/)
    expect(created.timeCreated).toBeInstanceOf(Date)
    expect(created.osProfile?.customData).toBeUndefined()
    expect(created.networkProfile?.networkInterfaces?.map(({ id }) => id)).toEqual([
      arm('Microsoft.Network', 'networkInterfaces', 'vm-nic'),
    ])
    const nic = await azure.network.networkInterfaces.get(group, 'vm-nic')
    expect(nic).toMatchObject({ tags: { owner: 'vm' }, virtualMachine: { id: created.id } })
    expect(nic.ipConfigurations?.[0]?.subnet?.id).toBe(subnetId)
    expect(nic.ipConfigurations?.[0]?.privateIPAddress).toMatch(/^10\.224\./)
    const disk = await azure.compute.disks.get(group, 'vm-disk')
    expect(disk).toMatchObject({ diskSizeGB: 128, diskState: 'Attached', managedBy: created.id })
  })

  test('shows its power and provisioning states in its instance view only when asked', async () => {
    await create('vm')
    expect((await vms().get(group, 'vm')).instanceView).toBeUndefined()
    await simulator.happen('vm', 'stop')
    const view = (await vms().get(group, 'vm', { expand: 'instanceView' })).instanceView
    expect(view?.statuses?.map(({ code }) => code)).toEqual(['ProvisioningState/succeeded', 'PowerState/stopped'])
  })

  test('takes new tags by PATCH, which is a long-running operation', async () => {
    await create('vm')
    await simulator.timing({ updateMs: never })
    const poller = vms().update(group, 'vm', { tags: { team: 'blue' } }, { updateIntervalInMs: 50 })
    await poller.submitted()
    expect((await vms().get(group, 'vm')).provisioningState).toBe('Updating')
    await simulator.finish()
    expect(await poller.pollUntilDone()).toMatchObject({ provisioningState: 'Succeeded', tags: { team: 'blue' } })
    expect((await vms().get(group, 'vm')).tags).toEqual({ team: 'blue' })
  })

  test('is the same VM after the same PUT', async () => {
    const first = await create('vm')
    const second = await create('vm')
    expect(second.vmId).toBe(first.vmId)
    expect((await simulator.state()).virtualMachines).toHaveLength(1)
  })

  test('is deleted with its NIC and disk', async () => {
    await create('vm')
    await simulator.timing({ deleteMs: never })
    const poller = vms().delete(group, 'vm', { forceDeletion: true, updateIntervalInMs: 50 })
    await poller.submitted()
    expect((await vms().get(group, 'vm')).provisioningState).toBe('Deleting')
    await simulator.finish()
    await poller.pollUntilDone()
    expect(await simulator.state()).toEqual({ aksMachines: [], virtualMachines: [], networkInterfaces: [], disks: [] })
    await expect(azure.network.networkInterfaces.get(group, 'vm-nic')).rejects.toMatchObject({ statusCode: 404 })
    await expect(azure.compute.disks.get(group, 'vm-disk')).rejects.toMatchObject({ statusCode: 404 })
    // Deleting what is not there is a success.
    await vms().delete(group, 'vm')
  })

  test('leaves a NIC whose delete option is Detach, to be deleted by itself', async () => {
    await create('vm', { networkProfile: { networkInterfaceConfigurations: [nicConfiguration('vm', 'Detach')] } })
    await expect(azure.network.networkInterfaces.delete(group, 'vm-nic')).rejects.toMatchObject({ code: 'NicInUse' })
    await vms().delete(group, 'vm', { updateIntervalInMs: 50 })
    const nics = await collect(azure.network.networkInterfaces.list(group))
    expect(nics.map(({ name, virtualMachine }) => ({ name, virtualMachine }))).toEqual([{ name: 'vm-nic' }])
    await azure.network.networkInterfaces.delete(group, 'vm-nic')
    expect(await collect(azure.network.networkInterfaces.list(group))).toEqual([])
  })

  test('is looked at before it is made or refused: what no node must be given is told by its place', async () => {
    const labels = { a: 'x\nKUBELET_FLAGS=--v=9', b: 'fine' }
    const customData = cloudInitDocument({ kubelet_config: { kubelet_node_labels: labels } })
    const osProfile = { adminUsername: 'azureuser', computerName: 'vm', customData }
    await create('clean')
    await create('vm', { osProfile })
    await expect(create('vm2', { osProfile, location: 'atlantis' })).rejects.toThrow()
    const path = 'kubelet_config.kubelet_node_labels.a'
    expect(await simulator.admin('GET', '/violations')).toEqual([
      { vm: 'vm', path },
      { vm: 'vm2', path },
    ])
  })

  test('can be deleted while it is created: the creation is canceled', async () => {
    await simulator.timing({ createMs: never })
    const poller = create('vm')
    await poller.submitted()
    await vms().delete(group, 'vm', { updateIntervalInMs: 50 })
    await expect(poller.pollUntilDone()).rejects.toThrow('canceled')
    expect((await simulator.state()).virtualMachines).toEqual([])
  })
})

describe('a paged list', () => {
  const names = ['vm-a', 'vm-b', 'vm-c', 'vm-d', 'vm-e']

  test('comes in pages of the size that is set, and whole', async () => {
    for (const name of names) await create(name)
    const sizes: number[] = []
    for await (const page of vms().list(group).byPage()) sizes.push(page.length)
    expect(sizes).toEqual([2, 2, 1])
    expect((await collect(vms().list(group))).map(({ name }) => name)).toEqual(names)
    expect(await collect(azure.network.networkInterfaces.list(group))).toHaveLength(5)
  })

  test('misses no VM when others are deleted between two pages', async () => {
    for (const name of names) await create(name)
    const seen: (string | undefined)[] = []
    for await (const page of vms().list(group).byPage()) {
      seen.push(...page.map(({ name }) => name))
      await vms().delete(group, seen[0] ?? '', { updateIntervalInMs: 50 })
    }
    expect(seen).toEqual(names)
  })
})

describe('what an AKS cluster has', () => {
  test('load balancers, network security group and subnet', async () => {
    const balancers = await collect(azure.network.loadBalancers.list(group))
    expect(balancers.map(({ name }) => name)).toEqual(['kubernetes', 'kubernetes-internal'])
    const pools = (await azure.network.loadBalancers.get(group, 'kubernetes')).backendAddressPools
    expect(pools?.map(({ name }) => name)).toEqual(['kubernetes', 'aksOutboundBackendPool'])
    const [nsg] = await collect(azure.network.networkSecurityGroups.list(group))
    expect(nsg?.name).toMatch(/^aks-agentpool-\d{8}-nsg$/)
    expect((await azure.network.subnets.get(group, 'aks-vnet-12345678', 'aks-subnet')).id).toBe(subnetId)
    await expect(azure.network.subnets.get(group, 'aks-vnet-12345678', 'other')).rejects.toMatchObject({
      statusCode: 404,
      code: 'NotFound',
    })
  })

  test('images of the community galleries', async () => {
    const list = (gallery: string, image: string) =>
      collect(azure.compute.communityGalleryImageVersions.list(ids.location, gallery, image))
    const versions = await list('AKSUbuntu-38d80f77-467a-481f-a8d4-09b6d4220bd2', '2404gen2containerd')
    expect(versions.at(-1)?.publishedDate).toBeInstanceOf(Date)
    await expect(list('AKSUbuntu-38d80f77-467a-481f-a8d4-09b6d4220bd2', 'V3gen2')).rejects.toMatchObject({
      code: 'ResourceNotFound',
    })
  })

  test('sizes of its region only, and usages that count what runs', async () => {
    const skus = (location: string) => collect(azure.compute.resourceSkus.list({ filter: `location eq '${location}'` }))
    expect((await skus('westus2')).length).toBeGreaterThan(100)
    expect(await skus('eastus')).toEqual([])
    await create('vm')
    await create('spot', { priority: 'Spot', evictionPolicy: 'Delete' })
    const usages = await collect(azure.compute.usage.list(ids.location))
    const used = (name: string) => usages.find((usage) => usage.name.value === name)?.currentValue
    expect([used('cores'), used('standardDSv5Family'), used('lowPriorityCores')]).toEqual([2, 2, 2])
  })
})

describe('a refusal has code, status and the name of the thing', () => {
  test.each([
    ['an unknown size', { hardwareProfile: { vmSize: 'Standard_Nothing' } }, 400, 'InvalidParameter'],
    ['another region', { location: 'eastus' }, 400, 'LocationNotAvailableForResourceType'],
    [
      'an image that is not published',
      { storageProfile: { imageReference: { communityGalleryImageId: '/CommunityGalleries/g/images/i/versions/1' } } },
      404,
      'GalleryImageNotFound',
    ],
    [
      'a subnet that is not there',
      {
        networkProfile: {
          networkInterfaceConfigurations: [
            { ...nicConfiguration('vm'), ipConfigurations: [{ name: 'ip', subnet: { id: `${subnetId}-other` } }] },
          ],
        },
      },
      400,
      'InvalidResourceReference',
    ],
  ])('%s', async (_what, changes, statusCode, code) => {
    await expect(create('vm', changes).submitted()).rejects.toMatchObject({ name: 'RestError', statusCode, code })
    expect((await simulator.state()).virtualMachines).toEqual([])
  })

  test.each([
    ['vmSize', { hardwareProfile: { vmSize: 'Standard_D4s_v5' } }, 'PropertyChangeNotAllowed'],
    ['zones', { zones: ['2'] }, 'PropertyChangeNotAllowed'],
    ['priority', { priority: 'Spot' }, 'PropertyChangeNotAllowed'],
    [
      'osProfile.customData',
      { osProfile: { adminUsername: 'azureuser', computerName: 'vm', customData: 'b3RoZXI=' } },
      'PropertyChangeNotAllowed',
    ],
    ['location', { location: 'eastus' }, 'InvalidResourceLocation'],
  ])('PUT that changes %s', async (property, changes, code) => {
    await create('vm')
    const error = await create('vm', changes)
      .submitted()
      .then(undefined, (reason: unknown) => reason)
    expect(error).toMatchObject({ statusCode: 409, code })
    expect(String(error)).toContain(property)
  })

  test('PUT and PATCH of a VM that is being deleted', async () => {
    await create('vm')
    await simulator.timing({ deleteMs: never })
    await vms().delete(group, 'vm').submitted()
    const refused = { statusCode: 409, code: 'OperationNotAllowed' }
    await expect(create('vm').submitted()).rejects.toMatchObject(refused)
    await expect(vms().update(group, 'vm', { tags: {} }).submitted()).rejects.toMatchObject(refused)
  })

  test('a disk whose name is taken', async () => {
    await create('one')
    const { storageProfile } = vmBody('one')
    await expect(create('two', { storageProfile }).submitted()).rejects.toMatchObject({
      statusCode: 409,
      code: 'ConflictingUserInput',
    })
  })

  test('a VM that is not there', async () => {
    const error = await vms()
      .get(group, 'gone')
      .then(undefined, (reason: unknown) => reason)
    expect(error).toMatchObject({ statusCode: 404, code: 'ResourceNotFound' })
    expect(String(error)).toContain(
      "Microsoft.Compute/virtualMachines/gone' under resource group 'MC_test_joiner_westus2'",
    )
    await expect(vms().update(group, 'gone', { tags: {} }).submitted()).rejects.toMatchObject({
      code: 'ResourceNotFound',
    })
  })

  test('another region, resource group or subscription, and no api-version', async () => {
    await expect(collect(azure.compute.usage.list('eastus'))).rejects.toMatchObject({
      statusCode: 400,
      code: 'NoRegisteredProviderFound',
    })
    await expect(collect(vms().list('other'))).rejects.toMatchObject({ statusCode: 404, code: 'ResourceGroupNotFound' })
    const { token } = await credential(simulator).getToken('https://management.azure.com/.default')
    const vm = arm('Microsoft.Compute', 'virtualMachines', 'vm')
    expect(await simulator.send('GET', vm, { token })).toMatchObject({
      status: 400,
      body: { error: { code: 'MissingApiVersionParameter' } },
    })
    expect(await simulator.send('GET', `${vm}?api-version=2030-01-01`, { token })).toMatchObject({
      status: 400,
      body: { error: { code: 'NoRegisteredProviderFound', message: expect.stringContaining('2025-04-01') as string } },
    })
    const elsewhere = `${vm.replace(ids.subscriptionId, ids.tenantId)}?api-version=2026-04-01`
    expect(await simulator.send('GET', elsewhere, { token })).toMatchObject({
      status: 404,
      body: { error: { code: 'SubscriptionNotFound' } },
    })
  })
})

describe('the security type', () => {
  /** How a subscription answers the PUT of a VM: its security profile afterwards, or the refusal. */
  const put = async (version: string, securityProfile?: object) => {
    const { location, zones, hardwareProfile, storageProfile, networkProfile } = vmBody('vm')
    const { token } = await credential(simulator).getToken('https://management.azure.com/.default')
    const nics = [
      { name: 'vm-nic', properties: { ipConfigurations: [{ name: 'ip', properties: { subnet: { id: subnetId } } }] } },
    ]
    const body = {
      location,
      zones,
      properties: {
        hardwareProfile,
        storageProfile,
        networkProfile: { ...networkProfile, networkInterfaceConfigurations: nics },
        ...(securityProfile === undefined ? {} : { securityProfile }),
      },
    }
    const path = `${arm('Microsoft.Compute', 'virtualMachines', 'vm')}?api-version=${version}`
    const answer = (await simulator.send('PUT', path, { token, body })) as { status: number; body: SecurityAnswer }
    return { status: answer.status, said: answer.body.error ?? answer.body.properties?.securityProfile }
  }
  interface SecurityAnswer {
    readonly error?: object
    readonly properties?: { readonly securityProfile?: object }
  }
  const standard = { securityType: 'Standard' }
  const refused = {
    code: 'InvalidParameter',
    message: 'The value of parameter securityProfile.securityType is invalid.',
    target: 'securityProfile.securityType',
    innererror: { internalErrorCode: 'ParameterValueInvalid' },
  }
  const trusted = { securityType: 'TrustedLaunch', uefiSettings: { secureBootEnabled: true, vTpmEnabled: true } }
  const feature = 'Microsoft.Compute/UseStandardSecurityType'

  test.each<[string, string, string[], object | undefined, object]>([
    ['Standard with an old version', '2025-04-01', [], standard, { status: 400, said: refused }],
    ['none with an old version', '2025-04-01', [], undefined, { status: 201, said: undefined }],
    [
      'Standard with an old version and the feature',
      '2025-04-01',
      [feature],
      standard,
      { status: 201, said: standard },
    ],
    ['Standard with a new version', '2025-11-01', [], standard, { status: 201, said: standard }],
    ['none with a new version', '2025-11-01', [], undefined, { status: 201, said: trusted }],
  ])('%s', async (_what, version, features, securityProfile, expected) => {
    await simulator.admin('POST', '/settings', { features })
    expect(await put(version, securityProfile)).toEqual(expected)
    await simulator.admin('POST', '/settings', { features: [] })
  })
})

describe('Resource Graph', () => {
  const ask = async (query: string, options = {}) => {
    const { token } = await credential(simulator).getToken('https://management.azure.com/.default')
    const path = '/providers/Microsoft.ResourceGraph/resources?api-version=2024-04-01'
    const body = { query, subscriptions: [ids.subscriptionId], options: { resultFormat: 'objectArray', ...options } }
    const answer = await simulator.send('POST', path, { token, body })
    return answer as { status: number; body: { data: { name: string; id: string }[]; $skipToken?: string } }
  }

  test('finds VMs and NICs by tag, page by page', async () => {
    for (const name of ['vm-a', 'vm-b', 'vm-c']) {
      const tags = { 'karpenter.sh_nodepool': 'default' }
      const networkProfile = { networkInterfaceConfigurations: [{ ...nicConfiguration(name), tags }] }
      await create(name, { tags, networkProfile })
    }
    await create('other')
    const query = (type: string) =>
      `Resources | where type == "microsoft.${type}" | where resourceGroup == "${group.toLowerCase()}" | where tags has_cs "karpenter.sh_nodepool" | where not(tags has_cs "karpenter.azure.com_aksmachine_nodeclaim")`
    const first = await ask(query('compute/virtualmachines'))
    expect(first.body.data.map(({ name }) => name)).toEqual(['vm-a', 'vm-b'])
    const second = await ask(query('compute/virtualmachines'), { $skipToken: first.body.$skipToken })
    expect(second.body.data.map(({ name }) => name)).toEqual(['vm-c'])
    expect(second.body.$skipToken).toBeUndefined()
    const nics = await ask(
      `${query('network/networkinterfaces')} | where tags['karpenter.sh_nodepool'] == 'default' | project id, name`,
    )
    expect(nics.body.data[0]).toEqual({
      id: arm('Microsoft.Network', 'networkInterfaces', 'vm-a-nic'),
      name: 'vm-a-nic',
    })
  })

  test('refuses a query that it cannot read', async () => {
    expect(await ask('Resources | summarize count()')).toMatchObject({
      status: 400,
      body: { error: { code: 'InvalidQuery' } },
    })
  })
})
