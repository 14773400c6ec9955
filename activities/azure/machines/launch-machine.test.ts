import { describe, expect, it } from 'vitest'
import { machineId, machineTags, machineVm } from '../../../test/fakes/aks.ts'
import { inValues, launch, newClaim, ref, tagsOf } from '../../../test/fakes/launch-world.ts'
import { foreignMachines, machineImage, machineWorld } from '../../../test/fakes/machines-world.ts'
import { claimJson, condition, goingClaim, nodeClassJson } from '../../../test/fakes/objects.ts'
import { ended, pass, useFakeTime } from '../../../test/fakes/time.ts'
import { deleteInstance } from '../launch/instance.ts'
import { adoptMachines } from './adopt-machines.ts'
import { judgeFailedMachine } from './failed-machine.ts'
import { machineMaker } from './launch-machine.ts'

useFakeTime()

const { signal } = new AbortController()
const own = (attempt = '1') => ({
  ...tagsOf('uid-a'),
  'karpenter.azure.com_aksmachine_nodeclaim': 'a',
  'joiner.sh_attempt': attempt,
})
const lostClaim = newClaim({ metadata: { annotations: { 'joiner.sh/adopted-from': 'lost' } } })
const soldOut = { code: 'SkuNotAvailable', message: 'Standard_D2s_v5 is not available' }
const sold = { code: 'QuotaExceeded', message: 'no', details: [soldOut] }
const refusal = (code: string, message: string) => ({ status: 400, body: { error: { code, message } } })

describe('a launch of an AKS machine', () => {
  it('makes the cheapest one that fits, and records it in the claim, which Joiner manages', async () => {
    const { aks, azure, launch, launched, claim, tokens } = machineWorld()
    expect(await launch()).toMatchObject({
      kind: 'launched',
      instanceType: 'Standard_D2s_v5',
      imageId: machineImage,
      providerId: expect.stringMatching(/mc_group.*-vm$/),
    })
    expect(azure.writes).toEqual(['PUT machines/a'])
    expect(aks.machines.get('a')).toMatchObject({
      tags: own(),
      body: { zones: [expect.stringMatching(/^[123]$/)], properties: { nodeImageVersion: machineImage } },
    })
    expect(claim()).toMatchObject({
      metadata: {
        annotations: {
          'karpenter.azure.com/aks-machine-resource-id': machineId('a'),
          'joiner.sh/adopted-machine': 'uid-a',
        },
        labels: { 'node.kubernetes.io/instance-type': 'Standard_D2s_v5', 'karpenter.sh/capacity-type': 'on-demand' },
      },
      status: { imageID: machineImage, providerID: expect.stringMatching(machineVm('a')) },
    })
    expect(launched()).toMatchObject({ status: 'True' })
    expect(tokens()).toEqual([])
  })

  it('names the machine in the claim before it is made, so that its deletion finds it', async () => {
    const { aks, deps, cluster, claim, launch } = machineWorld()
    aks.puts.push({ status: 500, body: { error: { code: 'InternalServerError', message: 'lost' } } })
    await expect(launch()).rejects.toThrow()
    const annotations = claim()?.metadata.annotations ?? {}
    expect(annotations['karpenter.azure.com/aks-machine-resource-id']).toBe(machineId('a'))
    aks.put('a', { tags: own() })
    cluster.put('nodeclaims', goingClaim('a', { metadata: { annotations }, status: { providerID: undefined } }))
    expect(await ended(deleteInstance(deps, ref, signal))).toMatchObject({ existed: true })
    expect(aks.machines.size).toBe(0)
  })

  it.each(['Creating', 'Updating', 'Succeeded'])('finds its own that is %s, and makes no second one', async (state) => {
    const { aks, azure, launch } = machineWorld()
    aks.createdAs = state
    await launch()
    expect(await launch()).toMatchObject({ kind: 'launched', instanceType: 'Standard_D2s_v5', imageId: machineImage })
    expect(azure.writes).toEqual(['PUT machines/a'])
  })

  it('finds its own whose age AKS does not say', async () => {
    const { aks, launch } = machineWorld()
    aks.put('a', { tags: own(), createdAt: '' })
    expect(await launch()).toMatchObject({ kind: 'launched', acceptedMs: Date.now() })
  })

  it.each(foreignMachines)('refuses a machine %s, and does not delete it', async (_what, tags) => {
    const { aks, azure, deps, cluster, claim, launch, launched } = machineWorld()
    aks.put('a', { tags })
    await expect(launch()).rejects.toThrow()
    expect(launched()?.message).toContain('nothing is launched over it')
    // Nor does the end of the claim, which is not held up by what was never its own.
    const annotations = claim()?.metadata.annotations ?? {}
    cluster.put('nodeclaims', goingClaim('a', { metadata: { annotations }, status: { providerID: undefined } }))
    expect(await ended(deleteInstance(deps, ref, signal))).toMatchObject({ existed: false })
    expect(azure.writes).toEqual([])
    expect(aks.machines.size).toBe(1)
  })

  it('gives a NodeClaim that was made again for a lost one its machine, whose tags stay as they are', async () => {
    const { aks, azure, launch, claim } = machineWorld(lostClaim)
    aks.put('a', { tags: { ...own(), 'joiner.sh_nodeclaim-uid': 'lost' } })
    expect(await launch()).toMatchObject({ kind: 'launched', providerId: expect.stringMatching(machineVm('a')) })
    expect(claim()?.metadata.annotations).toMatchObject({ 'joiner.sh/adopted-machine': 'uid-a' })
    expect([azure.writes, aks.machines.get('a')?.tags]).toEqual([[], { ...own(), 'joiner.sh_nodeclaim-uid': 'lost' }])
  })

  it('makes no other machine for it: without one it ends, and with a failed one it waits for a repair', async () => {
    const { aks, azure, launch, claim, launched } = machineWorld(lostClaim)
    aks.put('a', { tags: { ...own(), 'joiner.sh_nodeclaim-uid': 'lost' } })
    aks.becomes('a', 'Failed')
    await expect(launch()).rejects.toThrow()
    expect(launched()?.message).toMatch(/AKS machine .*a is Failed and its Node is gone, so it is not adopted/)
    aks.machines.clear()
    expect(await launch()).toEqual({ kind: 'claimGone' })
    expect(claim()?.metadata.deletionTimestamp).toBeDefined()
    expect(azure.writes).toEqual([])
  })

  it('has one of Karpenter that carries no UID', async () => {
    const { aks, azure, launch } = machineWorld()
    aks.put('a')
    expect(machineTags('a')).not.toHaveProperty('joiner.sh_nodeclaim-uid')
    expect(await launch()).toMatchObject({ kind: 'launched' })
    expect(azure.writes).toEqual([])
  })

  it.each([
    ['VMSizeNotSupported', 'ARM'],
    ['BadRequest', 'ARM'],
    ['VMSizeNotSupported', 'AKS'],
    ['BadRequest', 'AKS'],
  ])('that is refused for its size (%s, in the form of %s) chooses another one', async (code, form) => {
    const { aks, launch, launched } = machineWorld()
    const { status, body } = refusal(code, 'The VM size Standard_D2s_v5 is not supported for subscription s')
    // AKS leaves out the field `error` around its errors.
    aks.puts.push({ status, body: form === 'ARM' ? body : { ...body.error, details: null, subcode: '' } })
    expect(await launch()).toMatchObject({ kind: 'capacity', instanceType: 'Standard_D2s_v5' })
    expect(launched()?.status).toBe('Unknown')
    expect(await launch(2)).toMatchObject({ kind: 'launched', instanceType: 'Standard_D4s_v5' })
  })

  it('that fails after it was accepted marks the offering, and gives way to another one', async () => {
    const { aks, deps, launch, awaits, launched } = machineWorld()
    await launch()
    aks.becomes('a', 'Failed', sold)
    expect(await awaits()).toMatchObject({ kind: 'failed', reason: 'SKUNotAvailable' })
    expect(launched()).toMatchObject({ status: 'Unknown', reason: 'SKUNotAvailable' })
    const [mark] = [...deps.unavailable.marks.values()]
    expect(mark).toMatchObject({ reason: 'SKUNotAvailable' })
    expect(await launch(2)).toMatchObject({ kind: 'launched' })
    expect(aks.machines.get('a')).toMatchObject({ state: 'Succeeded', tags: own('2') })
  })

  it('that failed while nobody looked is judged once', async () => {
    const { aks, deps, azure, launch } = machineWorld(newClaim({ status: { conditions: [] } }))
    aks.put('a', { tags: own() })
    const machine = aks.machines.get('a')
    if (machine === undefined) throw new Error('no machine')
    const hardware = { vmSize: 'Standard_D2s_v5' }
    aks.machines.set('a', { ...machine, body: { zones: ['1'], properties: { hardware, tags: own() } } })
    aks.becomes('a', 'Failed', sold)
    expect(await launch()).toMatchObject({ kind: 'capacity', instanceType: 'Standard_D2s_v5', zone: 'westus2-1' })
    expect(deps.unavailable.marks.size).toBeGreaterThan(0)
    expect(azure.writes).toEqual(['POST deleteMachines/a'])
  })

  it('that is deleted before its Node joins is made again', async () => {
    const { aks, launch, awaits } = machineWorld()
    await launch()
    aks.machines.clear()
    expect(await awaits()).toEqual({ kind: 'vmGone' })
    expect(await launch(2)).toMatchObject({ kind: 'launched' })
    expect(aks.machines.size).toBe(1)
  })

  it('is refused for a claim that stands for another machine', async () => {
    const annotations = {
      'karpenter.azure.com/aks-machine-resource-id': machineId('other'),
      'joiner.sh/adopted-machine': 'uid-a',
    }
    const metadata = { annotations }
    const { launch, launched } = machineWorld(newClaim({ metadata }))
    await expect(launch()).rejects.toThrow()
    expect(launched()?.message).toContain('stands for another AKS machine')
  })

  it('ends a claim whose name no machine can have', async () => {
    const { cluster, deps, azure } = machineWorld()
    cluster.put('nodeclaims', claimJson('1st-b', { status: { providerID: undefined, conditions: [] } }))
    const claim = deps.cache.nodeClaims.get('1st-b')
    if (claim === undefined) throw new Error('no claim')
    expect(await ended(machineMaker(deps).takeOver({ claim, attempt: 1 }, signal))).toMatchObject({
      kind: 'invalid',
      message: expect.stringContaining("can be no machine's name"),
    })
    expect(azure.writes).toEqual([])
  })

  it('makes none for a claim that is deleted at this moment', async () => {
    const { cluster, deps, azure, claim: stored } = machineWorld()
    const claim = deps.cache.nodeClaims.get('a')
    if (claim === undefined) throw new Error('no claim')
    cluster.put('nodeclaims', goingClaim('a', { status: { providerID: undefined, conditions: [] } }))
    expect(await ended(machineMaker(deps).takeOver({ claim, attempt: 1 }, signal))).toEqual({ kind: 'claimGone' })
    expect(stored()?.metadata.annotations?.['karpenter.azure.com/aks-machine-resource-id']).toBeUndefined()
    expect(azure.writes).toEqual([])
  })

  it.each([
    [503, 'ServiceUnavailable'],
    [429, 'TooManyRequests'],
  ])(
    'is not held back because AKS once did not answer for the mode of node auto-provisioning (%i)',
    async (status, code) => {
      const { aks, deps, launch } = machineWorld()
      aks.refusal = { status, code }
      await ended(adoptMachines(deps).catch(() => {}))
      aks.refusal = undefined
      expect(await launch()).toMatchObject({ kind: 'launched' })
    },
  )

  it('waits while node auto-provisioning is on', async () => {
    const { azure, cluster, launch, launched } = machineWorld()
    const said = { ...condition('AKSMachinesManaged', 'False'), message: 'node auto-provisioning is on' }
    const nodeClass = nodeClassJson()
    cluster.put('aksnodeclasses', {
      ...nodeClass,
      status: {
        ...(nodeClass['status'] as object),
        conditions: [{ ...condition('Ready'), observedGeneration: 1 }, said],
      },
    })
    await expect(launch()).rejects.toThrow()
    expect(launched()?.message).toContain('node auto-provisioning is on')
    expect(azure.writes).toEqual([])
  })

  it('sends one PUT for a batch', async () => {
    const { aks, azure, launch } = machineWorld(newClaim(), true)
    expect(await launch()).toMatchObject({ kind: 'launched' })
    expect(azure.writes).toEqual(['PUT machines/a'])
    expect(aks.machines.get('a')).toMatchObject({ tags: own(), body: { zones: [expect.any(String)] } })
  })

  it('that is refused for a reason nobody knows leaves nothing, and the next try makes it of another size', async () => {
    const { aks, azure, launch } = machineWorld()
    aks.puts.push({ status: 400, body: { error: { code: 'SomeRandomError', message: 'no' } } })
    expect(await launch()).toMatchObject({ kind: 'capacity', instanceType: 'Standard_D2s_v5', reason: 'SizeRefused' })
    expect(aks.machines.size).toBe(0)
    // Launches that are under way are awaited for a second.
    await pass(1000)
    expect(await launch(2)).toMatchObject({ kind: 'launched', instanceType: 'Standard_D4s_v5' })
    expect(azure.writes).toEqual(['PUT machines/a', 'PUT machines/a'])
  })

  it('that is refused alike for two sizes marks the class, and asks for no more', async () => {
    const { aks, azure, deps, launch, launched } = machineWorld()
    const refused = {
      code: 'InvalidParameter',
      target: 'properties.foo',
      message: 'The value of properties.foo is invalid.',
    }
    aks.puts.push({ status: 400, body: refused }, { status: 400, body: { error: refused } })
    await launch()
    await pass(1000)
    await expect(launch(2)).rejects.toMatchObject({ type: 'CommonLaunchFailure' })
    expect([...deps.unavailable.marks.values()].map(({ kind }) => kind)).toEqual(['class'])
    expect(launched()?.message).toContain(
      'InvalidParameter, target properties.foo: The value of properties.foo is invalid',
    )
    expect(azure.writes).toEqual(['PUT machines/a', 'PUT machines/a'])
  })

  it('whose VM Azure refuses after AKS accepted it is refused like one that AKS refuses', async () => {
    const { deps } = machineWorld()
    const provisioningError = { code: 'InvalidParameter', message: 'The value of properties.foo is invalid.' }
    const failed = (vmSize: string, resourceId: string) =>
      judgeFailedMachine(deps, deps.cache.nodeClaims.get('a'), {
        name: 'a',
        properties: { hardware: { vmSize }, resourceId, provisioningState: 'Failed', status: { provisioningError } },
      } as never)
    expect(await failed('Standard_D2s_v5', '')).toMatchObject({ isCapacity: true, reason: 'SizeRefused' })
    expect(await failed('Standard_D4s_v5', '')).toMatchObject({ isCapacity: false, reason: 'CommonLaunchFailure' })
    expect([...deps.unavailable.marks.values()].map(({ kind }) => kind)).toEqual(['class'])
  })

  it('whose machine came between look and PUT finds it in the next try', async () => {
    const { aks, azure, launch } = machineWorld()
    aks.puts.push({ status: 412, body: { error: { code: 'ConditionNotMet', message: 'it exists' } } })
    await expect(launch()).rejects.toThrow()
    aks.put('a', { tags: own() })
    expect(await launch()).toMatchObject({ kind: 'launched' })
    expect([azure.writes, aks.machines.size]).toEqual([['PUT machines/a'], 1])
  })

  it('waits for remains that are being deleted, and makes a new one', async () => {
    const { aks, azure, launch } = machineWorld()
    aks.put('a', { tags: own() })
    aks.becomes('a', 'Deleting')
    setTimeout(() => {
      azure.remove('virtualMachines', machineVm('a'))
      aks.machines.delete('a')
    }, 20_000)
    expect(await launch()).toMatchObject({ kind: 'launched' })
    expect(azure.writes).toEqual(['PUT machines/a'])
  })

  it('in a pool that is gone fails, and leaves nothing that would hold up its end', async () => {
    const { azure, claim, cluster, deps } = machineWorld()
    const config = { ...deps.config, makesMachines: { pool: 'gone', inBatches: false } }
    await expect(ended(launch({ ...deps, config }, { claim: ref, attempt: 1 }, signal))).rejects.toThrow()
    const annotations = claim()?.metadata.annotations ?? {}
    cluster.put('nodeclaims', goingClaim('a', { metadata: { annotations }, status: { providerID: undefined } }))
    expect(await ended(deleteInstance(deps, ref, signal))).toMatchObject({ existed: false })
    expect(azure.names('virtualMachines')).toEqual([])
  })

  it('stays in the zone that the claim names', async () => {
    const requirements = [inValues('topology.kubernetes.io/zone', 'westus2-3')]
    const { aks, launch } = machineWorld(newClaim({ requirements }))
    expect(await launch()).toMatchObject({ kind: 'launched', zone: 'westus2-3' })
    expect(aks.machines.get('a')?.body?.zones).toEqual(['3'])
  })

  it('is exhausted when no such type exists', async () => {
    const requirements = [inValues('node.kubernetes.io/instance-type', 'Standard_NC24')]
    const { azure, launch } = machineWorld(newClaim({ requirements }))
    expect(await launch()).toMatchObject({ kind: 'exhausted' })
    expect(azure.writes).toEqual([])
  })

  it('waits for a class of unknown readiness', async () => {
    const { azure, cluster, launch, launched } = machineWorld()
    cluster.put('aksnodeclasses', nodeClassJson('default', { status: { conditions: [condition('Ready', 'Unknown')] } }))
    await expect(launch()).rejects.toThrow('its status was not brought up to date yet')
    expect(launched()).toMatchObject({ status: 'Unknown', reason: 'NodeClassReadinessUnknown' })
    expect(azure.writes).toEqual([])
  })

  it('leaves VMs of before as they are: Compute deletes them', async () => {
    const { aks, azure, cluster, deps } = machineWorld()
    azure.put('virtualMachines', 'aks-a', { tags: tagsOf('uid-a'), provisioningState: 'Succeeded' })
    cluster.put('nodeclaims', goingClaim('a'))
    expect(await ended(deleteInstance(deps, ref, signal))).toMatchObject({ existed: true })
    expect([azure.writes, aks.requests]).toEqual([['DELETE virtualMachines/aks-a'], 0])
  })
})
