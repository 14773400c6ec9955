import { describe, expect, test, vi } from 'vitest'
import type { AskedAdoption } from '../../../core/adoption.ts'
import { metricLines } from '../../../test/fakes/deps.ts'
import { nothing, tagsOf, world } from '../../../test/fakes/garbage-world.ts'
import { at, condition, daemonJson, nodeJson, podJson } from '../../../test/fakes/objects.ts'
import { useFakeTime } from '../../../test/fakes/time.ts'
import type { Json } from '../../kubernetes/client/answers.ts'
import { GarbageCollector } from './garbage.ts'

useFakeTime()

const lost = { claim: false } as const
const silent = { status: { conditions: [condition('Ready', 'Unknown')] } }
const taints = [{ key: 'karpenter.sh/disrupted', effect: 'NoSchedule' }]
const { signal } = new AbortController()

/** A world in which the NodeClaims of `names` are lost, and a pod runs on each. */
function lostWorld(...names: readonly string[]) {
  const made = world()
  for (const name of names) {
    made.add(name, lost)
    made.cluster.put('pods', podJson(`on-${name}`, name))
  }
  const vm = made.azure.get('virtualMachines', 'aks-a')
  if (vm !== undefined)
    made.azure.put('virtualMachines', 'aks-a', {
      ...vm.properties,
      tags: vm.tags,
      hardwareProfile: { vmSize: 'Standard_D2s_v5' },
      priority: 'Spot',
    })
  return { ...made, collector: new GarbageCollector(made.deps) }
}

describe('a VM whose NodeClaim is lost', () => {
  test('stays while pods run there, and is named with its cost; a dead one beside it goes', async () => {
    const { azure, cluster, add, collect, reported, registry } = lostWorld('a', 'b')
    add('dead', { ...lost, node: silent })
    cluster.put('pods', podJson('on-dead', 'dead'))
    add('gone', { ...lost, node: false })
    expect(await collect()).toEqual({ ...nothing, virtualMachines: ['aks-dead', 'aks-gone'], nodes: ['aks-dead'] })
    expect(azure.names('virtualMachines')).toEqual(['aks-a', 'aks-b', 'aks-good'])
    expect(cluster.object('nodes', 'aks-a')?.spec.taints ?? []).toEqual([])
    const withheld = reported.filter(({ reason }) => reason === 'GarbageWithheld')
    expect(withheld).toEqual([
      {
        reason: 'GarbageWithheld',
        about: 'Node/aks-a',
        message:
          'No NodeClaim stands for VM aks-a: its Node aks-a is Ready and runs 1 pod; 0.82 USD a day; gets a NodeClaim again at 2026-01-01T00:10:00Z, or by joiner admin adopt. It is kept; to have it deleted: joiner admin adopt --delete aks-a, or kubectl drain aks-a --ignore-daemonsets --delete-emptydir-data',
      },
      { reason: 'GarbageWithheld', about: 'Node/aks-b', message: expect.stringContaining('not known') as string },
    ])
    expect((await metricLines(registry, 'joiner_garbage_withheld')).toSorted()).toEqual([
      'joiner_garbage_withheld_usd_per_day{kind="VM",name="aks-a"} 0.8160000000000001',
      'joiner_garbage_withheld{kind="VM",name="aks-a"} 1',
      'joiner_garbage_withheld{kind="VM",name="aks-b"} 1',
    ])
    const stored = cluster.object('configmaps', 'joiner-withheld-machines', 'joiner')?.data['Machines'] ?? ''
    expect(JSON.parse(stored)).toMatchObject({
      count: 2,
      machines: [
        { kind: 'VM', name: 'aks-a', node: 'aks-a', pods: 1, instanceType: 'Standard_D2s_v5' },
        { name: 'aks-b' },
      ],
    })
  })

  test('is no longer named, and goes, once its pods have left', async () => {
    const { azure, cluster, collect, registry } = lostWorld('a')
    await collect()
    cluster.remove('pods', 'on-a', 'default')
    cluster.put('pods', daemonJson('daemon', 'a'))
    expect(await collect()).toEqual({ ...nothing, virtualMachines: ['aks-a'] })
    expect(azure.names('virtualMachines')).toEqual(['aks-good'])
    expect(cluster.object('nodes', 'aks-a')?.metadata.deletionTimestamp).toBeDefined()
    expect(await metricLines(registry, 'joiner_garbage_withheld')).toEqual([])
    const stored = cluster.object('configmaps', 'joiner-withheld-machines', 'joiner')?.data['Machines'] ?? ''
    expect(JSON.parse(stored)).toMatchObject({ count: 0, machines: [] })
    expect(await collect()).toEqual({ ...nothing, nodes: ['aks-a'] })
    expect(cluster.names('nodes')).toEqual(['aks-good'])
  })

  test('goes with its pods if an operator left it', async () => {
    const { azure, add, cluster, collect } = lostWorld()
    add('left', { ...lost, vm: { ...tagsOf('left'), 'joiner.sh_abandoned': at(0) } })
    cluster.put('pods', podJson('web', 'left'))
    expect((await collect()).virtualMachines).toEqual(['aks-left'])
    expect(azure.names('virtualMachines')).toEqual(['aks-good'])
  })

  test('stays, and is named, while the role core does not answer, or answered long ago', async () => {
    const { azure, collector, reported } = lostWorld('a')
    expect(await collector.collect(signal)).toEqual({ ...nothing, undecided: ['aks-a'] })
    expect(reported).toEqual([])
    for (const counts of [
      { atMs: 0, pods: {} },
      { atMs: Date.now(), pods: {} },
      { atMs: Date.now() - 200_000, pods: { 'aks-a': 0 } },
    ])
      expect(await collector.collect(signal, counts)).toEqual(nothing)
    expect(azure.writes).toEqual([])
    expect(reported[0]?.message).toContain('its pods could not be counted')
  })

  const none = () => ({ atMs: Date.now(), pods: { 'aks-a': 0 } })

  test.each<[string, Json]>([
    ['lost the taint that keeps pods away', {}],
    ['is another by then, without the taint', { metadata: { uid: 'newer' } }],
  ])('stays when its Node %s', async (_, change) => {
    const { azure, cluster, collector } = lostWorld('a')
    cluster.put('nodes', nodeJson('a', change))
    expect((await collector.collect(signal, none())).virtualMachines).toEqual([])
    expect(azure.writes).toEqual([])
  })

  test('stays when its Node became Ready since the list', async () => {
    const { azure, cluster, collector } = lostWorld('a')
    cluster.put('nodes', nodeJson('a', silent))
    azure.intercept((request) => {
      if (request === 'GET virtualMachines/aks-a') cluster.put('nodes', nodeJson('a'))
    })
    expect((await collector.collect(signal)).virtualMachines).toEqual([])
    expect(azure.writes).toEqual([])
  })

  test('stays when its Node cannot be read', async () => {
    const { azure, cluster, collector } = lostWorld('a')
    cluster.put('nodes', nodeJson('a', { spec: { ...(nodeJson('a')['spec'] as Json), taints } }))
    cluster.intercept(({ verb, path }) => {
      if (verb === 'get' && path.endsWith('/nodes/aks-a')) throw new Error('away')
    })
    expect((await collector.collect(signal, none())).virtualMachines).toEqual([])
    expect(azure.writes).toEqual([])
  })

  test('is never asked for as a Node by a name that no Node can have', async () => {
    const { cluster, add, collect } = lostWorld()
    for (const name of ['a_b', 'fine']) add(name, { ...lost, node: false })
    const asked: string[] = []
    cluster.intercept(({ path }) => {
      if (path.startsWith('/api/v1/nodes/')) asked.push(path)
    })
    expect((await collect()).virtualMachines).toEqual(['aks-a_b', 'aks-fine'])
    expect(asked).toEqual(['/api/v1/nodes/aks-fine'])
  })

  test('stays, and is named with it, while a Node of another name has its provider ID', async () => {
    const { azure, cluster, collect, reported } = lostWorld('a')
    cluster.remove('pods', 'on-a', 'default')
    cluster.put('nodes', nodeJson('a', { metadata: { name: 'rogue', uid: 'rogue', ownerReferences: [] } }))
    expect(await collect()).toEqual(nothing)
    expect(azure.writes).toEqual([])
    expect(reported[0]).toMatchObject({ about: 'Node/rogue', reason: 'GarbageWithheld' })
    cluster.remove('nodes', 'rogue')
    expect((await collect()).virtualMachines).toEqual(['aks-a'])
  })

  test('is left as it is while the list of VMs is in doubt', async () => {
    const { azure, cluster, add, collect } = lostWorld('a')
    cluster.remove('pods', 'on-a', 'default')
    for (const name of ['b', 'c', 'd']) add(name, { vm: false })
    expect(await collect()).toEqual(nothing)
    expect([azure.writes, cluster.object('nodes', 'aks-a')?.spec.taints ?? []]).toEqual([[], []])
  })
})

describe('a VM that is kept since its Node runs pods', () => {
  const counts = () => ({ atMs: Date.now(), pods: { 'aks-a': 1, 'aks-b': 1 } })
  const later = (minutes: number) => vi.setSystemTime(Date.now() + minutes * 60_000)
  const adopted = async (collector: GarbageCollector, asked?: AskedAdoption) =>
    (await collector.collect(signal, counts(), asked)).adopt?.map(({ claimName }) => claimName)

  test('gets its NodeClaim again ten minutes after it was found, whichever process looks, and at once where that is asked for', async () => {
    const { collector, deps } = lostWorld('a', 'b')
    expect(await adopted(collector)).toBeUndefined()
    expect(await adopted(collector, { names: ['aks-b'] })).toEqual(['b'])
    later(9)
    expect(await adopted(new GarbageCollector(deps))).toBeUndefined()
    later(1)
    const { adopt } = await new GarbageCollector(deps).collect(signal, counts())
    expect(adopt).toEqual([
      {
        claimName: 'a',
        claimUid: 'uid-a',
        nodePool: 'default',
        instanceType: 'Standard_D2s_v5',
        zone: '0',
        capacityType: 'spot',
        node: 'aks-a',
      },
      expect.objectContaining({ claimName: 'b', capacityType: 'on-demand' }),
    ])
    expect(await adopted(collector, { names: ['aks-b'] })).toEqual(['b'])
  })

  test('has waited for a time of its own: that of the VM of an earlier NodeClaim does not count', async () => {
    const { collector, azure } = lostWorld('a')
    await adopted(collector)
    later(10)
    const vm = azure.get('virtualMachines', 'aks-a')
    azure.put('virtualMachines', 'aks-a', { ...vm?.properties, tags: { ...vm?.tags, 'joiner.sh_nodeclaim-uid': 'b' } })
    expect(await adopted(collector)).toBeUndefined()
  })

  test('is named with what keeps it from that, also one whose tags are not of this cluster', async () => {
    const { add, cluster, collector, reported, azure } = lostWorld('a')
    cluster.put('pods', podJson('on-other', 'other'))
    add('other', { ...lost, vm: { ...tagsOf('other'), 'karpenter.azure.com_cluster': 'other' } })
    add('theirs', { ...lost, node: false, vm: { ...tagsOf('x'), 'karpenter.azure.com_cluster': 'other' } })
    cluster.remove('nodepools', 'default')
    later(20)
    expect(await adopted(collector)).toBeUndefined()
    expect(reported.map(({ message }) => message)).toEqual([
      expect.stringContaining('gets no NodeClaim: its NodePool "default" does not exist; make the NodePool again'),
      expect.stringMatching(
        /^No NodeClaim stands for VM aks-other: .* gets no NodeClaim: VM has the tag .* of cluster "other"/,
      ),
    ])
    expect(azure.writes).toEqual([])
  })
})
