import { describe, expect, test, vi } from 'vitest'
import { free, marksOf, proposal, replacementsIn, stampKey, world } from '../../../test/fakes/commit-world.ts'
import { at } from '../../../test/fakes/objects.ts'
import { useFakeTime } from '../../../test/fakes/time.ts'
import { ApiError } from '../../kubernetes/client/api-error.ts'
import { memoryOf } from '../memory.ts'

useFakeTime()

describe('what fails on the way', () => {
  const failing: [string, (request: { verb: string; path: string; body?: unknown }) => boolean][] = [
    ['a taint', ({ verb, path }) => verb === 'patch' && path.endsWith('/nodes/aks-b')],
    ['a condition', ({ verb, path }) => verb === 'patch' && path.endsWith('/nodeclaims/b/status')],
    ['a replacement', ({ verb, path }) => verb === 'create' && path.endsWith('/nodeclaims')],
    [
      'a stamp',
      ({ verb, path, body }) =>
        verb === 'patch' && path.endsWith('/nodeclaims/b') && JSON.stringify(body).includes(`${stampKey}":"`),
    ],
  ]

  test.each(failing)('at %s is undone, and fails the attempt', async (_, isIt) => {
    const { cluster, commit } = await world()
    let isFirst = true
    cluster.intercept((request) => {
      if (!isIt(request) || !isFirst) return
      isFirst = false
      throw new ApiError(500, 'InternalError', 'etcd is away')
    })
    await expect(commit([proposal(['a', 'b'])])).rejects.toThrow('etcd is away')
    expect(marksOf(cluster)).toEqual(free)
    expect(replacementsIn(cluster).filter(({ metadata }) => metadata.deletionTimestamp === undefined)).toEqual([])
  })

  test('for one proposal lets the other go on, and the next attempt finds it', async () => {
    const { cluster, commit } = await world()
    let isFirst = true
    cluster.intercept(({ verb, path, body }) => {
      if (!isFirst || verb !== 'patch' || !path.endsWith('/nodeclaims/a') || !JSON.stringify(body).includes(stampKey))
        return
      isFirst = false
      throw new ApiError(500, 'InternalError', 'etcd is away')
    })
    const other = proposal(['b'], { id: 'single-node-0000000001', method: 'single-node' })
    await expect(commit([proposal(['a']), other])).rejects.toThrow('etcd is away')
    expect(marksOf(cluster)).toEqual({ a: 'free', b: 'taint Underutilized single-node-0000000001' })
    const outcomes = await commit([proposal(['a']), other], 2)
    expect(outcomes.map(({ kind }) => kind)).toEqual(['rejected', 'committed'])
    expect(marksOf(cluster)).toEqual({ a: 'free', b: 'taint Underutilized single-node-0000000001' })
  })

  test('a pool without room for the replacement is left alone for a while, all of it', async () => {
    const { cluster, commit, deps } = await world()
    cluster.edit('nodepools', 'default', { spec: { limits: { cpu: '0' } } })
    const [outcome] = await commit([proposal(['a', 'b'])])
    expect(outcome).toMatchObject({
      kind: 'rejected',
      message: expect.stringMatching(/^no replacement can be created: NodePool default: spec.limits/) as string,
    })
    expect(marksOf(cluster)).toEqual(free)
    expect(memoryOf(deps).resting().nodePools).toEqual({ Underutilized: ['default'] })
  })

  test('nodes that go make room in the limits of their pool', async () => {
    const { cluster, commit } = await world()
    cluster.edit('nodepools', 'default', { spec: { limits: { nodes: '2' } } })
    expect(await commit([proposal(['a', 'b'])])).toMatchObject([{ kind: 'committed' }])
  })

  test('a pool that is gone takes its claims with it, so nothing is created', async () => {
    const { cluster, commit } = await world()
    cluster.intercept(({ verb, path }) => {
      if (verb === 'get' && path.endsWith('/nodepools/default')) throw new ApiError(404, 'NotFound', 'gone')
    })
    expect(await commit([proposal(['a', 'b'])])).toEqual([
      { kind: 'rejected', message: 'no replacement can be created: NodePool default is gone' },
    ])
    expect(marksOf(cluster)).toEqual(free)
  })

  test('a replacement that the API server refuses backs off the nodes and not their pool', async () => {
    const { cluster, commit, deps } = await world()
    cluster.intercept(({ verb, path }) => {
      if (verb === 'create' && path.endsWith('/nodeclaims'))
        throw new ApiError(422, 'Invalid', 'spec.requirements: too many')
    })
    expect(await commit([proposal(['a', 'b'])])).toEqual([
      { kind: 'rejected', message: 'no replacement can be created: spec.requirements: too many' },
    ])
    expect(memoryOf(deps).resting()).toEqual({ nodePools: {}, nodeClaims: ['a', 'b'] })
  })

  test('a claim that somebody deletes meanwhile ends the command before anything goes', async () => {
    const { cluster, commit } = await world()
    cluster.intercept(({ verb, path }) => {
      if (verb === 'create' && path.endsWith('/nodeclaims'))
        cluster.edit('nodeclaims', 'b', { metadata: { deletionTimestamp: at(0) } })
    })
    const [outcome] = await commit([proposal(['a', 'b'])])
    expect(outcome).toEqual({ kind: 'rejected', message: 'NodeClaim b was deleted by somebody else meanwhile' })
    expect(marksOf(cluster).a).toBe('free')
  })
})

describe('an attempt that another has taken over', () => {
  test("writes nothing more and undoes nothing, which is the successor's work", async () => {
    const { cluster, commit } = await world()
    cluster.intercept(({ verb, path }) => {
      if (verb !== 'create' || !path.endsWith('/nodeclaims')) return
      cluster.edit('leases', 'joiner-disruption-fence', { spec: { holderIdentity: 'successor' } }, 'joiner')
      // The process stood still for a while.
      vi.setSystemTime(Date.now() + 10_000)
    })
    await expect(commit([proposal(['a', 'b'])])).rejects.toThrow('names another planning attempt')
    expect(marksOf(cluster)).toEqual({ a: 'taint Underutilized', b: 'taint Underutilized' })
    expect(replacementsIn(cluster)).toHaveLength(1)
  })
})
