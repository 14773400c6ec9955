import { describe, expect, test } from 'vitest'
import type { Refusal } from '../../../test/fakes/azure.ts'
import { azureConfig } from '../../../test/fakes/azure-config.ts'
import { metricLines } from '../../../test/fakes/deps.ts'
import {
  denied,
  elsewhere,
  foreign,
  karpenters,
  own,
  ref,
  secretName,
  world,
} from '../../../test/fakes/instance-world.ts'
import { claimJson, condition, goingClaim, nodeJson } from '../../../test/fakes/objects.ts'
import { ended, pass, useFakeTime } from '../../../test/fakes/time.ts'
import type { Json } from '../../kubernetes/client/answers.ts'
import { findInstance } from './instance.ts'

useFakeTime()

describe('deleting the VM of a claim', () => {
  test('deletes it and resolves when Azure says that it is gone', async () => {
    const { azure, cluster, deletes, condition: of } = world()
    azure.deletesTakeMs = 20_000
    const work = deletes()
    await pass(10_000)
    expect(of('InstanceTerminating')?.status).toBe('True')
    expect(azure.names('virtualMachines')).toEqual(['aks-a'])
    expect(await ended(work)).toEqual({ existed: true, goneMs: expect.any(Number) })
    expect(azure.names('virtualMachines')).toEqual([])
    expect(cluster.names('secrets')).toEqual([])
  })

  test('that Azure gives up after it was accepted fails, so that the next try requests it again', async () => {
    const { azure, deletes } = world()
    azure.deletesTakeMs = 3 * 60 * 60_000
    const work = deletes()
    await pass(10_000)
    azure.becomes('aks-a', 'Failed')
    await expect(ended(work, 90_000)).rejects.toThrow('VM aks-a is Failed though its deletion was requested')
    azure.deletesTakeMs = 0
    expect(await ended(deletes())).toMatchObject({ existed: true })
    expect(azure.writes).toEqual(['DELETE virtualMachines/aks-a', 'DELETE virtualMachines/aks-a'])
  })

  test.each<[string, Readonly<Record<string, string>>]>([
    ['of Joiner', own],
    ['of Karpenter for the same NodePool', karpenters],
  ])('%s takes NIC and disk along', async (_, tags) => {
    const { azure, deletes } = world(goingClaim('a'), tags)
    const id = `/subscriptions/${azureConfig.subscriptionId}/resourceGroups/MC_group/providers/Microsoft.Compute/virtualMachines/aks-a`
    azure.put('networkInterfaces', 'aks-a-1', { virtualMachine: { id } })
    azure.put('disks', 'aks-a-1', { managedBy: id })
    await ended(deletes())
    expect([azure.names('networkInterfaces'), azure.names('disks')]).toEqual([[], []])
  })

  test('of a claim that is not being deleted is refused; VM and token stay', async () => {
    const { azure, cluster, deletes } = world(claimJson('a'))
    await expect(deletes()).rejects.toThrow('metadata.deletionTimestamp is not set')
    expect(azure.writes).toEqual([])
    expect(cluster.names('secrets')).toEqual([secretName])
  })

  test('of a claim whose deletion a restore of etcd took back is refused, though the cache has not heard of that', async () => {
    const { azure, cluster, deletes } = world()
    cluster.lag()
    cluster.edit('nodeclaims', 'a', { metadata: { deletionTimestamp: null } })
    await expect(deletes()).rejects.toThrow('metadata.deletionTimestamp is not set')
    expect(azure.writes).toEqual([])
    expect(cluster.names('secrets')).toEqual([secretName])
  })

  test.each(foreign)('%s never deletes it; the claim reports it and keeps waiting', async (_, tags) => {
    const { azure, deletes, condition: of, reported } = world(goingClaim('a'), tags)
    await expect(ended(deletes())).rejects.toThrow('joiner node force-finish a --leave-vm')
    expect(azure.writes).toEqual([])
    expect(of('InstanceTerminating')).toMatchObject({ status: 'False', reason: 'InstanceNotOwned' })
    expect(reported.map(({ reason }) => reason)).toEqual(['FailedTermination'])
  })

  test.each(foreign)('%s does not concern a claim that never had a VM', async (_, tags) => {
    const { azure, deletes } = world(goingClaim('a', { status: { providerID: undefined } }), tags)
    expect(await ended(deletes())).toEqual({ existed: false, goneMs: expect.any(Number) })
    expect(azure.writes).toEqual([])
  })

  test('whose status names a VM elsewhere waits for the operator', async () => {
    const { azure, deletes } = world(goingClaim('a', { status: { providerID: elsewhere } }), 'noVm')
    await expect(ended(deletes())).rejects.toThrow('names another VM than')
    expect(azure.writes).toEqual([])
  })

  test('that is gone already is success', async () => {
    const { deletes, cluster } = world(goingClaim('a'), 'noVm')
    expect(await ended(deletes())).toEqual({ existed: false, goneMs: expect.any(Number) })
    expect(cluster.names('secrets')).toEqual([])
  })

  test('of a claim that is gone is identified by the UID alone', async () => {
    const { azure, deletes } = world(claimJson('b'))
    expect(await ended(deletes())).toEqual({ existed: true, goneMs: expect.any(Number) })
    expect(azure.names('virtualMachines')).toEqual([])
    const other = world(claimJson('b'), karpenters)
    expect(await ended(other.deletes())).toEqual({ existed: false, goneMs: expect.any(Number) })
    expect(other.azure.writes).toEqual([])
  })

  test.each([
    ['Ready, whose pods were not drained', 'True', []],
    ['silent', 'Unknown', ['DELETE virtualMachines/aks-a']],
  ] as const)(
    'of a claim that was lost in its drain is left to garbage collection while its Node is %s',
    async (_, status, writes) => {
      const { azure, cluster, deletes } = world(claimJson('b'))
      cluster.put('nodes', nodeJson('a', { status: { conditions: [condition('Ready', status)] } }))
      expect(await ended(deletes())).toMatchObject({ existed: writes.length > 0 })
      expect(azure.writes).toEqual(writes)
    },
  )

  test('is not requested twice while it goes', async () => {
    const { azure, deletes } = world()
    azure.becomes('aks-a', 'Deleting')
    setTimeout(() => azure.remove('virtualMachines', 'aks-a'), 3000)
    expect(await ended(deletes())).toEqual({ existed: true, goneMs: expect.any(Number) })
    expect(azure.writes).toEqual([])
  })

  test('does not rely on a list that does not show the VM', async () => {
    const { azure, deletes } = world()
    azure.deletesTakeMs = 20_000
    azure.intercept((request) => {
      // The list comes from a place that holds no VMs at all.
      return request === 'GET virtualMachines/' ? { status: 200, body: { value: [] } } : undefined
    })
    const work = deletes()
    let isOver = false
    void work.then(() => {
      isOver = true
    })
    await pass(15_000)
    expect(isOver).toBe(false)
    expect(await ended(work)).toEqual({ existed: true, goneMs: expect.any(Number) })
  })

  test.each(['GET virtualMachines/aks-a', 'DELETE virtualMachines/aks-a'])(
    'fails when Azure refuses %s, and says nothing of success',
    async (what) => {
      const { azure, deletes, condition: of } = world()
      azure.intercept((request) => (request === what ? denied : undefined))
      await expect(ended(deletes())).rejects.toThrow('no')
      expect(azure.names('virtualMachines')).toEqual(['aks-a'])
      expect(of('InstanceTerminating')).toBeUndefined()
    },
  )

  test('counts how long it took', async () => {
    const { azure, deletes, deps } = world()
    azure.deletesTakeMs = 4000
    const seen: string[] = []
    deps.lifecycleMetrics.instanceTerminated = (claim) => void seen.push(claim.metadata.name)
    await ended(deletes())
    expect(seen).toEqual(['a'])
  })
})

describe('whether a claim may still have a VM', () => {
  test.each<[string, Json, Readonly<Record<string, string>> | 'noVm', boolean]>([
    ['of its own', goingClaim('a'), own, true],
    ['of its name, whoever owns it', goingClaim('a'), {}, true],
    ['none', goingClaim('a'), 'noVm', false],
    [
      'none of the name, and its status names one elsewhere',
      goingClaim('a', { status: { providerID: elsewhere } }),
      'noVm',
      true,
    ],
    ['none, and it is gone', claimJson('b'), 'noVm', false],
  ])('%s', async (_, claim, tags, exists) => {
    const { deps } = world(claim, tags)
    expect(await findInstance(deps, ref)).toEqual({ exists })
  })

  test.each<Refusal>([
    denied,
    { status: 404, code: 'ResourceGroupNotFound' },
    { status: 404, code: 'SubscriptionNotFound' },
    { status: 500, code: 'InternalServerError' },
  ])('is not known after $status $code', async (refusal) => {
    const { azure, deps } = world(goingClaim('a'), 'noVm')
    azure.intercept(() => refusal)
    await expect(findInstance(deps, ref)).rejects.toThrow()
  })

  test('with a name that no VM can have: none', async () => {
    const { deps } = world()
    expect(await findInstance(deps, { name: 'x'.repeat(61), uid: 'u' })).toEqual({ exists: false })
  })
})

test('the metrics of Azure calls name what failed', async () => {
  const { azure, deps, registry } = world(goingClaim('a'), 'noVm')
  azure.intercept(() => denied)
  await findInstance(deps, ref).catch(() => {})
  expect(await metricLines(registry, 'karpenter_cloudprovider_errors_total{')).toEqual([
    'karpenter_cloudprovider_errors_total{controller="",method="Get",provider="azure",error="unknown",nodepool=""} 1',
  ])
})
