import { describe, expect, test } from 'vitest'
import { FakeAzure } from '../../../test/fakes/azure.ts'
import { metricLines } from '../../../test/fakes/deps.ts'
import { diskOf, karpenters, nothing, tagsOf, unattached, world } from '../../../test/fakes/garbage-world.ts'
import { pass, useFakeTime } from '../../../test/fakes/time.ts'

useFakeTime()

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

  test('that was away for a pass is seen for the first time again', async () => {
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

  test('whose disk carries the mark of another cluster is reported, once a name', async () => {
    const { azure, collect, reported, registry } = world()
    azure.put('disks', diskOf('lost', 1, 'other'), unattached)
    azure.put('disks', 'aks-lost-1-zzz', unattached)
    await collect()
    expect(reported.filter(({ reason }) => reason === 'GarbageLeft').map(({ message }) => message)).toEqual([
      expect.stringContaining('carries the mark of another cluster'),
      expect.stringContaining('has a mark that no Joiner made'),
    ])
    expect((await metricLines(registry, 'joiner_garbage_unproven{')).toSorted()).toEqual([
      'joiner_garbage_unproven{resource="disk",cause="malformed"} 1',
      'joiner_garbage_unproven{resource="disk",cause="otherCluster"} 1',
    ])
    azure.remove('disks', 'aks-lost-1-zzz')
    await collect()
    expect(await metricLines(registry, 'joiner_garbage_unproven{')).toHaveLength(1)
  })
})
