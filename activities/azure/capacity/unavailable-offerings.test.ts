import pino from 'pino'
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import type { NoteFaults } from '../../../api/kept/document.ts'
import { FakeCluster } from '../../../test/fakes/cluster.ts'
import { pass, useFakeTime } from '../../../test/fakes/time.ts'
import { ApiError } from '../../kubernetes/client/api-error.ts'
import type { OfferingId } from './mark.ts'
import { UnavailableOfferings } from './unavailable-offerings.ts'

useFakeTime()
afterEach(async () => pass(0))

const offering = (change: Partial<OfferingId> = {}): OfferingId => ({
  instanceType: 'Standard_D4s_v5',
  family: 'standardDSv5Family',
  vCpus: 4,
  zone: 'westus2-1',
  capacityType: 'spot',
  ...change,
})
const zones = ['0', 'westus2-1', 'westus2-2']
const ttlMs = 60_000
const reported = { ttlMs, reason: 'AllocationFailure', zones }
const configMap = 'joiner-unavailable-offerings'

/** A replica in a cluster. */
function replica(cluster: FakeCluster, note: NoteFaults = () => {}) {
  const log = pino({ level: 'silent' })
  const deps = { client: cluster.client, namespace: 'joiner', note, now: () => Date.now(), log }
  const offerings = new UnavailableOfferings(deps)
  offerings.start()
  onTestFinished(() => offerings.stop())
  return offerings
}

const stored = (cluster: FakeCluster) => Object.keys(cluster.object('configmaps', configMap, 'joiner')?.data ?? {})

describe('a refused offering', () => {
  test('that cannot be read is named, blocks nothing, and goes with the next one', async () => {
    const cluster = new FakeCluster()
    const note = vi.fn<NoteFaults>()
    cluster.put('configmaps', {
      metadata: { name: configMap, namespace: 'joiner' },
      data: { spot: '{"kind":"allSpot"}' },
    })
    const one = replica(cluster, note)
    await pass(0)
    expect(note).toHaveBeenLastCalledWith(configMap, [
      { key: 'spot', why: expect.stringContaining('until is missing') },
    ])
    expect(one.marks.size).toBe(0)
    await one.mark(offering(), 'zoneOfCapacityType', reported)
    await pass(0)
    expect(stored(cluster)).not.toContain('spot')
    expect(note).toHaveBeenLastCalledWith(configMap, [])
  })

  test('is known to every replica, and to one that starts later', async () => {
    const cluster = new FakeCluster()
    const [first, second] = [replica(cluster), replica(cluster)]
    await pass(0)
    await first.mark(offering(), 'zoneOfCapacityType', reported)
    await pass(0)
    const third = replica(cluster)
    await pass(0)
    for (const one of [first, second, third]) expect(one.isMarked(offering())).toBe(true)
  })

  test('counts here from the first moment, before it is written', async () => {
    const cluster = new FakeCluster()
    const own = replica(cluster)
    await pass(0)
    const written = own.mark(offering(), 'zoneOfCapacityType', reported)
    expect(own.isMarked(offering())).toBe(true)
    expect(stored(cluster)).toEqual([])
    await written
    expect(stored(cluster)).not.toEqual([])
  })

  test('is offered again when its time is over, and the version changes once', async () => {
    const own = replica(new FakeCluster())
    await pass(0)
    await own.mark(offering(), 'zoneOfCapacityType', reported)
    const { version } = own
    await pass(ttlMs - 1)
    expect([own.isMarked(offering()), own.version]).toEqual([true, version])
    await pass(1)
    expect([own.isMarked(offering()), own.version, own.marks.size]).toEqual([false, version + 1, 0])
    expect(own.version).toBe(version + 1)
  })

  test('is offered again at its time after the clock was ahead and set back: the version changes then', async () => {
    const rightMs = Date.now()
    const own = replica(new FakeCluster())
    await pass(0)
    await own.markImage({ image: 'one', nodeClass: 'default', reason: 'refused', cause: 'refused' })
    const [{ untilMs } = { untilMs: 0 }] = own.marks.values()
    vi.setSystemTime(untilMs + 1000)
    expect([own.version > 0, own.marks.size]).toEqual([true, 0])
    vi.setSystemTime(rightMs)
    const { version } = own
    expect(own.marks.size).toBe(1)
    vi.setSystemTime(untilMs)
    expect([own.version > version, own.marks.size]).toEqual([true, 0])
  })

  test('that says nothing of others is not marked, and costs no request', async () => {
    const cluster = new FakeCluster()
    const own = replica(cluster)
    await pass(0)
    const asked: string[] = []
    cluster.intercept(({ verb }) => void asked.push(verb))
    await own.mark(offering(), 'nothing', reported)
    expect([own.isMarked(offering()), asked]).toEqual([false, []])
  })

  test('that cannot be written is not marked here either', async () => {
    const cluster = new FakeCluster()
    const own = replica(cluster)
    await pass(0)
    cluster.intercept(({ verb }) => {
      if (verb === 'create') throw new ApiError(403, 'Forbidden', 'no right')
    })
    await expect(own.mark(offering(), 'zoneOfCapacityType', reported)).rejects.toThrow('no right')
    expect(own.isMarked(offering())).toBe(false)
  })

  test.each<[Partial<OfferingId>, boolean]>([
    [{}, true],
    [{ instanceType: 'Standard_D8s_v5', vCpus: 8 }, true],
    [{ instanceType: 'Standard_D2s_v5', vCpus: 2 }, false],
    [{ zone: 'westus2-2' }, false],
    [{ capacityType: 'on-demand' }, false],
    [{ family: 'standardESv5Family', instanceType: 'Standard_E4s_v5' }, false],
    [{ family: 'STANDARDDSV5FAMILY', instanceType: 'Standard_D8s_v5', vCpus: 8 }, true],
  ])('in a zone speaks of %j: %s', async (change, isMarked) => {
    const own = replica(new FakeCluster())
    await pass(0)
    await own.mark(offering(), 'zoneOfCapacityType', reported)
    expect(own.isMarked(offering(change))).toBe(isMarked)
  })
})

describe('many refusals', () => {
  test('at once cost few requests, and none is lost', async () => {
    const cluster = new FakeCluster()
    const own = replica(cluster)
    await pass(0)
    const all = Array.from({ length: 50 }, (_, index) => offering({ instanceType: `Standard_${index}`, family: '' }))
    await Promise.all(all.map((one) => own.mark(one, 'zoneOfCapacityType', reported)))
    expect(all.every((one) => own.isMarked(one))).toBe(true)
    expect(stored(cluster)).toHaveLength(50)
    expect(cluster.attempts.length).toBeLessThan(5)
  })

  test('by several replicas at the same time lose nothing', async () => {
    const cluster = new FakeCluster()
    const replicas = Array.from({ length: 4 }, () => replica(cluster))
    await pass(0)
    const own = (index: number) => offering({ instanceType: `Standard_${index}`, family: '' })
    await Promise.all(replicas.map((one, index) => one.mark(own(index), 'zoneOfCapacityType', reported)))
    await pass(0)
    for (const one of replicas) expect(replicas.every((_, index) => one.isMarked(own(index)))).toBe(true)
  })

  test('take away marks that have run out, and entries that are damaged', async () => {
    const cluster = new FakeCluster()
    cluster.put('configmaps', {
      metadata: { name: configMap, namespace: 'joiner' },
      data: { rubbish: '{', spot: JSON.stringify({ kind: 'allSpot', reason: 'x', until: '2020-01-01T00:00:00Z' }) },
    })
    const own = replica(cluster)
    await pass(0)
    expect(own.isMarked(offering())).toBe(false)
    await own.mark(offering({ family: '' }), 'zoneOfCapacityType', reported)
    expect(stored(cluster)).toEqual(['offering.spot.westus2-1.Standard_D4s_v5'])
  })
})

test('a late watch event removes nothing that was written since', async () => {
  const cluster = new FakeCluster()
  let letThrough = () => {}
  const client = Object.assign(Object.create(cluster.client) as typeof cluster.client, {
    watch: async function* (path: string, options: Parameters<typeof cluster.client.watch>[1]) {
      for await (const event of cluster.client.watch(path, options)) {
        await new Promise<void>((resolve) => {
          letThrough = resolve
        })
        yield event
      }
    },
  })
  const own = replica({ client } as never)
  await pass(0)
  const [first, second] = ['A', 'B'].map((name) => offering({ instanceType: name, family: '' })) as [
    OfferingId,
    OfferingId,
  ]
  await own.mark(first, 'zoneOfCapacityType', reported)
  await own.mark(second, 'zoneOfCapacityType', reported)
  await pass(0)
  let cleared = 0
  own.onCleared(() => {
    cleared += 1
  })
  // The late event has the first mark alone.
  letThrough()
  await pass(0)
  expect([own.isMarked(first), own.isMarked(second), cleared]).toEqual([true, true, 0])
})

describe('what an operator clears', () => {
  test('is offered again at once, and waiting listeners are called', async () => {
    const cluster = new FakeCluster()
    const own = replica(cluster)
    await pass(0)
    await own.mark(offering({ family: '' }), 'zoneOfCapacityType', reported)
    await pass(0)
    let cleared = 0
    own.onCleared(() => {
      cleared += 1
    })
    cluster.edit('configmaps', configMap, { data: { 'offering.spot.westus2-1.Standard_D4s_v5': null } }, 'joiner')
    await pass(0)
    expect([own.isMarked(offering()), cleared]).toEqual([false, 1])
  })

  test('by deleting the ConfigMap is everything, and marks can be made again', async () => {
    const cluster = new FakeCluster()
    const own = replica(cluster)
    await pass(0)
    await own.mark(offering(), 'allSpot', reported)
    await pass(0)
    cluster.remove('configmaps', configMap, 'joiner')
    await pass(0)
    expect(own.marks.size).toBe(0)
    await own.mark(offering(), 'allSpot', reported)
    expect(stored(cluster)).toEqual(['spot'])
  })

  test('is not reported for a mark that merely expired', async () => {
    const cluster = new FakeCluster()
    const own = replica(cluster)
    await pass(0)
    await own.mark(offering({ family: '' }), 'zoneOfCapacityType', reported)
    let cleared = 0
    own.onCleared(() => {
      cleared += 1
    })
    await pass(ttlMs)
    await own.mark(offering({ instanceType: 'other', family: '' }), 'zoneOfCapacityType', reported)
    expect(cleared).toBe(0)
  })
})

test('until the marks are known nothing is launched', async () => {
  const cluster = new FakeCluster()
  const end = cluster.intercept(({ verb }) => {
    if (verb === 'list') throw new ApiError(503, 'ServiceUnavailable', 'away')
  })
  const own = replica(cluster)
  let isSynced = false
  void own.synced(new AbortController().signal).then(() => {
    isSynced = true
  })
  await pass(5000)
  expect(isSynced).toBe(false)
  end()
  await pass(15_000)
  expect(isSynced).toBe(true)
  const stop = new AbortController()
  const waiting = replica(new FakeCluster()).synced(stop.signal)
  stop.abort(new Error('cancelled'))
  await expect(waiting).rejects.toThrow('cancelled')
})
