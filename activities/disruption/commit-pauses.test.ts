import { describe, expect, test } from 'vitest'
import { FakeCluster } from '../../test/fakes/cluster.ts'
import { free, marksOf, proposal, replacementsIn, world } from '../../test/fakes/commit-world.ts'
import { at } from '../../test/fakes/objects.ts'
import { useFakeTime } from '../../test/fakes/time.ts'
import { ApiError } from '../kubernetes/client/api-error.ts'

useFakeTime()

describe('a pause', () => {
  const write = (cluster: FakeCluster, key: string, text = JSON.stringify({ reason: 'upgrade', since: at(0) })) =>
    cluster.put('configmaps', { metadata: { name: 'joiner-pauses', namespace: 'joiner' }, data: { [key]: text } })

  test.each([
    'disruption',
    'disruption.nodepool.default',
    'disruption.node.aks-b',
    'disruption.node.b',
    'disruption.reason.Underutilized',
    'disruption.rubbish',
  ])('%s lets nothing be marked', async (key) => {
    const { cluster, commit } = await world()
    write(cluster, key)
    const [outcome] = await commit([proposal(['a', 'b'])])
    expect(outcome).toMatchObject({ kind: 'rejected', message: expect.stringContaining('paused') as string })
    expect(marksOf(cluster)).toEqual(free)
    expect(cluster.attempts.filter((attempt) => attempt.startsWith('patch'))).toEqual([])
  })

  test.each(['provisioning', 'disruption.nodepool.other', 'disruption.node.aks-c', 'disruption.reason.Drifted'])(
    '%s is about something else',
    async (key) => {
      const { cluster, commit } = await world()
      write(cluster, key)
      expect(await commit([proposal(['a', 'b'])])).toMatchObject([{ kind: 'committed' }])
    },
  )

  test('of one pool lets a proposal for another go on', async () => {
    const { cluster, commit } = await world()
    write(cluster, 'disruption.node.aks-a')
    const outcomes = await commit([
      proposal(['a']),
      proposal(['b'], { id: 'single-node-0000000001', method: 'single-node' }),
    ])
    expect(outcomes.map(({ kind }) => kind)).toEqual(['rejected', 'committed'])
  })

  test.each([
    [
      'between two batches of marks',
      ({ verb, path }: { verb: string; path: string }) => verb === 'patch' && path.endsWith('/nodes/aks-n5'),
    ],
    [
      'between the marks and the replacements',
      ({ verb, path }: { verb: string; path: string }) => verb === 'patch' && path.endsWith('/nodes/aks-n14'),
    ],
  ])('that comes %s is obeyed, and what was done is undone', async (name, when) => {
    const names = Array.from({ length: 15 }, (_unused, index) => `n${index}`)
    const { cluster, commit } = await world(names)
    cluster.intercept((request) => {
      if (when(request)) write(cluster, 'disruption')
    })
    const [outcome] = await commit([proposal(names)])
    expect(outcome).toMatchObject({ kind: 'rejected' })
    expect(new Set(Object.values(marksOf(cluster, names)))).toEqual(new Set(['free']))
    expect(replacementsIn(cluster)).toEqual([])
    const last = cluster.attempts.includes('patch /api/v1/nodes/aks-n10')
    expect(last).toBe(!name.includes('two batches'))
  })

  test('that cannot be read from the API server begins nothing', async () => {
    const { cluster, commit } = await world()
    cluster.intercept(({ path }) => {
      if (path.endsWith('/configmaps/joiner-pauses')) throw new ApiError(500, 'InternalError', 'etcd is away')
    })
    await expect(commit([proposal(['a', 'b'])])).rejects.toThrow('etcd is away')
    expect(marksOf(cluster)).toEqual(free)
  })
})
