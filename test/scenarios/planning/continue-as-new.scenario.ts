// Runs of lifecycles and loops that continue as new after few events: nothing is lost between them.
import { taskQueue } from '../../../core/task-queues.ts'
import { clusterName } from '../../../deploy/local/cluster.ts'
import { readHistory } from '../../../starter/picture/history.ts'
import {
  consolidateNowSignal,
  lifecycleStatusQuery,
  loopStatusQuery,
  pauseSignal,
  pokeSignal,
  resumeSignal,
} from '../../../workflows/messages.ts'
import { deployment, nodeClass, nodePool } from '../../applied-objects.ts'
import { World } from '../../world.ts'
import { dated } from '../dated.ts'
import { afterAll, beforeAll, expect, test } from '../scenario.ts'

/** Number of events after which the server suggests to continue as new. Its default is 4096. */
const suggestedAt = 20

let world: World

beforeAll(async () => {
  world = await World.start({ cloud: 'instant', suggestNewRunAt: suggestedAt })
  world.startJoiner()
  // Only consolidateNow disrupts here.
  await world.apply(nodePool({ consolidateAfter: '1h' }), nodeClass(), deployment({ apart: true }))
  await world.untilReady('general')
})

afterAll(() => world?.stop())

type Event = NonNullable<Awaited<ReturnType<ReturnType<World['loop']>['fetchHistory']>>['events']>[number]
type Payloads = { readonly payloads?: readonly { readonly data?: Uint8Array | null }[] | null } | null | undefined

interface Run {
  readonly runId: string
  readonly events: readonly Event[]
}

/** Returns the runs of a workflow along their links, the first one first. */
async function runs(workflowId: string): Promise<readonly Run[]> {
  const found: Run[] = []
  let runId: string | null | undefined = (await world.temporal.workflow.getHandle(workflowId).describe()).runId
  while (runId) {
    const { events } = await world.temporal.workflow.getHandle(workflowId, runId).fetchHistory()
    found.unshift({ runId, events: events ?? [] })
    runId = events?.[0]?.workflowExecutionStartedEventAttributes?.continuedExecutionRunId
  }
  return found
}

/** The fields of workflow and activity inputs that these tests check. */
interface Input {
  readonly state?: Readonly<Record<string, unknown>>
  readonly attempt?: number
  readonly pause?: { readonly reason: string }
  readonly forced?: boolean
}

function firstOf(input: Payloads): Input | undefined {
  const data = input?.payloads?.[0]?.data
  return data ? (JSON.parse(Buffer.from(data).toString()) as Input) : undefined
}

/** Returns the input that a run got from the previous one. */
function carried(run: Run | undefined) {
  const started = run?.events[0]?.workflowExecutionStartedEventAttributes
  return firstOf(started?.input)?.state
}

/** Returns inputs of all calls of an activity, over all runs. */
function inputs(chain: readonly Run[], activity: string): readonly (Input | undefined)[] {
  return chain.flatMap(({ events }) =>
    events.flatMap(({ activityTaskScheduledEventAttributes: scheduled }) =>
      scheduled?.activityType?.name === activity ? [firstOf(scheduled.input)] : [],
    ),
  )
}

/** Sends bursts of pauses and resumes, each when the last one is in force, until this many more runs have begun. Returns what was sent. */
async function storm(name: 'provisioning' | 'disruption', more: number): Promise<readonly (string | undefined)[]> {
  const loop = world.loop(name)
  const sent: (string | undefined)[] = []
  let seen = (await loop.describe()).runId
  for (let left = more; left > 0; ) {
    for (let burst = 0; burst < 5; burst += 1) {
      const reason = burst === 2 ? undefined : `storm ${sent.length}`
      await (reason === undefined ? loop.signal(resumeSignal, dated()) : loop.signal(pauseSignal, { reason }))
      sent.push(reason)
    }
    await world.until('the last pause of the burst is in force', async () => {
      const { pause } = await loop.query(loopStatusQuery)
      return pause?.reason === sent.at(-1)
    })
    const { runId } = await loop.describe()
    if (runId !== seen) left -= 1
    seen = runId
  }
  return sent
}

/** Pauses repeatedly, each time when the last pause is in force, until a run has begun with a pause. */
async function pauseIntoNewRun(name: 'provisioning' | 'disruption'): Promise<string> {
  const loop = world.loop(name)
  const before = (await loop.describe()).runId
  for (let count = 0; ; count += 1) {
    const reason = `calm ${count}`
    await loop.signal(pauseSignal, { reason })
    await world.until(
      `${name} is paused: ${reason}`,
      async () => (await loop.query(loopStatusQuery)).pause?.reason === reason,
    )
    if ((await loop.describe()).runId !== before) return reason
    if (count > suggestedAt) throw new Error(`${name} did not continue as new`)
  }
}

test('a lifecycle that continued as new keeps its attempts, the last capacity failure and its facts, and ends with its VM', async () => {
  await world.fault({ kind: 'failSync', code: 'SkuNotAvailable', count: 1 })
  await world.fault({ kind: 'failAsync', code: 'AllocationFailed', count: 1 })
  await world.scale('inflate', 1)
  await world.untilRunning(1)
  const id = await world.until('its lifecycle', async () => (await world.lifecycles())[0]?.id)
  const handle = world.temporal.workflow.getHandle(id)
  const status = await world.until('it rests', async () => {
    const now = await handle.query(lifecycleStatusQuery)
    return now.phase === 'Ready' && now
  })
  const launched = await runs(id)
  expect(launched.length).toBeGreaterThan(1)
  expect(status.attempt).toBe(3)
  expect(status.lastCapacityFailure).toMatch(/AllocationFailure/)
  // Attempts continue their count, so none is tried twice.
  const attempts = inputs(launched, 'launch').map((input) => input?.attempt)
  expect(attempts).toEqual([1, 2, 3])

  const before = (await handle.describe()).runId
  await world.until('pokes make the resting lifecycle continue as new', async () => {
    await handle.signal(pokeSignal)
    return (await handle.describe()).runId !== before
  })
  const rested = await runs(id)
  expect(carried(rested.at(-1))).toEqual({ attempt: 3, lastCapacityFailure: status.lastCapacityFailure })
  const after = await world.until('it rests again', async () => {
    const now = await handle.query(lifecycleStatusQuery)
    return now.phase === 'Ready' && now
  })
  expect([after.attempt, after.lastCapacityFailure]).toEqual([3, status.lastCapacityFailure])

  await world.scale('inflate', 0)
  await world.operator.kubectl(['delete', 'nodeclaims', '--all', '--wait=false'])
  await world.until('the lifecycle has ended', async () => (await handle.describe()).status.name === 'COMPLETED')
  await world.untilNothingLeft()
  const life = await world.until('its facts are listed', async () => {
    const now = Date.now()
    const { lives } = await readHistory(world.temporal, { cluster: clusterName, sinceMs: now - 600_000, nowMs: now })
    return lives.length === 1 && !lives[0]?.isRunning && lives[0]
  })
  expect(life).toMatchObject({ attempts: 3, came: { kind: 'pods', pods: 1 }, went: { kind: 'deleted' } })
  expect(life.refused.map(({ reason }) => reason)).toEqual(['SKUNotAvailable'])
  // The VM that could not be made, and the one that became a node.
  expect(life.vms.map(({ fromMs, toMs = 0 }) => toMs > fromMs)).toEqual([false, true])
})

test.each(['provisioning', 'disruption'] as const)(
  '%s: every pause and resume is carried out once and in order over several runs',
  async (name) => {
    const loop = world.loop(name)
    const sent = await storm(name, 3)
    await world.until(
      'the last pause is in force',
      async () => (await loop.query(loopStatusQuery)).pause?.reason === sent.at(-1),
    )
    const chain = await runs(loop.workflowId)
    expect(chain.length).toBeGreaterThan(3)
    const written = inputs(chain, 'writePause')
    expect(written.map((input) => input?.pause?.reason)).toEqual(sent)

    const reason = await pauseIntoNewRun(name)
    expect((await loop.query(loopStatusQuery)).pause?.reason).toBe(reason)
    // Planners read only this place, too.
    const map = await world.operator.api('GET', '/api/v1/namespaces/joiner/configmaps/joiner-pauses')
    expect(JSON.stringify(map)).toContain(reason)
    await loop.signal(resumeSignal, dated())
    await world.until('the loop goes on', async () => (await loop.query(loopStatusQuery)).pause === undefined)
  },
)

test('a loop that continued as new still carries the UID of its cluster', async () => {
  for (const name of ['provisioning', 'disruption'] as const) {
    const loop = world.loop(name)
    expect((await runs(loop.workflowId)).length).toBeGreaterThan(1)
    expect((await loop.describe()).memo).toEqual(await world.clusterMemo())
  }
})

test('a pause carried to a new run holds, and the resume after it is carried out', async () => {
  await pauseIntoNewRun('provisioning')
  await world.scale('inflate', 2)
  await world.until('two pods wait', async () => (await world.list('pods')).length === 2)
  await world.loop('provisioning').signal(pauseSignal, { reason: 'still' })
  await world.until(
    'the next pause is in force',
    async () => (await world.loop('provisioning').query(loopStatusQuery)).pause?.reason === 'still',
  )
  expect(await world.list('nodeclaims')).toEqual([])
  await world.loop('provisioning').signal(resumeSignal, dated())
  await world.untilRunning(2)
})

test('commands that came before a run had a worker are carried out in their order', async () => {
  const loop = world.loop('provisioning')
  await world.cluster.supervisor.stop('joiner')
  await loop.terminate('lost on purpose')
  await world.temporal.workflow.start('provisioningLoop', {
    workflowId: loop.workflowId,
    memo: await world.clusterMemo(),
    taskQueue: taskQueue('core', clusterName),
    args: [{ cluster: clusterName }],
  })
  await loop.signal(pauseSignal, { reason: 'first' })
  await loop.signal(resumeSignal, dated())
  await loop.signal(pauseSignal, { reason: 'last' })
  world.startJoiner()
  const written = await world.until('all three were carried out', async () => {
    const found = inputs(await runs(loop.workflowId), 'writePause')
    return found.length === 3 && found
  })
  expect(written.map((input) => input?.pause?.reason)).toEqual(['first', undefined, 'last'])
  await loop.signal(resumeSignal, dated())
})

test('no consolidateNow is lost, whichever run it falls into', async () => {
  const loop = world.loop('disruption')
  const forced = async () =>
    (await runs(loop.workflowId)).flatMap(({ events }) =>
      events.filter(({ startChildWorkflowExecutionInitiatedEventAttributes: child }) => child != null),
    ).length
  const before = await forced()
  const first = (await runs(loop.workflowId)).length
  for (let sent = 1; (await runs(loop.workflowId)).length < first + 6; sent += 1) {
    await loop.signal(consolidateNowSignal, dated())
    await world.until(`pass ${sent} was begun`, async () => (await forced()) >= before + sent)
  }
})
