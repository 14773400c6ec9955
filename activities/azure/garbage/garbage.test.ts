import { describe, expect, test } from 'vitest'
import { FakeAzure, type Refusal } from '../../../test/fakes/azure.ts'
import { metricLines } from '../../../test/fakes/deps.ts'
import { type Adding, diskOf, karpenters, nothing, tagsOf, world } from '../../../test/fakes/garbage-world.ts'
import { at, claimJson, condition, goingClaim, nodeClassJson, podJson } from '../../../test/fakes/objects.ts'
import { useFakeTime } from '../../../test/fakes/time.ts'
import type { Json } from '../../kubernetes/client/answers.ts'
import { ApiError } from '../../kubernetes/client/api-error.ts'

useFakeTime()

describe('a VM without a claim', () => {
  test('is deleted with NIC and disk, and an event about its NodePool reports it', async () => {
    const { azure, add, collect, reported, registry } = world()
    add('lost', { claim: false, node: false })
    expect(await collect()).toEqual({ ...nothing, virtualMachines: ['aks-lost'] })
    expect(azure.names('virtualMachines')).toEqual(['aks-good'])
    expect(azure.names('networkInterfaces')).toEqual(['aks-good-1'])
    expect(azure.names('disks')).toEqual([diskOf('good')])
    expect(reported).toEqual([
      { reason: 'GarbageCollected', about: 'NodePool/default', message: 'VM aks-lost had no NodeClaim and is deleted' },
    ])
    expect(await metricLines(registry, 'joiner_garbage_collected_total{resource="virtualMachine"}')).toEqual([
      'joiner_garbage_collected_total{resource="virtualMachine"} 1',
    ])
  })

  test.each<[string, Readonly<Record<string, string>>]>([
    ['without tags', {}],
    ['of another cluster', { ...tagsOf('lost'), 'karpenter.azure.com_cluster': 'other' }],
    ['of another cluster of the same name', { ...tagsOf('lost'), 'joiner.sh_cluster-uid': 'other' }],
    ['of an AKS machine', { ...tagsOf('lost'), 'karpenter.azure.com_aksmachine_nodeclaim': 'x' }],
    ['that names neither claim nor NodePool', { 'karpenter.azure.com_cluster': 'test' }],
  ])('%s is left alone', async (_, tags) => {
    const { azure, add, collect } = world()
    add('lost', { claim: false, node: false, vm: tags })
    expect(await collect()).toEqual(nothing)
    expect(azure.writes).toEqual([])
  })

  test('with the tags of ours and another name was tagged by somebody else, and is left alone', async () => {
    const { azure, collect } = world()
    azure.put('virtualMachines', 'database', {
      tags: tagsOf('lost'),
      provisioningState: 'Succeeded',
      timeCreated: at(-3600),
    })
    expect(await collect()).toEqual(nothing)
    expect(azure.names('virtualMachines')).toContain('database')
  })

  test.each([
    [19, []],
    [21, ['aks-lost']],
  ])('of Karpenter that is %i minutes old', async (ageMinutes, virtualMachines) => {
    const { add, collect } = world()
    add('lost', { claim: false, node: false, vm: karpenters(), ageMinutes })
    expect(await collect()).toEqual({ ...nothing, virtualMachines })
  })

  test('is checked once more before it goes: a claim that has the name by then keeps it', async () => {
    const { azure, cluster, add, collect } = world()
    add('lost', { claim: false, node: false })
    cluster.intercept(({ verb, path }) => {
      if (verb === 'get' && path.endsWith('/nodeclaims/lost'))
        cluster.put('nodeclaims', claimJson('lost', { metadata: { uid: 'newer' } }))
    })
    expect(await collect()).toEqual(nothing)
    expect(azure.writes).toEqual([])
  })

  test.each<[string, (azure: FakeAzure) => void]>([
    [
      'whose tags were changed since the list',
      (azure) => azure.put('virtualMachines', 'aks-lost', { tags: { owner: 'somebody' } }),
    ],
    ['that is another by then', (azure) => azure.put('virtualMachines', 'aks-lost', { tags: tagsOf('newer') })],
    ['that is gone by then', (azure) => azure.remove('virtualMachines', 'aks-lost')],
  ])('%s is left alone', async (_, change) => {
    const { azure, add, collect } = world()
    add('lost', { claim: false, node: false })
    const end = azure.intercept((request) => {
      if (request !== 'GET virtualMachines/aks-lost') return
      end()
      change(azure)
    })
    expect(await collect()).toEqual(nothing)
    expect(azure.writes).toEqual([])
  })

  test('that cannot be deleted now is left to the next pass, and keeps no other', async () => {
    const { azure, add, collect, logged } = world()
    add('lost', { claim: false, node: false })
    add('lost-too', { claim: false, node: false })
    const end = azure.intercept((request): Refusal | undefined =>
      request === 'DELETE virtualMachines/aks-lost' ? { status: 409, code: 'OperationNotAllowed' } : undefined,
    )
    expect((await collect()).virtualMachines).toEqual(['aks-lost-too'])
    // Azure releases it by itself, so this is no warning.
    expect(logged.map((line) => JSON.parse(line) as Json)).toContainEqual(
      expect.objectContaining({ level: 30, name: 'aks-lost' }),
    )
    end()
    expect((await collect()).virtualMachines).toEqual(['aks-lost'])
  })

  test('and whose claim cannot be read is left alone', async () => {
    const { azure, cluster, add, collect } = world()
    add('lost', { claim: false, node: false })
    cluster.intercept(({ verb, path }) => {
      if (verb === 'get' && path.endsWith('/nodeclaims/lost')) throw new ApiError(500, 'InternalError', 'away')
    })
    expect(await collect()).toEqual(nothing)
    expect(azure.writes).toEqual([])
  })
})

describe('what is doubtful', () => {
  test('most claims without a VM: nothing at all is deleted, and it is reported', async () => {
    const { azure, cluster, add, collect, reported } = world()
    add('lost', { claim: false, node: false })
    for (const name of ['b', 'c', 'd']) add(name, { vm: false })
    expect(await collect()).toEqual(nothing)
    expect(azure.writes).toEqual([])
    expect(cluster.names('nodeclaims')).toEqual(['b', 'c', 'd', 'good'])
    const ready = cluster.object('aksnodeclasses', 'default')?.status.conditions
    expect(ready?.find(({ type }) => type === 'InstancesFound')).toMatchObject({
      status: 'False',
      reason: 'InstancesMissing',
    })
    expect(reported.map(({ reason, about }) => [reason, about])).toEqual([
      ['GarbageWithheld', 'Namespace/joiner'],
      ['GarbageWithheld', 'AKSNodeClass/default'],
    ])
  })

  test.each<[string, (name: string) => Adding, string]>([
    [
      'a setting that names another resource group',
      (name) => ({ claim: { status: { providerID: `azure:///subscriptions/s/resourceGroups/o/x/aks-${name}` } } }),
      '3 whose status.providerID names another resource group',
    ],
    [
      'a setting that names another cluster',
      (name) => ({ vm: { ...tagsOf(name), 'karpenter.azure.com_cluster': 'other' } }),
      '3 with a VM without the tags of this cluster',
    ],
  ])('most claims without a VM of theirs, as by %s: nothing is deleted, and the condition says why', async (...row) => {
    const [, adding, why] = row
    const { azure, cluster, add, collect } = world()
    add('lost', { claim: false, node: false })
    for (const name of ['b', 'c', 'd']) add(name, adding(name))
    expect(await collect()).toEqual(nothing)
    expect(azure.writes).toEqual([])
    const conditions = cluster.object('aksnodeclasses', 'default')?.status.conditions
    expect(conditions?.find(({ type }) => type === 'InstancesFound')).toMatchObject({
      status: 'False',
      message: expect.stringContaining(why) as string,
    })
  })

  test('and is over: the condition goes, and garbage is collected', async () => {
    const { azure, cluster, add, collect } = world()
    add('lost', { claim: false, node: false })
    for (const name of ['b', 'c', 'd']) add(name, { vm: false })
    await collect()
    for (const name of ['b', 'c', 'd'])
      azure.put('virtualMachines', `aks-${name}`, { tags: tagsOf(name), provisioningState: 'Succeeded' })
    expect((await collect()).virtualMachines).toEqual(['aks-lost'])
    expect(cluster.object('aksnodeclasses', 'default')?.status.conditions.map(({ type }) => type)).not.toContain(
      'InstancesFound',
    )
  })

  test('and is over: garbage is collected, though one AKSNodeClass that still says so cannot be written', async () => {
    const { cluster, add, collect } = world()
    const doubted = { type: 'InstancesFound', status: 'False', reason: 'InstancesMissing', message: 'x' }
    for (const name of ['default', 'guarded'])
      cluster.put('aksnodeclasses', nodeClassJson(name, { status: { conditions: [condition('Ready'), doubted] } }))
    cluster.intercept(({ verb, path }) => {
      if (verb === 'patch' && path.includes('/guarded')) throw new ApiError(403, 'Forbidden', 'denied by a policy')
    })
    add('lost', { claim: false, node: false })
    expect(await collect()).toEqual({ ...nothing, virtualMachines: ['aks-lost'] })
    const conditions = cluster.object('aksnodeclasses', 'default')?.status.conditions
    expect(conditions?.map(({ type }) => type)).not.toContain('InstancesFound')
  })

  test('VMs that cannot be listed: nothing is deleted', async () => {
    const { azure, cluster, add, collect } = world()
    add('lost', { claim: false, node: false })
    add('gone', { vm: false, node: false })
    azure.intercept((request) =>
      request === 'GET virtualMachines/' ? { status: 403, code: 'AuthorizationFailed' } : undefined,
    )
    await expect(collect()).rejects.toThrow()
    expect(azure.writes).toEqual([])
    expect(cluster.names('nodeclaims')).toEqual(['gone', 'good'])
  })

  test('NICs or disks that cannot be listed: the rest is collected', async () => {
    const { azure, add, collect, logged } = world()
    add('lost', { claim: false, node: false })
    azure.intercept((request) =>
      request === 'GET networkInterfaces/' || request === 'GET disks/'
        ? { status: 403, code: 'AuthorizationFailed' }
        : undefined,
    )
    expect((await collect()).virtualMachines).toEqual(['aks-lost'])
    expect(logged.join()).toContain('Microsoft.Network/networkInterfaces/read')
  })

  test('more than ten VMs that no Node names, in a cluster without any claim: they are left alone', async () => {
    const { azure, cluster, add, collect } = world()
    cluster.remove('nodeclaims', 'good')
    cluster.put('pods', podJson('web', 'good'))
    for (let index = 0; index < 11; index += 1) add(`lost-${index}`, { claim: false, node: false })
    expect(await collect()).toEqual(nothing)
    expect(azure.writes).toEqual([])
  })
})

test('a healthy cluster is left as it is', async () => {
  const { azure, cluster, collect, reported } = world()
  cluster.put('nodeclaims', goingClaim('going'))
  const before = cluster.snapshot()
  expect(await collect()).toEqual(nothing)
  expect(cluster.snapshot()).toEqual(before)
  expect([azure.writes, reported]).toEqual([[], []])
})
