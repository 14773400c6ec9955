import { RestError } from '@azure/core-rest-pipeline'
import { describe, expect, it } from 'vitest'
import { machineId, machineVm } from '../../../test/fakes/aks.ts'
import { launch, world } from '../../../test/fakes/launch-world.ts'
import { foreignMachines, machineClaim, machinesWorld } from '../../../test/fakes/machines-world.ts'
import { goingClaim } from '../../../test/fakes/objects.ts'
import { ended, pass, useFakeTime } from '../../../test/fakes/time.ts'
import { forceFinish } from '../launch/force-finish.ts'
import { awaitInstance, deleteInstance, findInstance } from '../launch/instance.ts'
import { isMachineGone } from './machines-api.ts'

useFakeTime()

const ref = { name: 'a', uid: 'uid-a' }
const { signal } = new AbortController()

describe('deleting the AKS machine of a claim', () => {
  it('asks AKS for it, and ends when machine and VM are gone', async () => {
    const { aks, azure, deps, condition } = machinesWorld(machineClaim('a', { isGoing: true }))
    aks.put('a')
    aks.deletesTakeMs = 20_000
    const work = deleteInstance(deps, ref, signal)
    await pass(10_000)
    expect(condition('nodeclaims', 'a', 'InstanceTerminating')?.status).toBe('True')
    expect(await ended(work)).toEqual({ existed: true, goneMs: expect.any(Number) })
    expect([aks.machines.size, azure.names('virtualMachines')]).toEqual([0, []])
    expect(azure.writes).toEqual(['POST deleteMachines/a'])
  })

  it('asks again when AKS gave it up', async () => {
    const { aks, azure, deps } = machinesWorld(machineClaim('a', { isGoing: true }))
    aks.put('a')
    aks.givesUp = 1
    await ended(deleteInstance(deps, ref, signal), 200_000)
    expect(azure.writes).toEqual(['POST deleteMachines/a', 'POST deleteMachines/a'])
    expect(aks.machines.size).toBe(0)
  })

  it('deletes a machine whose VM is gone already', async () => {
    const { aks, azure, deps } = machinesWorld(machineClaim('a', { isGoing: true }))
    aks.put('a')
    azure.remove('virtualMachines', machineVm('a'))
    expect(await ended(deleteInstance(deps, ref, signal))).toMatchObject({ existed: true })
    expect(aks.machines.size).toBe(0)
  })

  it('waits for a VM whose machine is gone, and never touches it', async () => {
    const { aks, azure, deps } = machinesWorld(machineClaim('a', { isGoing: true }))
    aks.put('a')
    aks.machines.clear()
    const work = deleteInstance(deps, ref, signal)
    await pass(30_000)
    azure.remove('virtualMachines', machineVm('a'))
    await ended(work, 200_000)
    expect(azure.writes).toEqual([])
  })

  it('that is gone already is success', async () => {
    const { deps } = machinesWorld(machineClaim('a', { isGoing: true }))
    expect(await ended(deleteInstance(deps, ref, signal))).toEqual({ existed: false, goneMs: expect.any(Number) })
  })

  it.each(foreignMachines)('%s never does it; the claim reports it', async (_what, tags) => {
    const { aks, azure, deps, condition } = machinesWorld(machineClaim('a', { isGoing: true }))
    aks.put('a', { tags })
    await expect(ended(deleteInstance(deps, ref, signal))).rejects.toThrow('so Joiner does not delete it')
    expect(azure.writes).toEqual([])
    expect(condition('nodeclaims', 'a', 'InstanceTerminating')).toMatchObject({ reason: 'InstanceNotOwned' })
  })

  it.each<[string, Parameters<typeof machineClaim>[1], string]>([
    [
      'of another cluster',
      { annotations: { 'karpenter.azure.com/aks-machine-resource-id': machineId('a').replace('/test/', '/other/') } },
      'correct CLUSTER_NAME and ARM_RESOURCE_GROUP',
    ],
    [
      'without an id',
      { annotations: { 'karpenter.azure.com/aks-machine-resource-id': 'x' } },
      'is not the id of a machine',
    ],
    [
      'with a VM elsewhere',
      { providerId: 'azure:///subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/vm' },
      'correct AZURE_NODE_RESOURCE_GROUP',
    ],
  ])('%s never does it', async (_what, change, said) => {
    const { aks, azure, deps } = machinesWorld(machineClaim('a', { isGoing: true, ...change }))
    aks.put('a')
    await expect(ended(deleteInstance(deps, ref, signal))).rejects.toThrow(said)
    expect(azure.writes).toEqual([])
  })

  it('of which the machine has another VM than the claim never does it', async () => {
    const { aks, azure, deps } = machinesWorld(machineClaim('a', { isGoing: true }))
    aks.put('a')
    const machine = aks.machines.get('a')
    if (machine !== undefined) aks.machines.set('a', { ...machine, vm: 'other' })
    await expect(ended(deleteInstance(deps, ref, signal))).rejects.toThrow('has the VM')
    expect(azure.writes).toEqual([])
  })

  it('is refused while node auto-provisioning is on', async () => {
    const { aks, azure, deps } = machinesWorld(machineClaim('a', { isGoing: true }))
    aks.put('a')
    aks.napMode = 'Auto'
    await expect(ended(deleteInstance(deps, ref, signal))).rejects.toThrow('--node-provisioning-mode Manual')
    expect(azure.writes).toEqual([])
  })

  it.each([
    [403, 'AuthorizationFailed'],
    [404, 'ResourceGroupNotFound'],
    [404, 'ParentResourceNotFound'],
    [429, 'TooManyRequests'],
  ])('waits where Azure says %i %s, which proves nothing', async (status, code) => {
    const { aks, azure, deps, cluster } = machinesWorld(machineClaim('a', { isGoing: true }))
    aks.put('a')
    aks.refusal = { status, code }
    await expect(ended(deleteInstance(deps, ref, signal))).rejects.toMatchObject({ code })
    expect([azure.writes, cluster.names('nodeclaims')]).toEqual([[], ['a']])
  })

  it('does not concern a claim that was not adopted', async () => {
    const { aks, azure, deps } = machinesWorld(machineClaim('a', { isGoing: true, isAdopted: false }))
    aks.put('a')
    expect(await ended(deleteInstance(deps, ref, signal))).toMatchObject({ existed: false })
    expect(azure.writes).toEqual([])
  })
})

describe('the VM of an AKS machine', () => {
  it('is looked for by the provider id', async () => {
    const { aks, azure, deps } = machinesWorld(machineClaim('a'))
    aks.put('a')
    expect(await findInstance(deps, ref)).toEqual({ exists: true })
    azure.remove('virtualMachines', machineVm('a'))
    expect(await findInstance(deps, ref)).toEqual({ exists: false })
  })

  it('is not waited for: a machine whose Node has not joined stays until it does', async () => {
    const { cluster, deps } = machinesWorld(
      machineClaim('a', { status: { conditions: [{ type: 'Launched', status: 'True' }] } }),
    )
    const stop = new AbortController()
    const work = awaitInstance(deps, ref, stop.signal)
    await pass(60_000)
    cluster.edit('nodeclaims', 'a', { status: { conditions: [{ type: 'Registered', status: 'True' }] } })
    expect(await ended(work)).toEqual({ kind: 'succeeded' })
  })

  it('is never made again', async () => {
    const conditions = [{ type: 'Launched', status: 'Unknown' }]
    const { azure, deps } = machinesWorld(machineClaim('a', { status: { conditions } }))
    await expect(ended(launch(deps, { claim: ref, attempt: 1 }, signal))).rejects.toThrow('InstanceNotOwned')
    expect(azure.names('virtualMachines')).toEqual([])
  })
})

describe('where nodes are VMs', () => {
  it.each([true, false])(
    'AKS is asked for nothing by launch and deletion, machines managed or not (%s)',
    async (managesMachines) => {
      const { azure, cluster, deps: made } = world()
      const { aks } = azure
      const deps = { ...made, config: { ...made.config, managesMachines } }
      expect(await ended(launch(deps, { claim: ref, attempt: 1 }, signal))).toMatchObject({ kind: 'launched' })
      expect(azure.names('virtualMachines')).toEqual(['aks-a'])
      cluster.put('nodeclaims', goingClaim('a'))
      expect(await ended(deleteInstance(deps, ref, signal))).toMatchObject({ existed: true })
      expect([azure.names('virtualMachines'), aks.requests]).toEqual([[], 0])
    },
  )
})

describe('ending the lifecycle of an AKS machine by force', () => {
  const asked = { atMs: 0, by: 'alice', reason: 'stuck' }
  const finish = (deps: ReturnType<typeof machinesWorld>['deps'], leaveVm: boolean) =>
    ended(forceFinish(deps, { claim: ref, asked, leaveVm }))

  it('is refused while the machine exists', async () => {
    const { aks, deps } = machinesWorld(machineClaim('a', { isGoing: true }))
    aks.put('a')
    const message = expect.stringContaining('AKS machine aksmanagedap/a exists (Succeeded)') as string
    expect(await finish(deps, false)).toMatchObject({ kind: 'refused', message })
  })

  it('leaves the machine and its VM as they are where it may', async () => {
    const { aks, azure, cluster, deps } = machinesWorld(machineClaim('a', { isGoing: true }))
    aks.put('a')
    expect(await finish(deps, true)).toMatchObject({ kind: 'finished', vm: machineId('a') })
    expect([azure.writes, aks.machines.size, cluster.names('nodeclaims')]).toEqual([[], 1, []])
  })
})

describe('that a machine is gone', () => {
  it.each([
    [404, 'NotFound', 'no', true],
    [404, 'ResourceNotFound', "The Resource 'x/machines/m' was not found.", true],
    [404, 'ResourceNotFound', "The Resource 'x/managedClusters/c' was not found.", false],
    [404, 'ResourceNotFound', 'no', false],
    [404, 'ResourceGroupNotFound', 'no', false],
    [400, 'InvalidParameter', 'Cannot find any valid machines', true],
    [400, 'InvalidParameter', 'the name is wrong', false],
    [403, 'NotFound', 'no', false],
  ])('%i %s "%s" proves: %s', (statusCode, code, message, is) => {
    expect(isMachineGone(new RestError(message, { statusCode, code }), 'm')).toBe(is)
  })

  it('is proven by no other error', () => {
    expect(isMachineGone(new Error('NotFound'), 'm')).toBe(false)
    expect(isMachineGone(undefined, 'm')).toBe(false)
  })
})
