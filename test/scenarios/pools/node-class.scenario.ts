import { deployment, nodeClass, nodePool } from '../../applied-objects.ts'
import { type Seen, World } from '../../world.ts'
import { afterAll, beforeAll, describe, expect, test } from '../scenario.ts'

const classes = '/apis/karpenter.azure.com/v1beta1/aksnodeclasses'
const finalizer = 'karpenter.azure.com/termination'
const hash = 'karpenter.azure.com/aksnodeclass-hash'
const hashVersion = 'karpenter.azure.com/aksnodeclass-hash-version'

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

/** A node of its own for a pool and its class; the name of the claim. */
async function claimOf(name: string): Promise<string> {
  const requirements = [{ key: 'karpenter.azure.com/sku-family', operator: 'In', values: ['D'] }]
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
