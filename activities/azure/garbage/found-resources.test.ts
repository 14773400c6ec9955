import { describe, expect, test } from 'vitest'
import type { NodeClaim } from '../../../core/objects.ts'
import { FakeAzure } from '../../../test/fakes/azure.ts'
import { azureConfig } from '../../../test/fakes/azure-config.ts'
import { azureDeps } from '../../../test/fakes/azure-deps.ts'
import { FakeCluster } from '../../../test/fakes/cluster.ts'
import { diskOf, karpenters, tagsOf } from '../../../test/fakes/garbage-world.ts'
import { at } from '../../../test/fakes/objects.ts'
import { useFakeTime } from '../../../test/fakes/time.ts'
import { sampleClaim } from '../../../test/samples/sample-objects.ts'
import { providerId } from '../launch/virtual-machine.ts'
import { findResources, isUnattached, leftoverNic } from './found-resources.ts'
import { listedInstance } from './listed-instance.ts'

useFakeTime()

describe('what is found in the resource group', () => {
  test('of VMs: those with our tags and name; all are listed by provider id', async () => {
    const azure = new FakeAzure()
    const { deps } = azureDeps(new FakeCluster(), azure)
    azure.put('virtualMachines', 'aks-own', { tags: tagsOf('own'), timeCreated: at(0), provisioningState: 'Deleting' })
    azure.put('virtualMachines', 'aks-karpenters', { tags: { ...karpenters(), 'joiner.sh_abandoned': 'x' } })
    azure.put('virtualMachines', 'database', { tags: tagsOf('database') })
    azure.put('virtualMachines', 'aks-foreign', { tags: { 'karpenter.azure.com_cluster': 'other' } })
    const found = await findResources(deps)
    expect(found.virtualMachines).toEqual([
      {
        name: 'aks-own',
        claimName: 'own',
        claimUid: 'uid-own',
        createdAtMs: Date.parse(at(0)),
        isBeingDeleted: true,
        isAbandoned: false,
        parts: new Set(['']),
      },
      {
        name: 'aks-karpenters',
        claimName: 'karpenters',
        isBeingDeleted: false,
        isAbandoned: true,
        parts: new Set(['']),
      },
    ])
    expect([...found.listed.keys()].map((id) => id.slice(id.lastIndexOf('/') + 1))).toEqual([
      'aks-own',
      'aks-karpenters',
      'database',
      'aks-foreign',
    ])
    expect([...found.nodePools]).toEqual([
      ['aks-own', 'default'],
      ['aks-karpenters', 'default'],
    ])
  })

  test('of VMs: what their tags say, in whatever case Azure has the names', async () => {
    const azure = new FakeAzure()
    const { deps } = azureDeps(new FakeCluster(), azure)
    const tags = { ...tagsOf('own'), 'joiner.sh_abandoned': 'x' }
    const shouted = Object.fromEntries(Object.entries(tags).map(([name, value]) => [name.toUpperCase(), value]))
    azure.put('virtualMachines', 'aks-own', { tags: shouted })
    const { virtualMachines, nodePools } = await findResources(deps)
    expect(virtualMachines).toMatchObject([{ name: 'aks-own', claimUid: 'uid-own', isAbandoned: true }])
    expect([...nodePools]).toEqual([['aks-own', 'default']])
  })

  test('of disks: unattached ones with our mark; marks of others are reported', async () => {
    const azure = new FakeAzure()
    const { deps } = azureDeps(new FakeCluster(), azure)
    const unattached = { diskState: 'Unattached' }
    azure.put('disks', diskOf('own', 3), unattached)
    azure.put('disks', diskOf('attached'), { diskState: 'Attached', managedBy: 'vm' })
    azure.put('disks', diskOf('foreign', 1, 'other'), unattached)
    azure.put('disks', 'pvc-1', unattached)
    const found = await findResources(deps)
    expect(found.disks).toEqual([{ name: diskOf('own', 3), claimName: 'own' }])
    expect(found.unproven).toEqual([{ name: diskOf('foreign', 1, 'other'), cause: 'otherCluster' }])
  })
})

describe('a NIC as a leftover', () => {
  test.each<[string, Parameters<typeof leftoverNic>[0], ReturnType<typeof leftoverNic>]>([
    [
      'of Joiner is named after its attempt',
      { name: 'aks-a-2', tags: tagsOf('a') },
      { name: 'aks-a-2', claimName: 'a', claimUid: 'uid-a' },
    ],
    [
      'of Joiner for a claim whose name ends in a number',
      { name: 'aks-a-7-2', tags: tagsOf('a-7') },
      { name: 'aks-a-7-2', claimName: 'a-7', claimUid: 'uid-a-7' },
    ],
    [
      'of Karpenter has the name of its VM',
      { name: 'aks-a-7', tags: karpenters() },
      { name: 'aks-a-7', claimName: 'a-7' },
    ],
    ['with a VM is none', { name: 'aks-a-2', tags: tagsOf('a'), virtualMachine: { id: 'x' } }, undefined],
    ['without tags is none', { name: 'aks-a-2' }, undefined],
    [
      'of an AKS machine is none',
      { name: 'aks-a-2', tags: { ...tagsOf('a'), 'karpenter.azure.com_aksmachine_nodeclaim': 'x' } },
      undefined,
    ],
    ['of another name is none', { name: 'a-2', tags: tagsOf('a') }, undefined],
  ])('%s', (_, nic, part) => {
    expect(leftoverNic(nic, azureConfig)).toEqual(part)
  })
})

test.each([
  [{ diskState: 'Unattached' as const }, true],
  [{ diskState: 'Unattached' as const, managedBy: 'vm' }, false],
  [{ diskState: 'Attached' as const }, false],
  [{ diskState: 'Reserved' as const }, false],
  [{ diskState: 'ActiveSAS' as const }, false],
  [{}, false],
])('the disk %j is unattached: %s', (disk, is) => {
  expect(isUnattached(disk as Parameters<typeof isUnattached>[0])).toBe(is)
})

describe('the listed VM of a claim', () => {
  const own = providerId(azureConfig, 'a')
  const elsewhere = own.replace('mc_group', 'mc_other')
  const claim = (id: string | undefined): NodeClaim => {
    const sample = sampleClaim('a', {
      metadata: { name: 'a', uid: 'uid-a', labels: { 'karpenter.sh/nodepool': 'default' } },
    })
    const { providerId: _, ...status } = sample.status
    return { ...sample, status: id === undefined ? status : { ...status, providerId: id } }
  }
  const listed = (tags: Readonly<Record<string, string>>, id = own) => new Map([[id.toLowerCase(), { id, tags }]])

  test.each<[string, string | undefined, ReturnType<typeof listed>, ReturnType<typeof listedInstance>]>([
    ['its VM', own, listed(tagsOf('a')), 'own'],
    ['its VM, in other letters', own.toUpperCase(), listed(tagsOf('a')), 'own'],
    ['its VM, by Karpenter', own, listed(karpenters()), 'own'],
    ['a VM without tags', own, listed({}), 'unproven'],
    ['its VM, with the tags of another claim', own, listed(tagsOf('b')), 'namesake'],
    [
      'the VM of another claim',
      own.replace('aks-a', 'aks-b'),
      listed(tagsOf('b'), own.replace('aks-a', 'aks-b')),
      'unproven',
    ],
    ['a VM of Karpenter for another pool', own, listed(karpenters('other')), 'unproven'],
    ['none', own, new Map(), 'missing'],
    ['none, and its id lies elsewhere', elsewhere, new Map(), 'elsewhere'],
    ['none of its id, but one of its name', elsewhere, listed(tagsOf('a')), 'elsewhere'],
    ['none, and it names none', undefined, listed(tagsOf('a')), 'elsewhere'],
  ])('%s', (_, id, vms, instance) => {
    expect(listedInstance(claim(id), vms, azureConfig)).toBe(instance)
  })
})
