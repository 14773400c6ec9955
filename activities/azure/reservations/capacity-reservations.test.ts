import { describe, expect, test, vi } from 'vitest'
import type { NodeClass } from '../../../api/objects.ts'
import { capacityTypeOf, type Offering, zoneOf } from '../../../core/instance-type.ts'
import type { NodeClaim } from '../../../core/objects.ts'
import { groupId } from '../../../test/arm/fake-capacity-groups.ts'
import { azureDeps } from '../../../test/fakes/azure-deps.ts'
import { FakeCluster } from '../../../test/fakes/cluster.ts'
import { claimJson, condition, nodeClassJson } from '../../../test/fakes/objects.ts'
import { pass, useFakeTime } from '../../../test/fakes/time.ts'
import { reservationIn } from '../capacity/choose-offering.ts'
import type { KeptAnswer } from '../catalogue/durable-document.ts'
import { CapacityReservations } from './capacity-reservations.ts'
import { type ReservationGroup, reservationId } from './reservation.ts'

type Stored = KeptAnswer<readonly ReservationGroup[]>

useFakeTime()

const d4 = { size: 'Standard_D4s_v5', zone: '1', capacity: 3 }
const d4Id = reservationId({ groupId: groupId('g'), instanceType: d4.size, zone: 'westus2-1' })
const annotations = { 'joiner.sh/capacity-reservation-groups': groupId('g') }

function world() {
  const cluster = new FakeCluster()
  cluster.put('aksnodeclasses', nodeClassJson('default', { metadata: { annotations } }))
  const known = azureDeps(cluster)
  known.azure.groups.put('g', d4)
  const { reservations, catalogue, cache } = known.deps
  const nodeClass = () => cache.nodeClasses.get('default') as NodeClass
  return {
    ...known,
    cluster,
    reservations,
    nodeClass,
    free: () => reservations.offeredTo(nodeClass()).map(({ id, free }) => [id, free]),
    offerings: () =>
      catalogue
        .instanceTypesFor(nodeClass())
        .flatMap(({ name, offerings }) => offerings.map((offering) => ({ name, offering })))
        .filter(({ offering }) => capacityTypeOf(offering) === 'reserved'),
  }
}

const member = {
  hardwareProfile: { vmSize: d4.size },
  zones: ['1'],
  capacityReservation: { capacityReservationGroup: { id: groupId('g') } },
}

const asking = (name: string) =>
  claimJson(name, {
    metadata: { labels: { 'karpenter.sh/nodepool': 'default' } },
    spec: { requirements: [{ key: 'karpenter.azure.com/capacity-reservation-id', operator: 'In', values: [d4Id] }] },
    status: { nodeName: undefined, providerID: undefined, conditions: [] },
  })

const launchedIn = (name: string) =>
  claimJson(name, {
    metadata: {
      labels: { 'karpenter.sh/capacity-type': 'reserved', 'karpenter.azure.com/capacity-reservation-id': d4Id },
      annotations: { 'joiner.sh/capacity-reservation-group': groupId('g') },
    },
  })

describe('what a reservation has free', () => {
  test('is its capacity less the VMs in it, of this cluster and of others', async () => {
    const { azure, reservations, free } = world()
    azure.put('virtualMachines', 'somebodys', member)
    azure.groups.others = 1
    await reservations.refresh()
    expect(free()).toEqual([[d4Id, 1]])
  })

  test('is read again after the clock was set back, and what was read before counts no more', async () => {
    const { azure, reservations, free } = world()
    const rightMs = Date.now()
    vi.setSystemTime(rightMs + 31 * 86_400_000)
    await reservations.refresh()
    reservations.choose('a', d4Id)
    vi.setSystemTime(rightMs)
    expect(free()).toEqual([])
    azure.groups.others = 1
    await reservations.refresh()
    expect(free()).toEqual([[d4Id, 2]])
  })

  test('is below none when Azure overallocates: a VM less makes no room', async () => {
    const { azure, reservations, free } = world()
    azure.groups.others = 7
    await reservations.refresh()
    expect(free()).toEqual([[d4Id, -4]])
    expect(reservations.hasRoom(d4Id, 'a')).toBe(false)
  })

  test('counts a NodeClaim from its creation on, and once when Azure lists its VM too', async () => {
    const { azure, cluster, reservations, free } = world()
    await reservations.refresh()
    cluster.put('nodeclaims', asking('a'))
    expect(free()).toEqual([[d4Id, 2]])
    cluster.put('nodeclaims', launchedIn('a'))
    expect(free()).toEqual([[d4Id, 2]])
    azure.put('virtualMachines', 'aks-a', member)
    await reservations.refresh()
    expect(free()).toEqual([[d4Id, 2]])
  })

  test('does not count the NodeClaim that is being launched against itself', async () => {
    const { cluster, azure, reservations } = world()
    azure.groups.others = 2
    await reservations.refresh()
    cluster.put('nodeclaims', asking('a'))
    expect([reservations.hasRoom(d4Id, 'a'), reservations.hasRoom(d4Id, 'b')]).toEqual([true, false])
    expect(reservations.hasRoom('unknown', 'a')).toBe(false)
  })

  test.each([
    ['is being made', { ...d4, state: 'Creating' }, 3],
    ['has capacity 0', { ...d4, capacity: 0 }, 0],
    ['is regional', { ...d4, zone: '0' }, 3],
  ])('of a reservation that %s', async (_, reservation, expected) => {
    const { azure, reservations, free } = world()
    azure.groups.put('g', reservation)
    await reservations.refresh()
    expect(free().map(([, count]) => count)).toEqual([expected])
  })
})

describe('what is offered', () => {
  test('is the size in the zone, next to free, with its count', async () => {
    const { reservations, offerings } = world()
    await reservations.refresh()
    const [{ name, offering } = { name: '', offering: {} as Offering }, ...others] = offerings()
    expect(others).toEqual([])
    expect(name).toBe(d4.size)
    expect([zoneOf(offering), reservationIn(offering), offering.reservationCapacity]).toEqual(['westus2-1', d4Id, 3])
    expect(offering.price).toBeCloseTo(0.2 / 10_000_000, 12)
  })

  test('is nothing for a node class without the annotation', async () => {
    const { cluster, azure, reservations, offerings } = world()
    cluster.put('aksnodeclasses', nodeClassJson())
    await reservations.refresh()
    expect([offerings(), azure.groups.requests]).toEqual([[], 0])
  })

  test.each([
    ['is gone', undefined, 'gone'],
    ['may not be read', { status: 403, code: 'AuthorizationFailed' }, 'unreadable'],
    ['is throttled', { status: 429, code: 'TooManyRequests' }, 'unreadable'],
    ['lies in a resource group that is gone', { status: 404, code: 'ResourceGroupNotFound' }, 'unreadable'],
  ])('is nothing of a group that %s', async (_, refusal, kind) => {
    const { azure, reservations, offerings } = world()
    azure.groups.refusal = refusal
    azure.groups.remove('g')
    await reservations.refresh()
    expect([offerings(), reservations.group(groupId('g'))?.kind]).toEqual([[], kind])
  })

  test('ends when no answer came for a quarter of an hour', async () => {
    const { reservations, offerings, deps } = world()
    await reservations.refresh()
    const later = deps.now() + 15 * 60_000 + 1
    const old = new CapacityReservations({ ...deps, document: store(), isEnabled: true, now: () => later })
    expect([offerings().length, old.offeredTo(world().nodeClass())]).toEqual([1, []])
  })
})

function store() {
  const stored: Stored[] = []
  const listeners: ((document: Stored) => void)[] = []
  return {
    stored,
    write: async (document: Stored) => {
      stored.push(document)
      for (const listener of listeners) listener(document)
    },
    follow: (listener: (document: Stored) => void) => {
      listeners.push(listener)
      return () => {}
    },
  }
}

describe('other processes', () => {
  test('know what one with the role azure has read', async () => {
    const { deps, nodeClass } = world()
    const document = store()
    const reader = new CapacityReservations({ ...deps, document, isEnabled: true })
    const planner = new CapacityReservations({ ...deps, azure: undefined, document, isEnabled: true })
    planner.start()
    await reader.refresh()
    expect(planner.offeredTo(nodeClass())).toEqual(reader.offeredTo(nodeClass()))
    expect(planner.signature(nodeClass())).toContain(`${d4Id}=3`)
    // Another process began earlier and wrote later.
    await document.write({ value: [], readAtMs: deps.now() - 1 })
    expect(planner.offeredTo(nodeClass())).toHaveLength(1)
    planner.stop()
  })

  test('read and offer nothing while the gate is off', async () => {
    const { deps, azure, nodeClass } = world()
    const off = new CapacityReservations({ ...deps, document: store(), isEnabled: false })
    await off.refresh()
    expect([off.offeredTo(nodeClass()), off.signature(nodeClass()), azure.groups.requests]).toEqual([[], '', 0])
  })
})

test('launches that ask for a reservation which is not known share one reading', async () => {
  const { azure, cluster, reservations, deps } = world()
  cluster.put('nodeclaims', asking('a'))
  const claim = deps.cache.nodeClaims.get('a') as NodeClaim
  await Promise.all(Array.from({ length: 50 }, () => reservations.know(claim)))
  expect(azure.groups.requests).toBe(2)
  expect(reservations.hasRoom(d4Id, 'a')).toBe(true)
})

test('a reading that began before it was asked for is not enough', async () => {
  const { azure, reservations, free } = world()
  const held = Promise.withResolvers<void>()
  azure.carry = async (request, effect) => {
    const answer = effect()
    if (request.endsWith('/capacityReservations')) await held.promise
    return answer
  }
  const early = reservations.refresh()
  await pass(10)
  azure.groups.put('g', { ...d4, capacity: 1 })
  const late = reservations.refresh()
  held.resolve()
  await Promise.all([early, late])
  expect(free()).toEqual([[d4Id, 1]])
})

test('groups of launched NodeClaims are read, though no node class names them any more', async () => {
  const { cluster, reservations } = world()
  cluster.put('aksnodeclasses', nodeClassJson())
  cluster.put('nodeclaims', { ...launchedIn('a'), status: { conditions: [condition('Launched')] } })
  await reservations.refresh()
  expect(reservations.group(groupId('g'))?.kind).toBe('read')
})
