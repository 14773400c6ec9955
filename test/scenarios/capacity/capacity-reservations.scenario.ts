// A capacity reservation group on real servers: it is filled to its count and no further, across a crash, and its nodes are demoted when it ends.
import { deployment, nodeClass, nodePool } from '../../applied-objects.ts'
import type { ArmSession } from '../../arm/arm-session.ts'
import { type Seen, World } from '../../world.ts'
import { afterAll, beforeAll, expect, test } from '../scenario.ts'

const size = 'Standard_D4s_v5'
const capacity = 3
const idLabel = 'karpenter.azure.com/capacity-reservation-id'
const typeLabel = 'karpenter.sh/capacity-type'

let world: World
let arm: ArmSession
let group: string

const reservation = (count: number) => ({ location: 'westus2', zones: ['1'], sku: { name: size, capacity: count } })

beforeAll(async () => {
  world = await World.start()
  arm = await world.arm()
  group = await arm.putCapacityGroup('suite', ['1', '2'])
  await arm.putReservation(group, 'd4', reservation(capacity))
  const annotations = { 'joiner.sh/capacity-reservation-groups': `${group},mine` }
  const reservedClass = { ...nodeClass(), metadata: { name: 'default', annotations } }
  const requirements = [
    { key: 'karpenter.azure.com/sku-family', operator: 'In', values: ['D'] },
    { key: typeLabel, operator: 'In', values: ['on-demand', 'reserved'] },
  ]
  await world.startWithPool(
    nodePool({ consolidateAfter: 'Never', requirements }),
    reservedClass,
    deployment({ apart: true, cpu: '2' }),
  )
})

afterAll(async () => {
  await arm?.close()
  await world?.stop()
})

const ofType = (objects: readonly Seen[], type: string) =>
  objects.filter(({ metadata }) => metadata.labels?.[typeLabel] === type)

async function untilCondition(status: string, message: RegExp): Promise<void> {
  await world.until(`the AKSNodeClass says ${message}`, async () => {
    await world.maintain()
    const [found] = await world.list('aksnodeclasses')
    const condition = found?.status?.conditions?.find(({ type }) => type === 'CapacityReservationsReady')
    return condition?.status === status && message.test(condition.message)
  })
}

async function untilGroupIsRead(sinceMs = 0): Promise<void> {
  await world.until('the group is read', async () => {
    const map = await world.operator.api<{ readonly data: { readonly readAt: string } }>(
      'GET',
      '/api/v1/namespaces/joiner/configmaps/joiner-reservations',
    )
    return Date.parse(map.data.readAt) > sinceMs
  })
}

test('an AKSNodeClass reports the group that it cannot use, and stays ready', async () => {
  await untilCondition('False', /^"mine" is no capacity reservation group of subscription/)
})

test('pods land on reserved VMs until the count is used, across a kill -9 during the launches; the rest is on-demand', async () => {
  await untilGroupIsRead()
  await world.timing({ createMs: 3000 })
  await world.scale('inflate', capacity + 2)
  await world.until('a VM was asked for', async () => (await world.azure()).virtualMachines.length > 0)
  await world.crash()
  world.startJoiner()
  await world.untilRunning(capacity + 2)
  const [claims, nodes] = [await world.list('nodeclaims'), await world.list('nodes')]
  for (const objects of [claims, nodes]) {
    expect([ofType(objects, 'reserved').length, ofType(objects, 'on-demand').length]).toEqual([capacity, 2])
    expect(new Set(ofType(objects, 'reserved').map(({ metadata }) => metadata.labels?.[idLabel])).size).toBe(1)
    expect(ofType(objects, 'on-demand').map(({ metadata }) => metadata.labels?.[idLabel])).toEqual([
      undefined,
      undefined,
    ])
  }
  const reserved = ofType(claims, 'reserved').map(({ metadata }) => `aks-${metadata.name}`)
  expect(await arm.vmsInCapacityGroup(group)).toEqual(reserved.sort())
  const vms = (await world.azure()).virtualMachines.filter(({ name }) => reserved.includes(name))
  expect(vms.map((vm) => [vm.size, vm.zone])).toEqual(Array.from({ length: capacity }, () => [size, '1']))
})

test('a place that is free again is used for the next pod', async () => {
  const [claim] = ofType(await world.list('nodeclaims'), 'reserved')
  await world.operator.kubectl(['delete', 'nodeclaim', claim?.metadata.name ?? ''])
  await world.until('the pod runs elsewhere', async () => {
    const names = (await world.list('nodeclaims')).map(({ metadata }) => metadata.name)
    return !names.includes(claim?.metadata.name ?? '') && (await world.running()) === capacity + 2
  })
  // Its place was taken while it drained, so its pod went to an on-demand node. Joiner knows that it is free once it has read the group again.
  await untilGroupIsRead(Date.now())
  await world.scale('inflate', capacity + 3)
  await world.untilRunning(capacity + 3)
  await world.until('the group is full again', async () => (await arm.vmsInCapacityGroup(group)).length === capacity)
})

test('nodes beyond a smaller capacity, and all nodes of a reservation that is gone, count as on-demand', async () => {
  const before = ofType(await world.list('nodeclaims'), 'reserved')
  await arm.putReservation(group, 'd4', reservation(1))
  await untilReserved(1)
  await arm.putReservation(group, 'd4', reservation(0))
  for (const { metadata } of before) await arm.leaveCapacityGroup(`aks-${metadata.name}`)
  await arm.deleteReservation(group, 'd4')
  await untilReserved(0)
  const claims = await world.list('nodeclaims')
  expect(claims.map(({ metadata }) => metadata.name)).toEqual(
    expect.arrayContaining(before.map(({ metadata }) => metadata.name)),
  )
  for (const { metadata } of [...claims, ...(await world.list('nodes'))]) {
    expect(metadata.labels?.[typeLabel]).toBe('on-demand')
    expect(metadata.labels?.[idLabel]).toBeUndefined()
  }
})

async function untilReserved(count: number): Promise<void> {
  await world.until(`${count} nodes are reserved`, async () => {
    await world.maintain()
    const [claims, nodes] = [await world.list('nodeclaims'), await world.list('nodes')]
    return ofType(claims, 'reserved').length === count && ofType(nodes, 'reserved').length === count
  })
}
