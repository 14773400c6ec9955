import { deployment, nodeClass, nodePool, type PoolOptions } from '../../applied-objects.ts'
import { type Seen, World } from '../../world.ts'
import { afterAll, beforeAll, describe, expect, test } from '../scenario.ts'

const classes = '/apis/karpenter.azure.com/v1beta1/aksnodeclasses'
const finalizer = 'karpenter.azure.com/termination'
const hash = 'karpenter.azure.com/aksnodeclass-hash'
const hashVersion = 'karpenter.azure.com/aksnodeclass-hash-version'

type Calls = Readonly<Record<string, number>>

let world: World

beforeAll(async () => {
  world = await World.start()
  world.startJoiner()
})

afterAll(() => world?.stop())

async function find(kind: 'aksnodeclasses' | 'nodeclaims', name: string): Promise<Seen | undefined> {
  return (await world.list(kind)).find(({ metadata }) => metadata.name === name)
}

async function condition(name: string, type: string) {
  return (await find('aksnodeclasses', name))?.status?.conditions?.find((found) => found.type === type)
}

/** Waits for a condition to have a reason. */
function untilReason(name: string, type: string, reason: string) {
  return world.until(`${type} of ${name} has the reason ${reason}`, async () => {
    const found = await condition(name, type)
    return found?.reason === reason && found
  })
}

const family = [{ key: 'karpenter.azure.com/sku-family', operator: 'In', values: ['D'] }]

/** A node of its own for a pool and its class; the name of the claim. */
async function claimOf(name: string, requirements: PoolOptions['requirements'] = family): Promise<string> {
  await world.apply(nodeClass(name), nodePool({ name, nodeClass: name, consolidateAfter: 'Never', requirements }))
  await world.untilReady(name)
  await world.apply(deployment({ name, replicas: 1, nodeSelector: { 'karpenter.sh/nodepool': name } }))
  await world.until(`the pod of ${name} runs`, async () => (await world.running(name)) === 1)
  const claims = (await world.list('nodeclaims')).filter(
    ({ metadata }) => metadata.labels?.['karpenter.sh/nodepool'] === name,
  )
  expect(claims).toHaveLength(1)
  return claims[0]?.metadata.name ?? ''
}

test('an AKSNodeClass in use stays until its last NodeClaim is gone, and says for which it waits', async () => {
  const claim = await claimOf('leaving')
  expect((await find('aksnodeclasses', 'leaving'))?.metadata.finalizers).toEqual([finalizer])
  await world.operator.kubectl(['delete', 'aksnodeclass', 'leaving', '--wait=false'])
  const reported = await world.until('the event that says what is waited for', async () =>
    (await world.list('events')).find(({ reason }) => reason === 'WaitingOnNodeClaimTermination'),
  )
  expect(reported.message).toBe(`Waiting on NodeClaim termination for ${claim}`)
  const waiting = await find('aksnodeclasses', 'leaving')
  expect(waiting?.metadata.deletionTimestamp).toBeDefined()
  expect(waiting?.metadata.finalizers).toEqual([finalizer])
  await world.operator.kubectl(['delete', 'deployment', 'leaving'])
  await world.operator.kubectl(['delete', 'nodepool', 'leaving'])
  await world.operator.kubectl(['delete', 'nodeclaim', claim, '--ignore-not-found', '--wait=false'])
  await world.until('the claim is gone', async () => (await find('nodeclaims', claim)) === undefined)
  // Without the poke the next look would be up to three minutes away.
  await world.until('the class is gone', async () => (await find('aksnodeclasses', 'leaving')) === undefined, 20_000)
})

test('an AKSNodeClass that nothing uses goes at once', async () => {
  await world.apply(nodeClass('unused'))
  await untilReason('unused', 'Ready', 'Ready')
  await world.operator.kubectl(['delete', 'aksnodeclass', 'unused', '--timeout=20s'])
  expect(await find('aksnodeclasses', 'unused')).toBeUndefined()
})

test('claims of a class whose hash is of another version are stamped again', async () => {
  const claim = await claimOf('rehashed')
  const before = (await find('nodeclaims', claim))?.metadata.annotations ?? {}
  expect(before[hash]).toMatch(/^\d+$/)
  expect(before['karpenter.azure.com/in-place-update-hash']).toMatch(/^\d+$/)
  const outdated = { metadata: { annotations: { [hash]: '1', [hashVersion]: 'v2' } } }
  await world.operator.api('PATCH', `/apis/karpenter.sh/v1/nodeclaims/${claim}`, outdated)
  await world.operator.api('PATCH', `${classes}/rehashed`, { ...outdated, spec: { osDiskSizeGB: 64 } })
  const stamped = await world.until('the class has the new version', async () => {
    const annotations = (await find('aksnodeclasses', 'rehashed'))?.metadata.annotations ?? {}
    return annotations[hashVersion] === before[hashVersion] && annotations
  })
  const after = (await find('nodeclaims', claim))?.metadata.annotations ?? {}
  expect(after[hashVersion]).toBe(before[hashVersion])
  // Hashes of two versions cannot be compared, so the claim takes the class' hash as it is now, whatever it was made from.
  expect(after[hash]).toBe(stamped[hash])
  expect(after[hash]).not.toBe(before[hash])
})

test('a class that asks for managed OS disks has its nodes replaced, whose OS disks were on their hosts', async () => {
  const arm = await world.arm()
  const type = { key: 'node.kubernetes.io/instance-type', operator: 'In', values: ['Standard_D8s_v3'] }
  const claim = await claimOf('disks', [type])
  const local = { caching: 'ReadOnly', diffDiskSettings: { option: 'Local', placement: 'CacheDisk' } }
  expect((await arm.vm(`aks-${claim}`)).properties.storageProfile.osDisk).toMatchObject(local)
  await world.operator.api('PATCH', `${classes}/disks`, { spec: { osDiskType: 'Managed' } })
  await world.until('the node is replaced', async () => (await find('nodeclaims', claim)) === undefined)
  await world.until('the pod runs again', async () => (await world.running('disks')) === 1)
  const vms = (await world.azure()).virtualMachines.filter(({ name }) => name.startsWith('aks-disks-'))
  expect(vms).toHaveLength(1)
  const { osDisk } = (await arm.vm(vms[0]?.name ?? '')).properties.storageProfile
  expect(osDisk).toMatchObject({ diskSizeGB: 128 })
  expect(osDisk).not.toHaveProperty('diffDiskSettings')
  await arm.close()
})

describe('the tags', () => {
  const name = 'tagged'
  const tags = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`t${at}`, 'x']))
  const puts = async () => (await world.operator.simulator<Calls>('GET', '/calls'))['PUT virtualMachines']

  test('that are too many with those of Joiner leave the class not ready before anything is asked of Azure', async () => {
    const before = await puts()
    await world.apply(
      { ...nodeClass(name), spec: { tags: tags(45) } },
      nodePool({ name, nodeClass: name, consolidateAfter: 'Never' }),
      deployment({ name, replicas: 1, nodeSelector: { 'karpenter.sh/nodepool': name } }),
    )
    const found = await untilReason(name, 'ValidationSucceeded', 'TagsInvalid')
    expect(found.status).toBe('False')
    expect(found.message).toMatch(/45 of spec\.tags and 6 of Joiner's.*remove 1 of "t0"/)
    await untilReason(name, 'Ready', 'UnhealthyDependents')
    expect(await puts()).toBe(before)
    await world.operator.api('PATCH', `${classes}/${name}`, { spec: { tags: { t44: null } } })
    await world.until('the pod runs', async () => (await world.running(name)) === 1)
    const vms = (await world.azure()).virtualMachines.filter((vm) => vm.name.startsWith(`aks-${name}-`))
    expect(vms.map((vm) => Object.keys(vm.tags).length)).toEqual([50])
  })

  test('whose names differ by case from those of the settings are not sent, and the nodes stay as they are', async () => {
    const tagged = async () => (await world.azure()).virtualMachines.find((vm) => vm.name.startsWith(`aks-${name}-`))
    const ofVm = (await tagged())?.name ?? ''
    const patches = async () =>
      (await world.operator.simulator<Readonly<Record<string, Calls>>>('GET', '/calls/vms'))[ofVm]?.[
        'PATCH virtualMachines'
      ] ?? 0
    const before = await patches()
    await world.cluster.supervisor.stop('joiner')
    world.startJoiner('joiner', { ADDITIONAL_TAGS: 'Owner=them,T1=y' })
    const found = await untilReason(name, 'ValidationSucceeded', 'TagsInvalid')
    expect(found.message).toContain('"t1", "T1" of azure.additionalTags')
    await world.operator.api('PATCH', `${classes}/${name}`, { spec: { tags: { t1: null, t2: null, t3: null } } })
    await untilReason(name, 'Ready', 'Ready')
    await world.until('the VM has the tags of both', async () => {
      const vm = await tagged()
      return vm?.tags['Owner'] === 'them' && vm.tags['T1'] === 'y' && !('t1' in vm.tags)
    })
    expect((await tagged())?.name).toBe(ofVm)
    expect(await patches()).toBe(before + 1)
  })
})

describe('the subnet', () => {
  const id = (vnet: string, subnet: string) =>
    `/subscriptions/00000000-0000-4000-8000-000000000001/resourceGroups/MC_local_joiner_westus2/providers/Microsoft.Network/virtualNetworks/${vnet}/subnets/${subnet}`

  test.each([
    ['another-vnet', id('mine', 'nodes'), /virtual network "mine"/],
    ['other-case', id('AKS-VNET-12345678', 'aks-subnet'), /case matters/],
    ['managed-vnet', id('aks-vnet-12345678', 'nodes'), /AKS manages/],
  ])('%s is refused by its id', async (name, vnetSubnetID, why) => {
    await world.apply({ ...nodeClass(name), spec: { vnetSubnetID } })
    const found = await untilReason(name, 'SubnetsReady', 'SubnetIDInvalid')
    expect(found.status).toBe('False')
    expect(found.message).toMatch(why)
    await untilReason(name, 'Ready', 'UnhealthyDependents')
    await world.operator.kubectl(['delete', 'aksnodeclass', name])
  })

  test('that cannot be read leaves the class not known to be ready, and all else is looked at', async () => {
    await world.fault({
      kind: 'failSync',
      operation: 'GET subnets',
      status: 500,
      code: 'InternalServerError',
      message: 'the network is out of order',
      count: 1000,
    })
    await world.apply(nodeClass('unread'))
    const found = await untilReason('unread', 'SubnetsReady', 'SubnetUnknownError')
    expect(found.status).toBe('Unknown')
    await untilReason('unread', 'ImagesReady', 'ImagesReady')
    await untilReason('unread', 'Ready', 'ReconcilingDependents')
    await world.operator.simulator('DELETE', '/faults')
    await untilReason('unread', 'Ready', 'Ready')
  })

  test('of a process whose own network has no such subnet does not exist', async () => {
    await world.cluster.supervisor.stop('joiner')
    world.startJoiner('joiner', { VNET_SUBNET_ID: id('mine', 'nodes') })
    await world.apply(nodeClass('missing'))
    const found = await untilReason('missing', 'SubnetsReady', 'SubnetNotFound')
    expect(found.status).toBe('False')
    expect(found.message).toContain('does not exist')
  })
})
