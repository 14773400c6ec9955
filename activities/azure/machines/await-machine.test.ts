import { describe, expect, it } from 'vitest'
import { inValues, newClaim, ref } from '../../../test/fakes/launch-world.ts'
import { machineWorld, refusedVm } from '../../../test/fakes/machines-world.ts'
import { ended, pass, useFakeTime } from '../../../test/fakes/time.ts'
import { awaitInstance } from '../launch/instance.ts'

useFakeTime()

const { signal } = new AbortController()
const quotaOf = (what: string) =>
  `Operation could not be completed as it results in exceeding approved ${what} quota. Current Limit: 0`

describe('a wait for the Node of a machine', () => {
  it.each(['Creating', 'Updating', 'Succeeded', 'Strange', ''])('goes on while it is "%s"', async (state) => {
    const { aks, deps, cluster, launch } = machineWorld()
    await launch()
    aks.becomes('a', state)
    const work = awaitInstance(deps, ref, signal)
    await pass(60_000)
    cluster.edit('nodeclaims', 'a', { status: { conditions: [{ type: 'Registered', status: 'True' }] } })
    expect(await ended(work)).toEqual({ kind: 'succeeded' })
  })

  it('outlives errors of AKS, and sees the failure after them', async () => {
    const { aks, deps, launch } = machineWorld()
    await launch()
    aks.becomes('a', 'Creating')
    aks.refusal = { status: 503, code: 'ServiceUnavailable' }
    const work = awaitInstance(deps, ref, signal)
    await pass(10_000)
    aks.refusal = undefined
    aks.becomes('a', 'Failed', refusedVm('SkuNotAvailable', 'Standard_D2s_v5 is not available'))
    expect(await ended(work, 120_000)).toMatchObject({ kind: 'failed', reason: 'SKUNotAvailable' })
  })

  it('ends when its activity ends', async () => {
    const { deps, launch } = machineWorld()
    await launch()
    const stop = new AbortController()
    const work = awaitInstance(deps, ref, stop.signal)
    await pass(1000)
    stop.abort(new Error('stop'))
    await expect(ended(work)).rejects.toThrow()
  })

  it('ends when the machine is being deleted', async () => {
    const { aks, awaits, launch } = machineWorld()
    await launch()
    aks.becomes('a', 'Deleting')
    expect(await awaits()).toEqual({ kind: 'vmGone' })
  })
})

describe('a machine that failed after it was accepted', () => {
  const onDemandOne = { capacityType: 'on-demand' }
  const elsewhere = { capacityType: 'spot', zone: expect.stringMatching(/^westus2-[123]$/) }
  const regional = { capacityType: 'spot', zone: '0' }

  it.each<[string, string, string, string, object]>([
    ['OperationNotAllowed', quotaOf('LowPriorityCores'), 'SubscriptionQuotaReached', 'on-demand', onDemandOne],
    ['OperationNotAllowed', quotaOf('standardDSv5Family Cores'), 'SubscriptionQuotaReached', 'on-demand', onDemandOne],
    ['OperationNotAllowed', quotaOf('Total Regional Cores'), 'InsufficientCapacity', 'the same', {}],
    [
      'OverconstrainedZonalAllocationRequest',
      '',
      'OverconstrainedZonalAllocationFailure',
      'in another zone',
      elsewhere,
    ],
    ['OverconstrainedAllocationRequest', '', 'OverconstrainedAllocationFailure', 'regional', regional],
    ['AllocationFailed', '', 'AllocationFailure', 'regional', regional],
    ['ZonalAllocationFailed', '', 'ZonalAllocationFailure', 'in another zone', elsewhere],
    ['SkuNotAvailable', '', 'SKUNotAvailable', 'regional', regional],
    ['SomethingElse', '', 'CreateInstanceFailed', 'the same', {}],
  ])('with %s %s is reported as %s, and the next one is %s', async (code, message, reason, _which, next) => {
    const spotFirst = [inValues('karpenter.sh/capacity-type', 'spot', 'on-demand')]
    const { aks, azure, awaits, launch, launched } = machineWorld(newClaim({ requirements: spotFirst }))
    const first = await launch()
    expect(first).toMatchObject({ capacityType: 'spot', zone: expect.stringMatching(/-/) })
    aks.becomes('a', 'Failed', refusedVm(code, message))
    expect(await awaits()).toMatchObject({ kind: 'failed', reason })
    expect(launched()).toMatchObject({ status: 'Unknown', reason })
    const second = await launch(2)
    expect(second).toMatchObject({ kind: 'launched', instanceType: 'Standard_D2s_v5', ...next })
    if (next === elsewhere) expect(second).not.toMatchObject({ zone: (first as { readonly zone: string }).zone })
    expect(azure.writes).toEqual(['PUT machines/a', 'POST deleteMachines/a', 'PUT machines/a'])
    expect([...aks.machines.values()].map(({ state }) => state)).toEqual(['Succeeded'])
  })

  it('in its zone, and then in the region, leaves nothing of its family and larger', async () => {
    const { aks, awaits, launch } = machineWorld()
    for (const attempt of [1, 2]) {
      const place = attempt === 1 ? { zone: expect.stringMatching(/-/) } : { zone: '0' }
      expect(await launch(attempt)).toMatchObject({ instanceType: 'Standard_D2s_v5', ...place })
      aks.becomes('a', 'Failed', refusedVm('AllocationFailed', ''))
      await awaits()
    }
    const message = expect.stringContaining('marked AllocationFailure')
    expect(await launch(3)).toMatchObject({ kind: 'exhausted', message })
  })

  it('without an error of AKS is reported with what is known', async () => {
    const { aks, awaits, launch } = machineWorld()
    await launch()
    aks.becomes('a', 'Failed')
    expect(await awaits()).toMatchObject({
      reason: 'CreateInstanceFailed',
      message: expect.stringContaining('UnknownError'),
    })
  })
})
