import { describe, expect, test } from 'vitest'
import { groupId } from '../../../test/arm/fake-capacity-groups.ts'
import { asAttempt } from '../../../test/fakes/attempt.ts'
import { inValues, launch, newClaim, world } from '../../../test/fakes/launch-world.ts'
import { claimJson, nodeClassJson } from '../../../test/fakes/objects.ts'
import { ended, useFakeTime } from '../../../test/fakes/time.ts'
import { reservationId } from '../reservations/reservation.ts'

useFakeTime()

const size = 'Standard_D4s_v5'
const id = reservationId({ groupId: groupId('g'), instanceType: size, zone: 'westus2-1' })
const idLabel = 'karpenter.azure.com/capacity-reservation-id'
const nodeClass = nodeClassJson('default', {
  metadata: { annotations: { 'joiner.sh/capacity-reservation-groups': groupId('g') } },
})
const reservedOnly = [inValues('karpenter.sh/capacity-type', 'reserved'), inValues(idLabel, id)]

function reservedWorld(requirements: readonly unknown[] = reservedOnly, capacity = 1) {
  const known = world(newClaim({ requirements }), nodeClass)
  known.azure.groups.put('g', { size, zone: '1', capacity })
  const vm = () => known.azure.get('virtualMachines', 'aks-a')
  const labels = () => known.cluster.object('nodeclaims', 'a')?.metadata.labels as Record<string, string>
  return { ...known, vm, labels }
}

const inGroup = { capacityReservationGroup: { id: groupId('g') } }

describe('a launch into a capacity reservation', () => {
  test('names the group in the VM, and the reservation in the claim', async () => {
    const { launch, vm, labels, cluster } = reservedWorld()
    expect(await launch()).toMatchObject({ kind: 'launched', capacityType: 'reserved', zone: 'westus2-1' })
    expect(vm()?.properties).toMatchObject({ capacityReservation: inGroup, zones: ['1'], priority: 'Regular' })
    expect(labels()).toMatchObject({
      'karpenter.sh/capacity-type': 'reserved',
      [idLabel]: id,
      'kubernetes.azure.com/priority': 'regular',
    })
    expect(cluster.object('nodeclaims', 'a')?.metadata.annotations).toMatchObject({
      'joiner.sh/capacity-reservation-group': groupId('g'),
      // It is paid for like any other VM.
      'joiner.sh/price-per-hour': '0.2',
    })
  })

  test('names no zone for a regional reservation', async () => {
    const regional = reservationId({ groupId: groupId('g'), instanceType: size, zone: '0' })
    const { launch, vm, azure } = reservedWorld([inValues(idLabel, regional)])
    azure.groups.put('g', { size, zone: '0', capacity: 1 })
    expect(await launch()).toMatchObject({ kind: 'launched', capacityType: 'reserved', zone: '0' })
    expect(vm()?.properties['zones']).toBeUndefined()
  })

  test('is preferred where the claim may be bought in any way', async () => {
    const { launch, deps, vm } = reservedWorld([])
    await deps.reservations.refresh()
    expect(await launch()).toMatchObject({ capacityType: 'reserved' })
    expect(vm()?.properties).toMatchObject({ capacityReservation: inGroup })
  })

  test('does not take what others have taken meanwhile: nothing is overallocated', async () => {
    const { launch, azure } = reservedWorld()
    azure.groups.others = 1
    expect(await launch()).toMatchObject({ kind: 'exhausted' })
    expect(azure.names('virtualMachines')).toEqual([])
  })

  test('leaves a VM that is bought otherwise out of the group', async () => {
    const { launch, vm, labels, azure, deps } = reservedWorld([])
    azure.groups.others = 1
    await deps.reservations.refresh()
    expect(await launch()).toMatchObject({ capacityType: 'spot' })
    expect(vm()?.properties['capacityReservation']).toBeUndefined()
    expect(labels()[idLabel]).toBeUndefined()
  })
})

test('of several NodeClaims that ask for no reservation by its id, only as many launch into it as fit', async () => {
  const { deps, azure, cluster } = reservedWorld([])
  await deps.reservations.refresh()
  const claims = ['a', 'b', 'c'].map((name) => ({ name, uid: `uid-${name}` }))
  for (const { name } of claims) {
    const { metadata, ...rest } = newClaim({ requirements: [] })
    cluster.put('nodeclaims', { ...rest, metadata: { ...(metadata as object), name, uid: `uid-${name}` } })
  }
  const attempts = claims.map((claim) => launch(deps, { claim, attempt: 1 }, new AbortController().signal))
  const outcomes = await ended(asAttempt(1, () => Promise.all(attempts)))
  expect(outcomes.map((outcome) => (outcome.kind === 'launched' ? outcome.capacityType : '')).sort()).toEqual([
    'reserved',
    'spot',
    'spot',
  ])
  expect(azure.names('virtualMachines')).toEqual(['aks-a', 'aks-b', 'aks-c'])
  const [reserved] = cluster.all('nodeclaims').filter(({ metadata }) => metadata.labels[idLabel] === id)
  // Its place is free again as soon as NodeClaim and VM are gone.
  expect(deps.reservations.hasRoom(id, 'd')).toBe(false)
  azure.remove('virtualMachines', `aks-${reserved?.metadata.name}`)
  cluster.remove('nodeclaims', reserved?.metadata.name ?? '')
  await deps.reservations.refresh()
  expect(deps.reservations.hasRoom(id, 'd')).toBe(true)
})

describe('a crash', () => {
  test('after the PUT leads to the adoption of the VM as reserved, and it is counted once', async () => {
    const { launch, deps, cluster, azure, labels } = reservedWorld(reservedOnly, 2)
    await launch()
    // The process died before it wrote the claim.
    cluster.put('nodeclaims', newClaim({ requirements: reservedOnly }))
    expect(await launch(1, true)).toMatchObject({ kind: 'launched', capacityType: 'reserved' })
    expect(labels()).toMatchObject({ [idLabel]: id })
    expect(azure.writes).toEqual(['PUT virtualMachines/aks-a'])
    await deps.reservations.refresh()
    cluster.put('nodeclaims', claimJson('b', { spec: { requirements: reservedOnly }, status: { conditions: [] } }))
    expect([deps.reservations.hasRoom(id, 'b'), deps.reservations.hasRoom(id, 'c')]).toEqual([true, false])
  })
})

describe('a refusal', () => {
  const refused = (code: string, status: number, message: string) => ({ code, status, message })

  test.each([
    ['no room', refused('ZonalAllocationFailed', 409, 'Allocation failed.'), 'ReservedCapacityFull'],
    [
      'a group that is gone',
      refused('NotFound', 404, `Capacity reservation group ${groupId('g')} was not found.`),
      'CapacityReservationRefused',
    ],
    [
      'a right that is missing',
      refused('LinkedAuthorizationFailed', 403, `no Microsoft.Compute/capacityReservationGroups/deploy/action`),
      'CapacityReservationRefused',
    ],
    [
      'quota, beyond the capacity',
      refused('OperationNotAllowed', 409, 'exceeding approved standardDSv5 Family Cores quota'),
      'ReservedCapacityFull',
    ],
    [
      'quota of the region',
      refused(
        'QuotaExceeded',
        409,
        'Operation could not be completed as it results in exceeding approved Total Regional Cores quota',
      ),
      'ReservedCapacityFull',
    ],
    [
      'quota of spot, of which it uses none',
      refused(
        'QuotaExceeded',
        409,
        'Operation could not be completed as it results in exceeding approved LowPriorityCores quota',
      ),
      'ReservedCapacityFull',
    ],
    [
      'a zone that is not supported',
      refused(
        'InvalidParameter',
        400,
        `The zone(s) '1' for resource 'Microsoft.Compute/virtualMachines/aks-a' is not supported.`,
      ),
      'ReservedCapacityFull',
    ],
    ['what nobody knows', refused('SomethingNew', 409, 'it does not work'), 'CapacityReservationRefused'],
  ])('for %s marks the reservation alone, and the next attempt takes something else', async (_, refusal, reason) => {
    const { launch, azure, deps } = reservedWorld([], 2)
    await deps.reservations.refresh()
    azure.refusePuts(refusal)
    expect(await launch()).toMatchObject({ kind: 'capacity', reason, capacityType: 'reserved' })
    expect([...deps.unavailable.marks.values()]).toMatchObject([
      { kind: 'offering', capacityType: 'reserved', instanceType: size, zone: 'westus2-1' },
    ])
    expect(await launch(2)).toMatchObject({ kind: 'launched', capacityType: 'spot' })
  })

  test('leaves nodes of the same size outside of it without its label', async () => {
    const onDemand = [
      { key: 'karpenter.sh/capacity-type', operator: 'In' as const, values: ['on-demand'] },
      { key: 'node.kubernetes.io/instance-type', operator: 'In' as const, values: [size] },
    ]
    const { launch, labels, deps } = reservedWorld(onDemand, 2)
    await deps.reservations.refresh()
    expect(await launch()).toMatchObject({ kind: 'launched', capacityType: 'on-demand', instanceType: size })
    expect(labels()).toMatchObject({ 'node.kubernetes.io/instance-type': size })
    expect(Object.hasOwn(labels(), idLabel)).toBe(false)
  })

  test('leaves a claim that may use nothing else without an offering', async () => {
    const { launch, azure } = reservedWorld()
    azure.refusePuts(refused('AllocationFailed', 409, 'Allocation failed.'))
    expect(await launch()).toMatchObject({ kind: 'capacity' })
    expect(await launch(2)).toMatchObject({
      kind: 'exhausted',
      message: expect.stringContaining('1 are marked ReservedCapacityFull'),
    })
  })

  test('for another reason is the failure that it always was', async () => {
    const { launch, azure, deps } = reservedWorld([], 2)
    await deps.reservations.refresh()
    azure.refusePuts(refused('RequestDisallowedByPolicy', 403, 'a policy forbids it'))
    await expect(launch()).rejects.toThrow('PolicyDenied')
    expect(deps.unavailable.marks.size).toBe(0)
  })
})
