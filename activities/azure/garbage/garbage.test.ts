import { Registry } from 'prom-client'
import { afterEach, describe, expect, test } from 'vitest'
import { FakeAzure, type Refusal } from '../../../test/fakes/azure.ts'
import { azureConfig } from '../../../test/fakes/azure-config.ts'
import { azureDeps } from '../../../test/fakes/azure-deps.ts'
import { FakeCluster } from '../../../test/fakes/cluster.ts'
import { metricLines } from '../../../test/fakes/deps.ts'
import {
  at,
  claimJson,
  condition,
  goingClaim,
  nodeClassJson,
  nodeJson,
  podJson,
  poolJson,
} from '../../../test/fakes/objects.ts'
import { ended, pass, useFakeTime } from '../../../test/fakes/time.ts'
import { ApiError, type Json } from '../../kubernetes/client/client.ts'
import type { GarbageReport } from '../contract.ts'
import { osDiskName } from '../launch/os-disk-name.ts'
import { vmTags } from '../launch/virtual-machine.ts'
import { GarbageCollector } from './garbage.ts'

useFakeTime()

const stops: (() => void)[] = []
afterEach(() => {
  for (const stop of stops.splice(0)) stop()
})

const tagsOf = (claim: string, nodePool = 'default') =>
  vmTags({ config: azureConfig, nodeClass: { tags: {} }, claim: { uid: `uid-${claim}`, nodePool } })
const karpenters = (nodePool = 'default') => {
  const { 'joiner.sh_nodeclaim-uid': _uid, 'joiner.sh_cluster-uid': _cluster, ...tags } = tagsOf('x', nodePool)
  return tags
}
const diskOf = (claim: string, attempt = 1, clusterUid = azureConfig.clusterUid) =>
  osDiskName(clusterUid, claim, attempt)
const unattached = { diskState: 'Unattached' }

/** A cluster with one healthy node `good`, and garbage as the test adds it. */
function world() {
  const cluster = new FakeCluster()
  const azure = new FakeAzure()
  cluster.put('nodepools', poolJson())
  cluster.put('aksnodeclasses', nodeClassJson())
  const known = azureDeps(cluster, azure)
  stops.push(known.stop)
  const registry = new Registry()
  const collector = new GarbageCollector(known.deps, registry)
  const collect = () => ended(collector.collect(new AbortController().signal))
  const made = {
    ...known,
    cluster,
    azure,
    registry,
    collect,
    add: (name: string, change: Adding = {}) => add(made, name, change),
  }
  made.add('good')
  return made
}

interface Adding {
  readonly claim?: Json | false
  readonly node?: Json | false
  readonly vm?: Readonly<Record<string, string>> | false
  readonly ageMinutes?: number
  readonly state?: string
}

/** A node with all that belongs to it; `false`: without that part. */
function add(
  { cluster, azure }: { cluster: FakeCluster; azure: FakeAzure },
  name: string,
  { claim, node, vm, ageMinutes = 60, state = 'Succeeded' }: Adding,
): void {
  if (claim !== false) cluster.put('nodeclaims', claimJson(name, claim ?? {}))
  if (node !== false) cluster.put('nodes', nodeJson(name, node ?? {}))
  if (vm === false) return
  const id = `/subscriptions/${azureConfig.subscriptionId}/resourceGroups/MC_group/providers/Microsoft.Compute/virtualMachines/aks-${name}`
  azure.put('virtualMachines', `aks-${name}`, {
    tags: vm ?? tagsOf(name),
    provisioningState: state,
    timeCreated: at(-60 * ageMinutes),
    storageProfile: { osDisk: { name: diskOf(name) } },
    networkProfile: { networkInterfaces: [{ id: `/x/networkInterfaces/aks-${name}-1` }] },
  })
  azure.put('networkInterfaces', `aks-${name}-1`, { tags: vm ?? tagsOf(name), virtualMachine: { id } })
  azure.put('disks', diskOf(name), { managedBy: id, diskState: 'Attached' })
}

const nothing: GarbageReport = { virtualMachines: [], networkInterfaces: [], disks: [], nodeClaims: [], nodes: [] }

describe('a VM without a claim', () => {
  test('is deleted with NIC and disk, and an event about its NodePool tells it', async () => {
    const { azure, add, collect, told, registry } = world()
    add('lost', { claim: false, node: false })
    expect(await collect()).toEqual({ ...nothing, virtualMachines: ['aks-lost'] })
    expect(azure.names('virtualMachines')).toEqual(['aks-good'])
    expect(azure.names('networkInterfaces')).toEqual(['aks-good-1'])
    expect(azure.names('disks')).toEqual([diskOf('good')])
    expect(told).toEqual([
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

  test('is looked at once more before it goes: a claim that has the name by then keeps it', async () => {
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

  test('that cannot be deleted now is left to the next pass, and keeps nobody else', async () => {
    const { azure, add, collect, logged } = world()
    add('lost', { claim: false, node: false })
    add('lost-too', { claim: false, node: false })
    const end = azure.intercept((request): Refusal | undefined =>
      request === 'DELETE virtualMachines/aks-lost' ? { status: 409, code: 'OperationNotAllowed' } : undefined,
    )
    expect((await collect()).virtualMachines).toEqual(['aks-lost-too'])
    expect(logged.join()).toContain('Azure still holds what is garbage')
    end()
    expect((await collect()).virtualMachines).toEqual(['aks-lost'])
  })

  test('and whose claim cannot be looked for is left alone', async () => {
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
  test('most claims without a VM: nothing at all is deleted, and it is told', async () => {
    const { azure, cluster, add, collect, told } = world()
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
    expect(told.map(({ reason, about }) => [reason, about])).toEqual([
      ['GarbageWithheld', 'Namespace/joiner'],
      ['GarbageWithheld', 'AKSNodeClass/default'],
    ])
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

  test('more than ten VMs in a cluster without any claim: they are left alone', async () => {
    const { azure, cluster, add, collect } = world()
    cluster.remove('nodeclaims', 'good')
    for (let index = 0; index < 10; index += 1) add(`lost-${index}`, { claim: false, node: false })
    expect(await collect()).toEqual(nothing)
    expect(azure.writes).toEqual([])
  })
})

describe('a leftover NIC or disk', () => {
  const leftovers: [string, (azure: FakeAzure) => void, 'networkInterfaces' | 'disks', string][] = [
    [
      'NIC of a claim that is gone',
      (azure) => azure.put('networkInterfaces', 'aks-lost-1', { tags: tagsOf('lost') }),
      'networkInterfaces',
      'aks-lost-1',
    ],
    [
      'NIC of Karpenter',
      (azure) => azure.put('networkInterfaces', 'aks-lost', { tags: karpenters() }),
      'networkInterfaces',
      'aks-lost',
    ],
    [
      'NIC of an earlier attempt of a claim that lives',
      (azure) => azure.put('networkInterfaces', 'aks-good-7', { tags: tagsOf('good') }),
      'networkInterfaces',
      'aks-good-7',
    ],
    [
      'disk of a claim that is gone',
      (azure) => azure.put('disks', diskOf('lost'), unattached),
      'disks',
      diskOf('lost'),
    ],
    [
      'disk of an earlier attempt',
      (azure) => azure.put('disks', diskOf('good', 7), unattached),
      'disks',
      diskOf('good', 7),
    ],
  ]

  test.each(leftovers)('%s goes in the second pass that sees it, ten seconds later', async (_, plant, kind, name) => {
    const { azure, collect } = world()
    plant(azure)
    expect(await collect()).toEqual(nothing)
    await pass(9000)
    expect(await collect()).toEqual(nothing)
    await pass(1000)
    expect(await collect()).toEqual({ ...nothing, [kind]: [name] })
    expect(azure.names(kind)).not.toContain(name)
  })

  test('that was away for a pass is seen anew', async () => {
    const { azure, collect } = world()
    azure.put('disks', diskOf('lost'), unattached)
    await collect()
    azure.remove('disks', diskOf('lost'))
    await pass(10_000)
    await collect()
    azure.put('disks', diskOf('lost'), unattached)
    await pass(10_000)
    expect(await collect()).toEqual(nothing)
  })

  test.each<[string, (azure: FakeAzure) => void]>([
    [
      'a NIC that a VM uses',
      (azure) => azure.put('networkInterfaces', 'aks-lost-1', { tags: tagsOf('lost'), virtualMachine: { id: 'x' } }),
    ],
    [
      'a NIC of another cluster',
      (azure) =>
        azure.put('networkInterfaces', 'aks-lost-1', { tags: { ...tagsOf('lost'), 'joiner.sh_cluster-uid': 'other' } }),
    ],
    ['a NIC of another name', (azure) => azure.put('networkInterfaces', 'lost-1', { tags: tagsOf('lost') })],
    ['a NIC of the VM that lives', (azure) => azure.put('networkInterfaces', 'aks-good-1', { tags: tagsOf('good') })],
    [
      'a disk that is attached',
      (azure) => azure.put('disks', diskOf('lost'), { diskState: 'Attached', managedBy: 'x' }),
    ],
    ['a disk that is reserved', (azure) => azure.put('disks', diskOf('lost'), { diskState: 'Reserved' })],
    ['a disk without a mark', (azure) => azure.put('disks', 'aks-lost-1', unattached)],
    ['a disk of another cluster', (azure) => azure.put('disks', diskOf('lost', 1, 'other'), unattached)],
    ['a persistent volume', (azure) => azure.put('disks', 'pvc-0a1b', unattached)],
  ])('%s is never deleted', async (_, plant) => {
    const { azure, collect } = world()
    plant(azure)
    for (let index = 0; index < 3; index += 1) {
      expect(await collect()).toEqual(nothing)
      await pass(60_000)
    }
    expect(azure.writes).toEqual([])
  })

  test.each<[string, (azure: FakeAzure) => void, string, string]>([
    [
      'a NIC',
      (azure) => azure.put('networkInterfaces', 'aks-lost-1', { tags: tagsOf('lost') }),
      'GET networkInterfaces/aks-lost-1',
      'aks-lost-1',
    ],
    [
      'a disk',
      (azure) => azure.put('disks', diskOf('lost'), unattached),
      `GET disks/${diskOf('lost')}`,
      diskOf('lost'),
    ],
  ])('%s that a VM has taken by the last look stays', async (_, plant, look, name) => {
    const { azure, collect } = world()
    plant(azure)
    await collect()
    await pass(10_000)
    azure.intercept((request) => {
      if (request !== look) return
      if (request.includes('disks')) azure.put('disks', name, { diskState: 'Attached', managedBy: 'vm' })
      else azure.put('networkInterfaces', name, { tags: tagsOf('lost'), virtualMachine: { id: 'vm' } })
    })
    expect(await collect()).toEqual(nothing)
    expect(azure.writes).toEqual([])
  })

  test('whose disk carries the mark of another cluster is told, once a name', async () => {
    const { azure, collect, told, registry } = world()
    azure.put('disks', diskOf('lost', 1, 'other'), unattached)
    azure.put('disks', 'aks-lost-1-zzz', unattached)
    await collect()
    expect(told.filter(({ reason }) => reason === 'GarbageLeft').map(({ message }) => message)).toEqual([
      expect.stringContaining('carries the mark of another cluster'),
      expect.stringContaining('has a mark that no Joiner made'),
    ])
    expect((await metricLines(registry, 'joiner_garbage_unproven{')).sort()).toEqual([
      'joiner_garbage_unproven{resource="disk",cause="malformed"} 1',
      'joiner_garbage_unproven{resource="disk",cause="otherCluster"} 1',
    ])
    azure.remove('disks', 'aks-lost-1-zzz')
    await collect()
    expect(await metricLines(registry, 'joiner_garbage_unproven{')).toHaveLength(1)
  })
})

describe('a claim without a VM', () => {
  const silent = { status: { conditions: [condition('Ready', 'Unknown')] } }

  test('whose Node is silent is deleted, so that its pods are planned anew', async () => {
    const { cluster, add, collect, told } = world()
    add('other')
    add('gone', { vm: false, node: silent })
    cluster.put('pods', podJson('web', 'gone'))
    expect(await collect()).toEqual({ ...nothing, nodeClaims: ['gone'] })
    expect(cluster.object('nodeclaims', 'gone')?.metadata.deletionTimestamp).toBeDefined()
    expect(told).toEqual([
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
    const before = cluster.object('nodeclaims', 'gone')
    expect(await collect()).toEqual(nothing)
    expect(cluster.object('nodeclaims', 'gone')).toEqual(before)
  })

  test('in the list is kept when Azure itself knows the VM', async () => {
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

  test('and that is being deleted is let go', async () => {
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
      'has no owner',
      { claim: false, vm: false, node: { metadata: { deletionTimestamp: at(0), ownerReferences: [] } } },
    ],
    [
      'has another provider id',
      { claim: false, vm: false, node: { ...leaving, spec: { providerID: 'azure:///elsewhere' } } },
    ],
  ])('is kept when it %s', async (_, change) => {
    const { cluster, add, collect } = world()
    add('lost', change)
    expect((await collect()).nodes).toEqual([])
    expect(cluster.names('nodes')).toContain('aks-lost')
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

test('a healthy cluster is left as it is', async () => {
  const { azure, cluster, collect, told } = world()
  cluster.put('nodeclaims', goingClaim('going'))
  const before = cluster.snapshot()
  expect(await collect()).toEqual(nothing)
  expect(cluster.snapshot()).toEqual(before)
  expect([azure.writes, told]).toEqual([[], []])
})
