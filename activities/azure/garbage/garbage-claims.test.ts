import { describe, expect, test } from 'vitest'
import { type Adding, nothing, tagsOf, world } from '../../../test/fakes/garbage-world.ts'
import { at, claimJson, condition, podJson } from '../../../test/fakes/objects.ts'
import { useFakeTime } from '../../../test/fakes/time.ts'

useFakeTime()

describe('a claim without a VM', () => {
  const silent = { status: { conditions: [condition('Ready', 'Unknown')] } }

  test('whose Node is silent is deleted, so that its pods are planned again', async () => {
    const { cluster, add, collect, reported } = world()
    add('other')
    add('gone', { vm: false, node: silent })
    cluster.put('pods', podJson('web', 'gone'))
    expect(await collect()).toEqual({ ...nothing, nodeClaims: ['gone'] })
    expect(cluster.object('nodeclaims', 'gone')?.metadata.deletionTimestamp).toBeDefined()
    expect(reported).toEqual([
      { reason: 'GarbageCollected', about: 'NodeClaim/gone', message: 'VM aks-gone is gone; the NodeClaim is deleted' },
    ])
  })

  test.each<[string, Adding]>([
    ['whose Node is ready', { vm: false }],
    ['that has not registered', { vm: false, node: false, claim: { status: { conditions: [condition('Launched')] } } }],
    ['that is being deleted', { vm: false, node: false, claim: { metadata: { deletionTimestamp: at(0) } } }],
    [
      'whose VM lies elsewhere',
      {
        vm: false,
        node: false,
        claim: {
          status: {
            providerID:
              'azure:///subscriptions/x/resourceGroups/y/providers/Microsoft.Compute/virtualMachines/aks-gone',
          },
        },
      },
    ],
    ['whose VM is not proven to be its own', { vm: {}, node: false }],
  ])('%s is kept', async (_, change) => {
    const { cluster, add, collect } = world()
    add('other')
    add('gone', change)
    const deletion = () => cluster.object('nodeclaims', 'gone')?.metadata.deletionTimestamp
    const before = deletion()
    expect(await collect()).toEqual(nothing)
    expect([cluster.names('nodeclaims').includes('gone'), deletion()]).toEqual([true, before])
  })

  test('in the list is kept when Azure itself has the VM', async () => {
    const { azure, cluster, add, collect } = world()
    add('other')
    add('gone', { vm: false, node: silent })
    azure.intercept((request) => {
      if (request === 'GET virtualMachines/aks-gone') azure.put('virtualMachines', 'aks-gone', { tags: tagsOf('gone') })
    })
    expect(await collect()).toEqual(nothing)
    expect(cluster.object('nodeclaims', 'gone')?.metadata.deletionTimestamp).toBeUndefined()
  })

  test('whose name another has by then is not deleted', async () => {
    const { azure, cluster, add, collect } = world()
    add('other')
    add('gone', { vm: false, node: silent })
    azure.intercept((request) => {
      if (request === 'GET virtualMachines/aks-gone')
        cluster.put('nodeclaims', claimJson('gone', { metadata: { uid: 'newer' } }))
    })
    expect((await collect()).nodeClaims).toEqual([])
    expect(cluster.object('nodeclaims', 'gone')?.metadata.deletionTimestamp).toBeUndefined()
  })
})

describe('a Node whose claim and VM are gone', () => {
  const leaving = { metadata: { deletionTimestamp: at(-60) } }

  test('and that is being deleted is released', async () => {
    const { cluster, add, collect } = world()
    add('lost', { claim: false, vm: false, node: leaving })
    expect(await collect()).toEqual({ ...nothing, nodes: ['aks-lost'] })
    expect(cluster.names('nodes')).toEqual(['aks-good'])
  })

  test('keeps the finalizers of others', async () => {
    const { cluster, add, collect } = world()
    const finalizers = ['karpenter.sh/termination', 'example.com/x']
    add('lost', { claim: false, vm: false, node: { metadata: { deletionTimestamp: at(-60), finalizers } } })
    await collect()
    expect(cluster.object('nodes', 'aks-lost')?.metadata.finalizers).toEqual(['example.com/x'])
  })

  test.each<[string, Adding]>([
    ['is not being deleted', { claim: false, vm: false }],
    ['still has its VM, whoever owns it', { claim: false, vm: {}, node: leaving }],
    [
      'has a claim that is being deleted',
      { claim: { metadata: { deletionTimestamp: at(0) } }, vm: false, node: leaving },
    ],
    [
      'has no owner, and another name than its VM',
      { claim: false, vm: false, node: { metadata: { ...leaving.metadata, ownerReferences: [], name: 'aks-x' } } },
    ],
    [
      'has another provider id',
      { claim: false, vm: false, node: { ...leaving, spec: { providerID: 'azure:///elsewhere' } } },
    ],
  ])('is kept when it %s', async (_, change) => {
    const { cluster, add, collect } = world()
    add('lost', change)
    expect((await collect()).nodes).toEqual([])
    expect(cluster.names('nodes')).toHaveLength(2)
  })

  test('is released without an owner, which an orphaning deletion of the claim has removed', async () => {
    const { add, collect } = world()
    add('lost', { claim: false, vm: false, node: { metadata: { ...leaving.metadata, ownerReferences: [] } } })
    expect((await collect()).nodes).toEqual(['aks-lost'])
  })

  test('is kept, and named, while it is Ready and pods run there', async () => {
    const { cluster, add, collect, reported } = world()
    add('lost', { claim: false, vm: false, node: leaving })
    cluster.put('pods', podJson('web', 'lost'))
    expect(await collect()).toEqual(nothing)
    expect(cluster.object('nodes', 'aks-lost')?.metadata.finalizers).toEqual(['karpenter.sh/termination'])
    expect(reported).toEqual([
      {
        reason: 'GarbageWithheld',
        about: 'Node/aks-lost',
        message: expect.stringContaining('Node aks-lost: it is Ready and runs 1 pod. It is kept') as string,
      },
    ])
  })

  test('is kept when a claim of the name was made since', async () => {
    const { cluster, add, collect } = world()
    add('lost', { claim: false, vm: false, node: leaving })
    cluster.intercept(({ verb, path }) => {
      if (verb === 'get' && path.endsWith('/nodeclaims/lost'))
        cluster.put('nodeclaims', claimJson('lost', { metadata: { uid: 'newer' } }))
    })
    expect((await collect()).nodes).toEqual([])
  })

  test('is kept while all is in doubt', async () => {
    const { cluster, add, collect } = world()
    add('lost', { claim: false, vm: false, node: leaving })
    for (const name of ['b', 'c', 'd']) add(name, { vm: false })
    expect(await collect()).toEqual(nothing)
    expect(cluster.names('nodes')).toContain('aks-lost')
  })
})
