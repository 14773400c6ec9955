import { describe, expect, test } from 'vitest'
import type { NodeClass } from '../../../api/objects.ts'
import { groupId } from '../../../test/arm/fake-capacity-groups.ts'
import { azureDeps } from '../../../test/fakes/azure-deps.ts'
import { FakeCluster } from '../../../test/fakes/cluster.ts'
import { at, claimJson, condition, nodeClassJson, nodeJson } from '../../../test/fakes/objects.ts'
import { useFakeTime } from '../../../test/fakes/time.ts'
import { demoteReserved } from './demotion.ts'
import { reportGroups } from './groups-status.ts'
import { reservationId } from './reservation.ts'

useFakeTime()

const size = 'Standard_D4s_v5'
const id = reservationId({ groupId: groupId('g'), instanceType: size, zone: 'westus2-1' })
const labels = { 'karpenter.sh/capacity-type': 'reserved', 'karpenter.azure.com/capacity-reservation-id': id }
const member = {
  hardwareProfile: { vmSize: size },
  zones: ['1'],
  capacityReservation: { capacityReservationGroup: { id: groupId('g') } },
}

/** Nodes `a`, `b` and so on, launched an hour ago one after the other, in a reservation of this capacity. */
function world(names: readonly string[], capacity: number, launchedAt = -3600) {
  const cluster = new FakeCluster()
  const known = azureDeps(cluster)
  known.azure.groups.put('g', { size, zone: '1', capacity })
  for (const [index, name] of names.entries()) {
    cluster.put(
      'nodeclaims',
      claimJson(name, {
        metadata: {
          labels,
          annotations: { 'joiner.sh/capacity-reservation-group': groupId('g') },
          creationTimestamp: at(launchedAt + index),
        },
        status: { conditions: [condition('Launched', 'True', launchedAt), condition('Registered')] },
      }),
    )
    cluster.put('nodes', nodeJson(name, { metadata: { labels } }))
    known.azure.put('virtualMachines', `aks-${name}`, member)
  }
  const labelOf = (kind: 'nodeclaims' | 'nodes', name: string) =>
    cluster.object(kind, name)?.metadata.labels as Record<string, string>
  return {
    ...known,
    cluster,
    demote: () => demoteReserved(known.deps),
    /** `reserved` or `on-demand` by claim and Node; a reservation's id goes with `reserved` only. */
    bought: () =>
      names.map((name) =>
        [labelOf('nodeclaims', name), labelOf('nodes', `aks-${name}`)].map((own) => {
          const type = own?.['karpenter.sh/capacity-type']
          expect(own?.['karpenter.azure.com/capacity-reservation-id']).toBe(type === 'reserved' ? id : undefined)
          return type
        }),
      ),
  }
}

const reserved = ['reserved', 'reserved']
const onDemand = ['on-demand', 'on-demand']

describe('demotion', () => {
  test('changes nothing while the VMs are in their reservation', async () => {
    const { demote, bought } = world(['a', 'b'], 2)
    await demote()
    expect(bought()).toEqual([reserved, reserved])
  })

  test.each<[string, (one: ReturnType<typeof world>) => void]>([
    ['the group is gone', ({ azure }) => azure.groups.remove('g')],
    [
      'the reservation is gone',
      ({ azure }) => azure.groups.put('g', { size: 'Standard_D8s_v5', zone: '1', capacity: 9 }),
    ],
    [
      'the VM left the group',
      ({ azure }) => azure.put('virtualMachines', 'aks-a', { ...member, capacityReservation: {} }),
    ],
    ['the capacity was set to none', ({ azure }) => azure.groups.put('g', { size, zone: '1', capacity: 0 })],
  ])('happens to NodeClaim and Node when %s', async (_, change) => {
    const one = world(['a'], 1)
    change(one)
    await one.demote()
    expect(one.bought()).toEqual([onDemand])
    expect(one.reported.map(({ reason, about }) => [reason, about])).toEqual([
      ['CapacityReservationEnded', 'NodeClaim/a'],
    ])
    const writes: string[] = []
    one.cluster.intercept(({ verb, path }) => void (verb === 'patch' && writes.push(path)))
    await one.demote()
    expect(writes).toEqual([])
  })

  test('happens to the newest of those that are beyond the capacity, and to no more in the next pass', async () => {
    const { demote, bought } = world(['a', 'b', 'c'], 2)
    await demote()
    await demote()
    expect(bought()).toEqual([reserved, reserved, onDemand])
  })

  test('happens to no more nodes than are beyond the capacity with those of others', async () => {
    const { demote, bought, azure } = world(['a', 'b'], 2)
    azure.groups.others = 1
    await demote()
    expect(bought()).toEqual([reserved, onDemand])
  })

  test.each<[string, (one: ReturnType<typeof world>) => void]>([
    ['the group cannot be read', ({ azure }) => (azure.groups.refusal = { status: 403, code: 'AuthorizationFailed' })],
    [
      'its resource group is not found',
      ({ azure }) => (azure.groups.refusal = { status: 404, code: 'ResourceGroupNotFound' }),
    ],
    [
      'its capacity is being changed',
      ({ azure }) => azure.groups.put('g', { size, zone: '1', capacity: 0, state: 'Updating' }),
    ],
  ])('does not happen while %s', async (_, change) => {
    const one = world(['a'], 1)
    change(one)
    await one.demote()
    expect(one.bought()).toEqual([reserved])
  })

  test('of one leaves the others alone while its node leaves', async () => {
    const { demote, bought, cluster } = world(['a', 'b', 'c'], 2)
    await demote()
    const deletionTimestamp = at(-10)
    const { metadata, ...rest } = cluster.object('nodeclaims', 'c') as { metadata: object }
    cluster.put('nodeclaims', { ...rest, metadata: { ...metadata, deletionTimestamp, finalizers: ['x'] } })
    await demote()
    expect(bought()).toEqual([reserved, reserved, onDemand])
  })

  test('does not stop at a NodeClaim that cannot be changed', async () => {
    const { demote, bought, cluster, azure } = world(['a', 'b'], 2)
    azure.groups.remove('g')
    cluster.intercept(({ verb, path }) => {
      if (verb === 'patch' && path.endsWith('/nodeclaims/a')) throw new Error('a webhook forbids it')
    })
    await expect(demote()).rejects.toThrow('a webhook forbids it')
    expect(bought()).toEqual([reserved, onDemand])
  })

  test('gives Azure time to list a new VM', async () => {
    const { demote, bought, azure } = world(['a'], 1, -60)
    azure.put('virtualMachines', 'aks-a', { ...member, capacityReservation: {} })
    await demote()
    expect(bought()).toEqual([reserved])
  })

  test('of the Node is made up for after a crash that came between', async () => {
    const { demote, bought, cluster, azure } = world(['a'], 1)
    azure.groups.remove('g')
    const end = cluster.intercept(({ verb, path }) => {
      if (verb === 'patch' && path.includes('/nodes/')) throw new Error('the process dies')
    })
    await expect(demote()).rejects.toThrow('dies')
    expect(bought()).toEqual([['on-demand', 'reserved']])
    end()
    await demote()
    expect(bought()).toEqual([onDemand])
  })
})

describe('the condition of an AKSNodeClass', () => {
  function classWorld(text: string | undefined) {
    const known = world([], 1)
    const annotations = text === undefined ? {} : { 'joiner.sh/capacity-reservation-groups': text }
    known.cluster.put('aksnodeclasses', nodeClassJson('default', { metadata: { annotations } }))
    const { cache, reservations } = known.deps
    const report = async () => {
      await reservations.refresh()
      await reportGroups(known.deps, cache.nodeClasses.get('default') as NodeClass)
      return known.cluster
        .object('aksnodeclasses', 'default')
        ?.status.conditions.find(({ type }) => type === 'CapacityReservationsReady')
    }
    return { ...known, report }
  }

  test.each([
    ['a group that is there', groupId('g'), 'True', ''],
    ['a group that is not', groupId('x'), 'False', 'does not exist'],
    ['no group at all', 'mine', 'False', '"mine" is no capacity reservation group of subscription'],
  ])('for %s', async (_, text, status, message) => {
    const { report, cluster } = classWorld(text)
    const found = await report()
    expect(found).toMatchObject({ status, message: expect.stringContaining(message) })
    const ready = cluster.object('aksnodeclasses', 'default')?.status.conditions.find(({ type }) => type === 'Ready')
    expect(ready?.status).not.toBe('False')
  })

  test('is not there for a class without the annotation', async () => {
    expect(await classWorld(undefined).report()).toBeUndefined()
  })
})
