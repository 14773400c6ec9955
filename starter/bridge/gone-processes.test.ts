import pino from 'pino'
import { expect, test } from 'vitest'
import { AttributedStarts } from '../../activities/attributed-starts.ts'
import { CommandStarter } from '../../activities/disruption/command-starter.ts'
import { lifecycleId } from '../../core/task-queues.ts'
import { FakeCluster } from '../../test/fakes/cluster.ts'
import { claimJson, condition } from '../../test/fakes/objects.ts'
import { pass, useFakeTime } from '../../test/fakes/time.ts'
import { refusal } from '../../test/fast/temporal/client/grpc-service.ts'
import { GoneProcesses } from './gone-processes.ts'

useFakeTime()

const started = 2
const cancelRequested = 3
const scheduled = 1

interface Pending {
  readonly activityId: string
  readonly activityType: { readonly name: string }
  readonly state: number
  readonly attempt: number
  readonly lastWorkerIdentity: string
}

/** One NodeClaim that is under way, with what its lifecycle has in hand. */
function world(pending: (own: string) => readonly Pending[], conditions = [condition('Launched')]) {
  const kubernetes = new FakeCluster()
  kubernetes.put('nodeclaims', claimJson('c0', { status: { conditions } }))
  const lifecycle = lifecycleId('test', { name: 'c0', uid: 'uid-c0' })
  const sent: { readonly method: string; readonly activityId: string; readonly failure?: unknown }[] = []
  let left: readonly Pending[] = []
  const end =
    (method: string) =>
    async ({ activityId, failure }: { readonly activityId: string; readonly failure?: unknown }) => {
      sent.push(failure === undefined ? { method, activityId } : { method, activityId, failure })
      if (!left.some((each) => each.activityId === activityId)) throw refusal('notFound', 'no such activity')
      left = left.filter((each) => each.activityId !== activityId)
      return {}
    }
  const workflowService = {
    async describeWorkflowExecution({ execution }: { readonly execution: { readonly workflowId: string } }) {
      if (execution.workflowId !== lifecycle) throw refusal('notFound', 'no such workflow')
      return { pendingActivities: left }
    },
    listWorkflowExecutions: async () => Promise.reject(refusal('unavailable', 'no visibility store')),
    respondActivityTaskFailedById: end('failed'),
    respondActivityTaskCanceledById: end('canceled'),
  }
  const client = { workflowService, options: { namespace: 'default' } } as never
  const gone = new GoneProcesses({
    deps: {
      cluster: 'test',
      namespace: 'joiner',
      cache: kubernetes.cacheOf(),
      nodeRules: { interruptions: [], repairs: [] },
      commands: new CommandStarter({ client, cluster: 'test', starts: new AttributedStarts(Date.now), now: Date.now }),
      now: () => Date.now(),
      log: pino({ level: 'silent' }),
    },
    client,
    isLeader: () => true,
    name: 'joiner-core-a',
    signal: new AbortController().signal,
  })
  left = pending(gone.identity)
  return { gone, sent, lifecycle }
}

const activity = (activityId: string, lastWorkerIdentity: string, more: Partial<Pending> = {}): Pending => ({
  activityId,
  activityType: { name: 'awaitNode' },
  state: started,
  attempt: 1,
  lastWorkerIdentity,
  ...more,
})

test('what a process had in hand that is gone is begun again soon; what others have, and what waits for its next attempt, is left alone', async () => {
  const { gone, sent } = world((own) => [
    activity('before', 'joiner-core-a/1'),
    activity('own', own),
    activity('other', 'joiner-core-b/1'),
    activity('longer name', 'joiner-core-ab/1'),
    activity('between attempts', 'joiner-core-a/1', { state: scheduled }),
  ])
  const ended = gone.isGone('joiner-core-a')
  await pass(15_000)
  expect(await ended).toBe(1)
  expect(sent).toEqual([
    {
      method: 'failed',
      activityId: 'before',
      // Without a delay of its own it would wait as long as an activity that failed so often; with none it would be over.
      failure: expect.objectContaining({
        applicationFailureInfo: { type: 'ProcessGone', nextRetryDelay: { nanos: 100_000_000 } },
      }),
    },
  ])
})

test('one whose cancellation is asked for ends as cancelled, and one whose attempts are counted keeps them', async () => {
  const { gone, sent } = world(() => [
    activity('cancelled', 'joiner-core-a/1', { state: cancelRequested }),
    activity('counted', 'joiner-core-a/1', { activityType: { name: 'restartInstance' } }),
  ])
  const ended = gone.isGone('joiner-core-a')
  await pass(15_000)
  expect(await ended).toBe(1)
  expect(sent).toEqual([{ method: 'canceled', activityId: 'cancelled' }])
})

test.each([
  ['launch that has its VM', [condition('Launched')], ['wait', 'launch']],
  ['launch that has none yet', [], ['wait']],
])('of one whose Lease ran out, which may live, only waits are taken: a %s', async (_, conditions, taken) => {
  const { gone, sent } = world(
    () => [
      activity('wait', 'joiner-core-b/1'),
      activity('launch', 'joiner-core-b/1', { activityType: { name: 'launch' } }),
      activity('act', 'joiner-core-b/1', { activityType: { name: 'prepareReboot' } }),
    ],
    conditions,
  )
  const ended = gone.isSilent('joiner-core-b')
  await pass(15_000)
  expect(await ended).toBe(taken.length)
  expect(sent.map(({ activityId }) => activityId)).toEqual(taken)
})

test('what the server handed to a connection that is gone, and this process never got, is begun again', async () => {
  const { gone, sent, lifecycle } = world((own) => [activity('at work', own), activity('lost', own)])
  const info = { workflowExecution: { workflowId: lifecycle }, activityId: 'at work', attempt: 1 }
  const { promise, resolve } = Promise.withResolvers<void>()
  const working = gone.interceptor({ info } as never).inbound?.execute?.({} as never, () => promise)
  const ended = gone.connectionIsGone()
  await pass(15_000)
  expect(await ended).toBe(1)
  expect(sent.map(({ activityId }) => activityId)).toEqual(['lost'])
  resolve()
  await working
})
