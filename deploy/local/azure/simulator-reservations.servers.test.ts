// Capacity reservation groups, as Joiner's SDK clients see them.
import { afterEach, describe, expect, test } from 'vitest'
import { simulatedAzure } from '../../../test/simulated-azure.ts'
import { arm, collect, group, vmBody } from '../../../test/simulator/sdk-clients.ts'
import { ids } from '../../../test/simulator/simulator-process.ts'

const { simulator, azure } = await simulatedAzure({ roles: ['Contributor'] })
const { capacityReservationGroups: groups, capacityReservations: reservations, virtualMachines: vms } = azure.compute
const quickly = { updateIntervalInMs: 20 }
const groupId = arm('Microsoft.Compute', 'capacityReservationGroups', 'crg')
const sku = (capacity: number, name = 'Standard_D2s_v5') => ({
  location: ids.location,
  zones: ['1'],
  sku: { name, capacity },
})
const inGroup = { capacityReservation: { capacityReservationGroup: { id: groupId } } }

const make = async (capacity: number) => {
  await groups.createOrUpdate(group, 'crg', { location: ids.location, zones: ['1', '2'] })
  await reservations.createOrUpdate(group, 'crg', 'r', sku(capacity), quickly)
}
const create = (name: string, changes = {}) =>
  vms.createOrUpdate(group, name, vmBody(name, { ...inGroup, ...changes }), quickly)
const refusal = (work: Promise<unknown>) =>
  work.then(undefined, (error: unknown) => error as { code: string; statusCode: number })
const view = async () => {
  const { instanceView, virtualMachinesAssociated } = await groups.get(group, 'crg', { expand: 'instanceView' })
  const [one] = instanceView?.capacityReservations ?? []
  const names = (list: readonly { readonly id?: string }[] = []) => list.map(({ id }) => id?.split('/').at(-1))
  return [names(one?.utilizationInfo?.virtualMachinesAllocated), names(virtualMachinesAssociated)]
}

afterEach(async () => {
  await simulator.admin('POST', '/settings', { quotas: {}, pools: [] })
  await simulator.reset()
  for await (const { name = '' } of reservations.listByCapacityReservationGroup(group, 'crg'))
    await reservations.delete(group, 'crg', name, quickly)
  await groups.delete(group, 'crg')
})

describe('a capacity reservation', () => {
  test('takes VMs that name its group, and others beyond its capacity: Azure overallocates', async () => {
    await make(1)
    await create('one')
    await create('two')
    await vms.createOrUpdate(group, 'none', vmBody('none'), quickly)
    expect(await view()).toEqual([
      ['one', 'two'],
      ['one', 'two'],
    ])
    const [listed] = await collect(reservations.listByCapacityReservationGroup(group, 'crg'))
    expect(listed).toMatchObject({ name: 'r', sku: { capacity: 1 }, zones: ['1'], provisioningState: 'Succeeded' })
  })

  test('keeps room and quota for its VMs, and for no more', async () => {
    await make(1)
    await simulator.admin('POST', '/settings', {
      quotas: { standardDSv5Family: 2 },
      pools: [{ sku: 'Standard_D2s_v5', vms: 1, full: { how: 'sync' } }],
    })
    expect(await refusal(vms.createOrUpdate(group, 'other', vmBody('other')).submitted())).toMatchObject({
      code: 'OperationNotAllowed',
    })
    expect(await create('one')).toMatchObject({ provisioningState: 'Succeeded' })
    expect(await refusal(create('two').submitted())).toMatchObject({ code: 'OperationNotAllowed' })
    await simulator.admin('POST', '/settings', { quotas: {} })
    expect(await refusal(create('two').submitted())).toMatchObject({ code: 'ZonalAllocationFailed' })
  })

  test.each([
    ['another zone', { zones: ['2'] }, 409],
    ['another size', { hardwareProfile: { vmSize: 'Standard_D4s_v5' } }, 409],
    ['spot', { priority: 'Spot', evictionPolicy: 'Delete' }, 400],
    ['a group that is not there', { capacityReservation: { capacityReservationGroup: { id: `${groupId}x` } } }, 404],
  ])('refuses %s', async (_, changes, statusCode) => {
    await make(1)
    expect(await refusal(create('vm', changes).submitted())).toMatchObject({ statusCode })
  })

  test('is deleted only once no VM is associated, and VMs leave once its capacity is 0', async () => {
    await make(1)
    await create('one')
    const leave = () =>
      vms.update(group, 'one', { capacityReservation: { capacityReservationGroup: { id: null as never } } }, quickly)
    expect(await refusal(Promise.resolve(leave()))).toMatchObject({ code: 'OperationNotAllowed' })
    expect(await refusal(reservations.delete(group, 'crg', 'r', quickly).submitted())).toMatchObject({
      code: 'OperationNotAllowed',
    })
    await reservations.update(group, 'crg', 'r', { sku: { capacity: 0 } }, quickly)
    await leave()
    expect(await view()).toEqual([[], []])
    expect(await refusal(groups.delete(group, 'crg'))).toMatchObject({ code: 'OperationNotAllowed' })
    await reservations.delete(group, 'crg', 'r', quickly)
    await groups.delete(group, 'crg')
    expect(await refusal(groups.get(group, 'crg'))).toMatchObject({ statusCode: 404, code: 'ResourceNotFound' })
    await groups.createOrUpdate(group, 'crg', { location: ids.location })
  })
})
