import { expect, test } from 'vitest'
import { FakeCluster } from '../../../test/fakes/cluster.ts'
import { at, claimJson, condition, nodeClassJson, nodeJson, poolJson } from '../../../test/fakes/objects.ts'
import { pass, useFakeTime } from '../../../test/fakes/time.ts'
import { asksOf } from './maintenance.ts'

useFakeTime()

const joined = ['Launched', 'Registered', 'Initialized'].map((type) => condition(type))
const refused = { ...condition('Launched', 'Unknown', 0, 'SkuNotAvailable'), message: 'no room for D2s_v5' }
const going = { metadata: { deletionTimestamp: at(0) } }

/** A class with a pool and a node `a`, and a claim `b` that is being launched. */
function world() {
  const cluster = new FakeCluster()
  cluster.put('aksnodeclasses', nodeClassJson())
  cluster.put('nodepools', poolJson())
  cluster.put('nodeclaims', claimJson('a', { status: { conditions: joined } }))
  cluster.put('nodes', nodeJson('a'))
  cluster.put('nodeclaims', claimJson('b', { status: { conditions: [condition('Launched', 'Unknown')] } }))
  const cache = cluster.cacheOf()
  const asked = new Set<string>()
  cache.onChange((change) => {
    for (const part of asksOf(cache, change)) asked.add(part)
  })
  return { cluster, asked }
}

test.each<[string, (cluster: FakeCluster) => void, readonly string[]]>([
  ['a new NodePool', (to) => to.put('nodepools', poolJson('new')), ['nodeClasses']],
  [
    'another class of a NodePool',
    (to) => to.put('nodepools', poolJson('default', { metadata: { generation: 2 } })),
    ['nodeClasses'],
  ],
  ['a label of a NodePool', (to) => to.edit('nodepools', 'default', { metadata: { labels: { a: 'b' } } }), []],
  ['a NodePool that is gone', (to) => to.remove('nodepools', 'default'), []],
  ['a new class', (to) => to.put('aksnodeclasses', nodeClassJson('new')), ['nodeClasses', 'inPlace']],
  [
    'tags of a class',
    (to) => to.put('aksnodeclasses', nodeClassJson('default', { metadata: { generation: 2 } })),
    ['nodeClasses', 'inPlace'],
  ],
  [
    'the status of a class',
    (to) => to.edit('aksnodeclasses', 'default', { status: { conditions: [condition('Ready')] } }),
    [],
  ],
  ['a class that goes', (to) => to.put('aksnodeclasses', nodeClassJson('default', going)), ['nodeClasses', 'inPlace']],
  ['a refused offering', (to) => to.edit('nodeclaims', 'b', { status: { conditions: [refused] } }), ['garbage']],
  [
    'a VM that is accepted',
    (to) => to.edit('nodeclaims', 'b', { status: { conditions: [condition('Launched')] } }),
    [],
  ],
  ['a claim that was given up', (to) => to.remove('nodeclaims', 'b'), ['garbage']],
  ['a claim whose finalizer somebody took off', (to) => to.remove('nodeclaims', 'a'), ['garbage']],
  ['a Node that is gone', (to) => to.remove('nodes', 'aks-a'), ['garbage']],
  [
    'a Node that is not ready',
    (to) => to.edit('nodes', 'aks-a', { status: { conditions: [condition('Ready', 'Unknown')] } }),
    [],
  ],
])('%s', async (_what, change, expected) => {
  const { cluster, asked } = world()
  change(cluster)
  await pass(1)
  expect([...asked]).toEqual(expected)
})

test('a life that ends in order asks for nothing, and for its class only where that waits for its claims', async () => {
  const { cluster, asked } = world()
  const conditions = [...joined, condition('InstanceTerminating')]
  cluster.put('nodeclaims', claimJson('a', { ...going, status: { conditions } }))
  cluster.remove('nodes', 'aks-a')
  cluster.remove('nodeclaims', 'a')
  await pass(1)
  expect([...asked]).toEqual([])
  cluster.put('nodeclaims', claimJson('c', { status: { conditions } }))
  cluster.put('aksnodeclasses', nodeClassJson('default', going))
  await pass(1)
  asked.clear()
  cluster.remove('nodeclaims', 'c')
  await pass(1)
  expect([...asked]).toEqual(['nodeClasses'])
})
