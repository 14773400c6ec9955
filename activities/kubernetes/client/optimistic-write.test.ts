import { assert, asyncProperty, integer } from 'fast-check'
import { describe, expect, test } from 'vitest'
import { FakeCluster } from '../../../test/fakes/cluster.ts'
import { kubernetesDeps } from '../../../test/fakes/deps.ts'
import { at, claimJson, condition, nodeJson, poolJson } from '../../../test/fakes/objects.ts'
import { ended, useFakeTime } from '../../../test/fakes/time.ts'
import type { Json } from './answers.ts'
import { ApiError } from './api-error.ts'
import { readConfigMap, writeConfigMap } from './config-map.ts'
import { claimBeingDeleted, updateClaim, updateNode } from './object-writes.ts'
import { lockedPatch, patchOf, writeOptimistically } from './optimistic-write.ts'
import { setConditions, updateStatus } from './status-writes.ts'

useFakeTime()

const ref = { name: 'a', uid: 'uid-a' }
const conflict = () => new ApiError(409, 'Conflict', 'the object has been modified')

/** A value of which the cache knows an old version, and a server that accepts only the newest. */
function versioned(cached: number | undefined, live: number | undefined) {
  const decidedFrom: number[] = []
  const access = {
    cached: () => cached,
    live: async () => live,
    write: (version: number) => {
      decidedFrom.push(version)
      return version === live ? Promise.resolve(version + 1) : Promise.reject(conflict())
    },
  }
  return { decidedFrom, access, write: () => ended(writeOptimistically(access)) }
}

describe('an optimistic write', () => {
  test.each<[string, number | undefined, number | undefined, readonly number[], number | undefined]>([
    ['that the cache is right about needs no read', 7, 7, [7], 8],
    ['that the cache is late about is decided again from the live object', 3, 7, [3, 7], 8],
    ['of which the cache knows nothing is decided from the live object', undefined, 7, [7], 8],
    ['of what is gone writes nothing', undefined, undefined, [], undefined],
    ['of what went meanwhile ends', 3, undefined, [3], undefined],
  ])('%s', async (_, cached, live, decidedFrom, result) => {
    const found = versioned(cached, live)
    expect(await found.write()).toBe(result)
    expect(found.decidedFrom).toEqual(decidedFrom)
  })

  test('that has nothing to write returns the object', async () => {
    const { access } = versioned(7, 7)
    expect(await writeOptimistically({ ...access, write: () => undefined })).toBe(7)
  })

  test('that finds the object gone is no failure', async () => {
    const { access } = versioned(7, 7)
    const write = () => Promise.reject(new ApiError(404, 'NotFound', 'gone'))
    expect(await writeOptimistically({ ...access, write })).toBeUndefined()
  })

  test('that loses again and again gives up within the time of an activity', async () => {
    const { access } = versioned(7, 7)
    let tries = 0
    const write = () => {
      tries += 1
      return Promise.reject(conflict())
    }
    const startedAt = Date.now()
    await expect(ended(writeOptimistically({ ...access, write }))).rejects.toThrow('has been modified')
    expect(tries).toBeGreaterThan(20)
    expect(Date.now() - startedAt).toBeLessThan(10_000)
  })

  test.each([500, 403, 422])('that fails with %i fails at once', async (code) => {
    const { access, decidedFrom } = versioned(7, 7)
    await expect(
      writeOptimistically({ ...access, write: () => Promise.reject(new ApiError(code, 'x', 'no')) }),
    ).rejects.toThrow('no')
    expect(decidedFrom).toEqual([])
  })

  test('by many at once loses none of their additions', async () => {
    await assert(
      asyncProperty(integer({ min: 2, max: 12 }), async (writers) => {
        const cluster = new FakeCluster()
        cluster.put('nodeclaims', claimJson('a', { metadata: { finalizers: [] } }))
        const all = Array.from({ length: writers }, (_, index) => `example.com/${index}`)
        await ended(
          Promise.all(
            all.map((own) =>
              updateClaim(kubernetesDeps(cluster).deps, ref, ({ metadata: { finalizers } }) =>
                finalizers.includes(own) ? undefined : { metadata: { finalizers: [...finalizers, own] } },
              ),
            ),
          ),
        )
        expect(cluster.object('nodeclaims', 'a')?.metadata.finalizers.toSorted()).toEqual(all.toSorted())
      }),
      { numRuns: 10 },
    )
  })
})

describe('the lock of a merge patch', () => {
  const object = { resourceVersion: '7', uid: 'u' }

  test.each<[string, Json, Json]>([
    [
      'a map is merged, so identity is enough',
      { metadata: { labels: { a: 'b' } } },
      { metadata: { labels: { a: 'b' }, uid: 'u' } },
    ],
    [
      'a list is replaced, so it must be of the latest object',
      { metadata: { finalizers: ['x'] } },
      { metadata: { finalizers: ['x'], uid: 'u', resourceVersion: '7' } },
    ],
    [
      'a list far below counts as well',
      { spec: { a: { b: [] } } },
      { spec: { a: { b: [] } }, metadata: { uid: 'u', resourceVersion: '7' } },
    ],
    ['null is no list', { spec: { a: null } }, { spec: { a: null }, metadata: { uid: 'u' } }],
  ])('%s', (_, patch, locked) => {
    expect(patchOf(patch, object)).toEqual(locked)
    expect(lockedPatch(patch, object)).toMatchObject({ metadata: { uid: 'u', resourceVersion: '7' } })
  })
})

describe('a change of a claim', () => {
  function world() {
    const cluster = new FakeCluster()
    cluster.put('nodeclaims', claimJson('a'))
    cluster.put('nodes', nodeJson('a'))
    return { cluster, ...kubernetesDeps(cluster) }
  }

  test('never reaches a later claim of the name, whether the cache knows it or not', async () => {
    for (const isKnown of [true, false]) {
      const { cluster, deps } = world()
      if (!isKnown) cluster.lag()
      cluster.put('nodeclaims', claimJson('a', { metadata: { uid: 'newer' } }))
      const before = cluster.snapshot()
      expect(await ended(updateClaim(deps, ref, () => ({ metadata: { labels: { x: 'y' } } })))).toBeUndefined()
      expect(cluster.snapshot()).toEqual(before)
    }
  })

  test('enters the cache at once, though its watch lags', async () => {
    const { cluster, deps } = world()
    cluster.lag()
    await updateClaim(deps, ref, () => ({ metadata: { labels: { x: 'y' } } }))
    expect(deps.cache.nodeClaims.get('a')?.metadata.labels['x']).toBe('y')
  })

  test.each<[string, Json | undefined, 'claim' | 'gone' | 'refused']>([
    ['that is being deleted', { deletionTimestamp: at(0) }, 'claim'],
    ['that lives', {}, 'refused'],
    ['that is another by now', { uid: 'newer', deletionTimestamp: at(0) }, 'gone'],
  ])('for an irreversible step, %s', async (_, metadata, expected) => {
    const { cluster, deps } = world()
    cluster.edit('nodeclaims', 'a', { metadata })
    const found = claimBeingDeleted(deps, ref)
    if (expected === 'refused') await expect(found).rejects.toThrow('kubectl delete nodeclaim a')
    else expect((await found) === undefined).toBe(expected === 'gone')
  })

  test('for an irreversible step reads the API server where the cache knows of no deletion', async () => {
    const { cluster, deps } = world()
    cluster.lag()
    cluster.edit('nodeclaims', 'a', { metadata: { deletionTimestamp: at(0) } })
    expect(await claimBeingDeleted(deps, ref)).toMatchObject({ metadata: { deletionTimestamp: at(0) } })
  })

  test('of the Node is decided again when its taints were changed, and keeps what others wrote', async () => {
    const { cluster, deps } = world()
    cluster.lag()
    const theirs = { key: 'example.com/x', effect: 'NoSchedule' }
    cluster.edit('nodes', 'aks-a', { spec: { taints: [theirs] } })
    await ended(
      updateNode(deps, 'aks-a', ({ taints }) => ({
        spec: { taints: [...taints, { key: 'own', effect: 'NoSchedule' }] },
      })),
    )
    expect(cluster.object('nodes', 'aks-a')?.spec.taints).toEqual([theirs, { key: 'own', effect: 'NoSchedule' }])
  })

  test('of the Node is not lost to a writer of its status', async () => {
    const { cluster, deps } = world()
    cluster.lag()
    cluster.edit('nodes', 'aks-a', { status: { conditions: [condition('Ready', 'False')] } })
    await updateNode(deps, 'aks-a', () => ({ metadata: { labels: { x: 'y' } } }))
    expect(cluster.attempts).toEqual(['patch /api/v1/nodes/aks-a'])
    expect(cluster.object('nodes', 'aks-a')?.status.conditions[0]?.status).toBe('False')
  })

  test('of a Node that is gone is none', async () => {
    const { cluster, deps } = world()
    cluster.remove('nodes', 'aks-a')
    expect(await ended(updateNode(deps, 'aks-a', () => ({ metadata: { labels: { x: 'y' } } })))).toBeUndefined()
  })
})

describe('a status with several writers', () => {
  function world() {
    const cluster = new FakeCluster()
    cluster.put('nodeclaims', claimJson('a', { status: { conditions: [condition('Launched')] } }))
    cluster.put('nodepools', poolJson('default', { status: { conditions: [] } }))
    return { cluster, ...kubernetesDeps(cluster) }
  }

  const set = (deps: ReturnType<typeof world>['deps'], type: string, status: 'True' | 'False' | 'Unknown' = 'True') =>
    setConditions(deps, { kind: 'NodeClaim', ref: ref }, () => ({
      conditions: [{ type, status, reason: type, message: '' }],
    }))

  test('keeps the conditions of all', async () => {
    const { cluster, deps } = world()
    await ended(Promise.all([set(deps, 'Registered'), set(kubernetesDeps(cluster).deps, 'Drained', 'Unknown')]))
    const types = cluster.object('nodeclaims', 'a')?.status.conditions.map(({ type }) => type)
    expect(types).toEqual(expect.arrayContaining(['Launched', 'Registered', 'Drained']))
  })

  test('is not written when nothing has to change', async () => {
    const { cluster, deps } = world()
    await set(deps, 'Registered')
    const { attempts } = cluster
    const before = attempts.length
    await set(deps, 'Registered')
    expect(attempts).toHaveLength(before)
  })

  test('keeps the time of a condition whose status stays', async () => {
    const { cluster, deps } = world()
    await setConditions(deps, { kind: 'NodeClaim', ref: ref }, () => ({
      conditions: [{ type: 'Launched', status: 'True', reason: 'Other', message: 'other' }],
    }))
    const launched = cluster.object('nodeclaims', 'a')?.status.conditions.find(({ type }) => type === 'Launched')
    expect(launched).toMatchObject({ lastTransitionTime: at(0), reason: 'Other' })
  })

  test('writes fields beside the conditions, and clears conditions', async () => {
    const { cluster, deps } = world()
    await set(deps, 'DisruptionReason')
    await setConditions(deps, { kind: 'NodeClaim', ref: ref }, () => ({
      status: { imageID: 'x' },
      clear: ['DisruptionReason'],
    }))
    const status = cluster.object('nodeclaims', 'a')?.status
    expect(status).toMatchObject({ imageID: 'x' })
    expect(status?.conditions.map(({ type }) => type)).not.toContain('DisruptionReason')
  })

  test("of a NodePool is the pool's", async () => {
    const { cluster, deps } = world()
    const pool = { name: 'default', uid: 'uid-default' }
    await setConditions(deps, { kind: 'NodePool', ref: pool }, () => ({
      conditions: [{ type: 'NodeClassReady', status: 'True' }],
    }))
    await updateStatus(deps, { kind: 'NodePool', ref: pool }, () => ({ nodes: 3 }))
    expect(cluster.object('nodepools', 'default')?.status).toMatchObject({ nodes: 3 })
    expect(cluster.object('nodepools', 'default')?.status.conditions.map(({ type }) => type)).toContain(
      'NodeClassReady',
    )
  })
})

describe('a ConfigMap', () => {
  const place = { name: 'm', namespace: 'joiner' }
  const dataOf = (cluster: FakeCluster) => cluster.object('configmaps', 'm', 'joiner')?.data

  test('is made with its first entry, changed by entry, and keeps the others', async () => {
    const cluster = new FakeCluster()
    expect(await readConfigMap(cluster.client, place)).toBeUndefined()
    expect(await writeConfigMap(cluster.client, place, { gone: null })).toEqual({})
    expect(cluster.names('configmaps')).toEqual([])
    expect(await writeConfigMap(cluster.client, place, { a: '1', b: '2', c: null })).toEqual({ a: '1', b: '2' })
    expect(await writeConfigMap(cluster.client, place, { a: null, c: '3' })).toEqual({ b: '2', c: '3' })
    expect(dataOf(cluster)).toEqual({ b: '2', c: '3' })
  })

  test('that another process makes at the same time gets the entry as well', async () => {
    const cluster = new FakeCluster()
    cluster.intercept(({ verb }) => {
      if (verb === 'create') cluster.put('configmaps', { metadata: place, data: { theirs: '1' } })
    })
    expect(await writeConfigMap(cluster.client, place, { own: '2' })).toEqual({ theirs: '1', own: '2' })
    expect(dataOf(cluster)).toEqual({ theirs: '1', own: '2' })
  })

  test('that cannot be read does not count as an empty one', async () => {
    const cluster = new FakeCluster()
    cluster.intercept(() => {
      throw new ApiError(503, 'ServiceUnavailable', 'away')
    })
    await expect(readConfigMap(cluster.client, place)).rejects.toThrow('away')
    await expect(writeConfigMap(cluster.client, place, { a: '1' })).rejects.toThrow('away')
  })
})
