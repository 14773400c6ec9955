import { describe, expect, test } from 'vitest'
import { asAttempt } from '../../../test/fakes/attempt.ts'
import { FakeCluster } from '../../../test/fakes/cluster.ts'
import { replacement, world } from '../../../test/fakes/command-world.ts'
import { at, claimJson, condition } from '../../../test/fakes/objects.ts'
import { ended, pass, useFakeTime } from '../../../test/fakes/time.ts'
import { createKubernetesActivities } from '../activities.ts'
import { awaitReplacements } from './replacements.ts'

useFakeTime()

describe('waiting for replacements', () => {
  const refs = [
    { name: 'new', uid: 'uid-new' },
    { name: 'newer', uid: 'uid-newer' },
  ]

  function waiting(isReady: boolean, readyInMs = 60_000) {
    const { cluster, deps, reported, stop } = world([])
    for (const { name } of refs) replacement(cluster, name, isReady)
    const wait = () => awaitReplacements(deps, { replacements: refs, readyByMs: Date.now() + readyInMs }, stop.signal)
    const becomesReady = (name: string, status = 'True') =>
      cluster.edit('nodeclaims', name, { status: { conditions: [condition('Initialized', status)] } })
    return { cluster, deps, reported, wait, becomesReady }
  }

  test('ends at once when all have been initialized, and no wait is reported', async () => {
    const { wait, reported } = waiting(true)
    expect(await wait()).toEqual({ kind: 'ready' })
    expect(reported).toEqual([])
  })

  test('counts one that was initialized once, though it is not any more', async () => {
    const { wait, becomesReady, reported } = waiting(false)
    const work = wait()
    await pass(100)
    becomesReady('new')
    becomesReady('new', 'False')
    becomesReady('newer')
    expect(await ended(work)).toEqual({ kind: 'ready' })
    expect(reported.map(({ reason, about }) => [reason, about])).toEqual([
      ['DisruptionWaitingReadiness', 'NodeClaim/new'],
      ['DisruptionWaitingReadiness', 'NodeClaim/newer'],
    ])
  })

  test.each<[string, (cluster: FakeCluster) => void]>([
    ['is gone', (cluster) => cluster.remove('nodeclaims', 'newer')],
    ['is being deleted', (cluster) => cluster.edit('nodeclaims', 'newer', { metadata: { deletionTimestamp: at(1) } })],
    [
      'is another claim by now',
      (cluster) => cluster.put('nodeclaims', claimJson('newer', { metadata: { uid: 'another' } })),
    ],
  ])('is lost when one %s', async (_, lose) => {
    const { cluster, wait } = waiting(false)
    const work = wait()
    await pass(100)
    lose(cluster)
    expect(await ended(work)).toEqual({
      kind: 'lost',
      message: 'replacement newer was deleted before it was initialized',
    })
  })

  test('is late at the deadline, by the names of those that are missing', async () => {
    const { wait, becomesReady } = waiting(false, 20)
    const work = wait()
    await pass(0)
    becomesReady('new')
    expect(await ended(work)).toEqual({ kind: 'late', message: 'not initialized in time: newer' })
  })
  test.each([
    ['is late after its time', 0, 'late'],
    ['goes on while its time was lost with the worker, since the commit', 3_600_000, 'ready'],
  ])('%s', async (_, lostMs, kind) => {
    const { deps, becomesReady } = waiting(false)
    await pass(3_600_000)
    const activities = createKubernetesActivities(deps)
    const input = { replacements: refs, readyByMs: Date.now() - 1000, idleSinceMs: Date.now() - lostMs }
    const work = asAttempt(1, () => activities.awaitReplacements(input))
    await pass(0)
    if (kind === 'ready') for (const { name } of refs) becomesReady(name)
    expect(await ended(work)).toMatchObject({ kind })
  })
})
