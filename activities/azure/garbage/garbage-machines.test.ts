import { describe, expect, it } from 'vitest'
import { machineTags, machineVm } from '../../../test/fakes/aks.ts'
import { collectAsWorkflow, nothing } from '../../../test/fakes/garbage-world.ts'
import { tagsOf } from '../../../test/fakes/launch-world.ts'
import { machineClaim, machinesWorld } from '../../../test/fakes/machines-world.ts'
import { at, claimJson, nodeJson, podJson, poolJson } from '../../../test/fakes/objects.ts'
import { ended, pass, useFakeTime } from '../../../test/fakes/time.ts'
import type { Json } from '../../kubernetes/client/answers.ts'
import { GarbageCollector } from './garbage.ts'

useFakeTime()

const none = { ...nothing, aksMachines: [] }

function world(...claims: readonly Json[]) {
  const known = machinesWorld(...claims)
  const collector = new GarbageCollector(known.deps)
  return { ...known, collect: () => ended(collectAsWorkflow(collector, known.deps)) }
}

describe('an AKS machine without a NodeClaim', () => {
  it('is deleted through AKS', async () => {
    const { aks, azure, collect, reported } = world()
    aks.put('lost')
    expect(await collect()).toEqual({ ...none, aksMachines: ['aksmanagedap/lost'] })
    expect(azure.writes).toEqual(['POST deleteMachines/lost'])
    expect(reported.map(({ reason }) => reason)).toEqual(['GarbageCollected'])
  })

  it('goes beside a VM that lost its own, and those that have one stay', async () => {
    const { aks, azure, cluster, collect } = world(machineClaim('kept'))
    cluster.put('nodeclaims', claimJson('good'))
    for (const name of ['lost', 'kept']) aks.put(name)
    for (const name of ['gone', 'good'])
      azure.put('virtualMachines', `aks-${name}`, { tags: tagsOf(`uid-${name}`), timeCreated: at(-86_400) })
    expect(await collect()).toEqual({ ...none, aksMachines: ['aksmanagedap/lost'], virtualMachines: ['aks-gone'] })
    expect([[...aks.machines.keys()], azure.names('virtualMachines')]).toEqual([
      ['kept'],
      [machineVm('kept'), 'aks-good'],
    ])
  })

  it.each([
    ['of another cluster', { tags: { ...machineTags('lost'), 'karpenter.azure.com_cluster': 'other' } }],
    ['without tags', { tags: {} }],
    ['that is young', { createdAt: at(-60) }],
    ['of unknown age, seen just now,', { createdAt: '' }],
  ])('%s stays', async (_what, change) => {
    const { aks, azure, collect } = world()
    aks.put('lost', change)
    expect(await collect()).toEqual(none)
    expect(azure.writes).toEqual([])
  })

  it('of unknown age is deleted once it is known for as long as a young one stays', async () => {
    const { aks, azure, collect } = world()
    aks.put('lost', { createdAt: '' })
    expect(await collect()).toEqual(none)
    await pass(21 * 60_000)
    expect(await collect()).toEqual({ ...none, aksMachines: ['aksmanagedap/lost'] })
    expect(azure.writes).toEqual(['POST deleteMachines/lost'])
  })

  it('stays when a NodeClaim of its name was made since the list, and is not reported as deleted', async () => {
    const { aks, azure, cluster, collect, reported } = world()
    aks.put('lost')
    cluster.intercept(({ verb, path }) => {
      if (verb === 'get' && path.endsWith('/nodeclaims/lost')) cluster.put('nodeclaims', claimJson('lost'))
    })
    expect(await collect()).toEqual(none)
    expect([azure.writes, reported]).toEqual([[], []])
  })

  it('stays with all others when most lost their NodeClaims, which is reported', async () => {
    const { aks, azure, collect, reported } = world()
    for (let index = 0; index < 11; index++) aks.put(`lost${index}`)
    expect(await collect()).toEqual(none)
    expect(azure.writes).toEqual([])
    expect(reported.map(({ reason }) => reason)).toEqual(['GarbageWithheld'])
  })

  it.each([
    ['Ready', 'True', false],
    ['silent', 'Unknown', true],
  ])('whose Node is %s is deleted or not', async (_what, status, isDeleted) => {
    const { aks, azure, collect, cluster, reported } = world()
    aks.put('lost')
    const providerID = machineClaim('lost', {})['status'] as Json
    const conditions = [{ type: 'Ready', status }]
    cluster.put('nodes', nodeJson('lost', { spec: { providerID: providerID['providerID'] }, status: { conditions } }))
    expect((await collect()).aksMachines).toEqual(isDeleted ? ['aksmanagedap/lost'] : [])
    expect(azure.writes).toEqual(isDeleted ? ['POST deleteMachines/lost'] : [])
    expect(reported.map(({ reason }) => reason)).toEqual([isDeleted ? 'GarbageCollected' : 'GarbageWithheld'])
  })

  it.each([
    ['of the pool in which Joiner makes machines gets it again after ten minutes', 'aksmanagedap', true],
    ['of another pool does not', 'other', false],
  ])('whose Node is Ready, %s', async (_what, pool, isAdopted) => {
    const { aks, azure, deps, cluster, reported } = world()
    const collector = new GarbageCollector({
      ...deps,
      config: { ...deps.config, makesMachines: { pool, inBatches: false } },
    })
    const collect = () => ended(collectAsWorkflow(collector, deps))
    const node = machineVm('lost').slice('aks-'.length)
    cluster.put('nodepools', poolJson('default'))
    aks.put('lost', { tags: { ...machineTags('lost'), 'joiner.sh_nodeclaim-uid': 'first' } })
    const { providerID } = machineClaim('lost', {})['status'] as Json
    const ownerReferences = [{ apiVersion: 'karpenter.sh/v1', kind: 'NodeClaim', name: 'lost', uid: 'second' }]
    cluster.put(
      'nodes',
      nodeJson(node, { metadata: { ...(nodeJson(node)['metadata'] as Json), ownerReferences }, spec: { providerID } }),
    )
    cluster.put('pods', podJson('web', node))
    expect(await collect()).toEqual(none)
    const [message] = reported.map(({ message }) => message)
    expect(message?.includes('gets a NodeClaim again at')).toBe(isAdopted)
    await pass(10 * 60_000)
    // The owner of the Node counts, and not the tag, which stays that of the first NodeClaim.
    const due = { claimName: 'lost', claimUid: 'second', nodePool: 'default', node: machineVm('lost') }
    expect((await collect()).adopt).toEqual(isAdopted ? [expect.objectContaining(due)] : undefined)
    expect(azure.writes).toEqual([])
  })

  it('stays while node auto-provisioning is on, or while machines cannot be listed', async () => {
    const { aks, azure, collect } = world()
    aks.put('lost')
    aks.napMode = 'Auto'
    expect(await collect()).toEqual(none)
    aks.napMode = 'Manual'
    aks.refusal = { status: 403, code: 'AuthorizationFailed' }
    expect(await collect()).toEqual(none)
    expect(azure.writes).toEqual([])
  })

  it('stays while VMs cannot be listed because of an unknown error', async () => {
    const { aks, azure, collect } = world(machineClaim('a'))
    aks.put('lost')
    azure.intercept((request) =>
      request === 'GET virtualMachines/' ? { status: 400, code: 'SomeRandomError', message: 'no' } : undefined,
    )
    await expect(collect()).rejects.toThrow()
    expect([azure.writes, [...aks.machines.keys()]]).toEqual([[], ['lost']])
  })

  it('stays without the setting', async () => {
    const { aks, azure, deps } = machinesWorld()
    aks.put('lost')
    const collector = new GarbageCollector({ ...deps, config: { ...deps.config, managesMachines: false } })
    expect(await ended(collector.collect(new AbortController().signal))).toEqual(nothing)
    expect([azure.writes, aks.requests]).toEqual([[], 0])
  })
})

describe('an AKS machine with a NodeClaim', () => {
  it.each([true, false])('stays, adopted or not (%s)', async (isAdopted) => {
    const { aks, azure, collect } = world(machineClaim('a', { isAdopted }))
    aks.put('a')
    expect(await collect()).toEqual(none)
    expect(azure.writes).toEqual([])
  })

  it.each(['Creating', 'Failed'])('stays while it is made, before the NodeClaim has a VM (%s)', async (state) => {
    const { aks, azure, collect } = world(machineClaim('a', { status: { providerID: undefined, conditions: [] } }))
    aks.put('a')
    aks.becomes('a', state)
    expect(await collect()).toEqual(none)
    expect(azure.writes).toEqual([])
  })

  it('loses the NodeClaim once its VM is gone, and not before', async () => {
    const { aks, azure, collect, cluster } = world(machineClaim('a'), machineClaim('b'))
    aks.put('a')
    aks.put('b')
    azure.remove('virtualMachines', machineVm('a'))
    expect((await collect()).nodeClaims).toEqual(['a'])
    expect(cluster.object('nodeclaims', 'a')?.metadata.deletionTimestamp).toBeDefined()
    expect(cluster.object('nodeclaims', 'b')?.metadata.deletionTimestamp).toBeUndefined()
  })
})
