import { expect, it } from 'vitest'
import { otherSize } from '../../../test/fakes/azure-deps.ts'
import { inValues, launch, newClaim, onDemand, ref } from '../../../test/fakes/launch-world.ts'
import { machineWorld, refusedVm } from '../../../test/fakes/machines-world.ts'
import { ended, useFakeTime } from '../../../test/fakes/time.ts'
import type { LaunchOutcome } from '../contract.ts'

useFakeTime()

const launchedOf = (outcome: LaunchOutcome) => {
  if (outcome.kind !== 'launched') throw new Error(`the launch is ${outcome.kind}`)
  return outcome
}

it('a machine that no place of a family has room for is made of another family', async () => {
  const { aks, awaits, launch, sizes } = machineWorld()
  sizes.set(otherSize.name, otherSize)
  const places: (readonly [string, string])[] = []
  let outcome = launchedOf(await launch())
  while (outcome.instanceType !== otherSize.name) {
    places.push([outcome.instanceType, outcome.zone.replace(/-\d$/, '-')])
    aks.becomes('a', 'Failed', refusedVm('AllocationFailed'))
    expect(await awaits()).toMatchObject({ kind: 'failed', reason: 'AllocationFailure' })
    outcome = launchedOf(await launch(places.length + 1))
  }
  expect(places).toEqual([
    ['Standard_D2s_v5', 'westus2-'],
    ['Standard_D2s_v5', '0'],
  ])
  expect([...aks.machines.values()].map(({ state, body }) => [state, body?.properties])).toEqual([
    ['Succeeded', expect.objectContaining({ hardware: expect.objectContaining({ vmSize: otherSize.name }) })],
  ])
})

it('a machine goes to another zone when the one that would be chosen is marked', async () => {
  const requirements = [...onDemand, inValues('topology.kubernetes.io/zone', 'westus2-1', 'westus2-2', 'westus2-3')]
  const { zone } = launchedOf(await machineWorld(newClaim({ requirements })).launch())
  const { aks, deps, launch } = machineWorld(newClaim({ requirements }))
  const marked = { instanceType: 'Standard_D2s_v5', family: 'standardDSv5Family', vCpus: 2 }
  await deps.unavailable.mark({ ...marked, zone, capacityType: 'on-demand' }, 'zoneOfCapacityType', {
    ttlMs: 60_000,
    reason: 'ZonalAllocationFailure',
    zones: [zone],
  })
  const other = launchedOf(await launch())
  expect(other).toMatchObject({ instanceType: 'Standard_D2s_v5', zone: expect.stringMatching(/^westus2-[123]$/) })
  expect(other.zone).not.toBe(zone)
  expect(aks.machines.get('a')?.body?.zones).toEqual([other.zone.replace('westus2-', '')])
})

it('without instance types to choose from no machine is made, and the next try makes it', async () => {
  const { azure, deps, launch: later } = machineWorld()
  const catalogue = {
    whenLoaded: async () => {},
    instanceTypesFor: () => {
      throw new Error('the sizes of the region cannot be read')
    },
  }
  const { signal } = new AbortController()
  const input = { claim: ref, attempt: 1 }
  await expect(ended(launch({ ...deps, catalogue: catalogue as never }, input, signal))).rejects.toThrow(
    'cannot be read',
  )
  expect(azure.writes).toEqual([])
  expect(await later()).toMatchObject({ kind: 'launched' })
})
