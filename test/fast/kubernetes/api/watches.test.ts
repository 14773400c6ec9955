import pino from 'pino'
import { describe, expect, test } from 'vitest'
import { ClusterCache } from '../../../../activities/kubernetes/cache/cluster-cache.ts'
import { FakeCluster } from '../../../fakes/cluster.ts'
import { nodeJson } from '../../../fakes/objects.ts'
import { sampleTime } from '../../../samples/sample-objects.ts'
import { SimulatedProcess } from '../../simulated-process.ts'
import { passUntil, type VirtualClock } from '../../virtual-clock.ts'
import { VirtualTime } from '../../virtual-time.ts'
import { startControllers } from '../controllers/start-controllers.ts'
import { metaOf } from './objects.ts'

interface Watched {
  readonly cluster: FakeCluster
  readonly cache: ClusterCache
  readonly clock: VirtualClock
  readonly until: (what: string, holds: () => unknown) => Promise<void>
  /** Lists of Nodes that were asked for. */
  readonly lists: () => number
}

/** A cache of the product over lists and watches of a cluster in memory. */
async function watched(play: (watched: Watched) => Promise<void>): Promise<void> {
  using time = new VirtualTime(sampleTime)
  const cluster = new FakeCluster()
  const controllers = startControllers(cluster)
  let lists = 0
  cluster.intercept(({ verb, path }) => {
    if (verb === 'list' && path === '/api/v1/nodes') lists += 1
  })
  const process = new SimulatedProcess('joiner')
  const cache = process.run(() => new ClusterCache(cluster.client, pino({ level: 'silent' }), {}))
  process.run(() => cache.start())
  const until = (what: string, holds: () => unknown) => passUntil(time.clock, what, holds)
  await until('the cache has its lists', () => cache.unsynced.length === 0)
  await play({ cluster, cache, clock: time.clock, until, lists: () => lists })
  cache.stop()
  controllers.stop()
}

const present = (cache: ClusterCache, claim: string) => cache.nodes.get(`aks-${claim}`) !== undefined

describe('a cache of the product over a cluster in memory', () => {
  test('sees what comes, changes and goes', () =>
    watched(async ({ cluster, cache, until, lists }) => {
      cluster.put('nodes', nodeJson('a'))
      await until('it is seen', () => present(cache, 'a'))
      cluster.edit('nodes', 'aks-a', { spec: { unschedulable: true } })
      await until('the change is seen', () => cache.nodes.get('aks-a')?.unschedulable === true)
      cluster.remove('nodes', 'aks-a')
      await until('its end is seen', () => !present(cache, 'a'))
      expect(lists()).toBe(1)
    }))

  test('sees it later where watches lag', () =>
    watched(async ({ cluster, cache, clock, until }) => {
      cluster.watching.lagMs = 5000
      const putMs = clock.now()
      cluster.put('nodes', nodeJson('a'))
      await until('it is seen', () => present(cache, 'a'))
      expect(clock.now() - putMs).toBe(5000)
    }))

  test('goes on where it was when the server ends its watch, and has missed nothing', () =>
    watched(async ({ cluster, cache, clock, until, lists }) => {
      cluster.put('nodes', nodeJson('a'))
      const endsMs = clock.now() + 540_000
      await until('nine minutes are over', () => clock.now() > endsMs)
      cluster.put('nodes', nodeJson('b'))
      await until('both are seen', () => present(cache, 'a') && present(cache, 'b'))
      expect(lists()).toBe(1)
    }))

  test('lists again when the server has forgotten what it saw last', () =>
    watched(async ({ cluster, cache, until, lists }) => {
      // The next watch begins where this one was: no bookmark moves it on.
      cluster.watching.bookmarkMs = Number.POSITIVE_INFINITY
      cluster.watching.lagMs = 600_000
      cluster.put('nodes', nodeJson('a'))
      cluster.forgetChanges()
      await until('it is seen', () => present(cache, 'a'))
      expect(lists()).toBe(2)
    }))
  test('hears of the end of an Event an hour after it was written last', () =>
    watched(async ({ cluster, clock, until }) => {
      cluster.watching.endMs = Number.POSITIVE_INFINITY
      const beginMs = clock.now()
      const ends: unknown[] = []
      const look = async () => {
        const { signal } = new AbortController()
        for await (const { type, object } of cluster.server.objects.watches.watch('/api/v1/events', { signal }))
          if (type === 'DELETED') ends.push([metaOf(object).name, (clock.now() - beginMs) / 60_000])
      }
      void look()
      for (const name of ['a', 'b']) cluster.put('events', { metadata: { name, namespace: 'default' } })
      await until('40 minutes are over', () => clock.now() >= beginMs + 2_400_000)
      const writtenMs = clock.now()
      cluster.edit('events', 'b', { count: 2 }, 'default')
      await until('both are gone', () => ends.length === 2)
      expect(ends).toEqual([
        ['a', 60],
        ['b', 60 + (writtenMs - beginMs) / 60_000],
      ])
      expect(cluster.names('events')).toEqual([])
    }))
})
