import {
  Client,
  WorkflowExecutionAlreadyStartedError,
  WorkflowIdConflictPolicy,
  WorkflowIdReusePolicy,
  WorkflowNotFoundError,
} from '@temporalio/client'
import pino from 'pino'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { AttributedStarts } from '../../../activities/attributed-starts.ts'
import { LifecycleStarter } from '../../../activities/provisioning/lifecycle-starter.ts'
import { listRuns } from '../../../activities/workflow-runs.ts'
import { endedSince, ofNodeOrClaim, runningLifecycles, withoutSweeps } from '../../../core/workflow-queries.ts'
import { bootstrap } from '../../../starter/bridge/bootstrap.ts'
import { lookOnce } from '../../../starter/temporal/findings/look.ts'
import { workflowBundle } from '../../../workers/bundle.ts'
import { sampleClaim } from '../../samples/sample-objects.ts'
import { passUntil, settled as settledBy } from '../virtual-clock.ts'
import { OneLife, workflowId } from './one-life.ts'
import { taskQueues } from './queues.ts'
import { TemporalConnection } from './temporal-connection.ts'
import { WorkflowHost } from './workflow-host.ts'

const lagMs = 1000
let host: WorkflowHost
let life: OneLife
let client: Client
let connection: TemporalConnection

beforeAll(async () => {
  host = WorkflowHost.load((await workflowBundle()).code, ['observe'])
}, 60_000)

beforeEach(() => {
  life = new OneLife(host)
  life.startProcess()
  connection = new TemporalConnection(life.temporal, { clock: life.clock, lagMs, random: () => 0.5 })
  client = new Client({ connection: connection.connection })
})

const settled = <T>(work: Promise<T>) => settledBy(life.clock, work)

const start = (options: object = {}) =>
  settled(
    client.workflow.start('nodeClaimLifecycle', {
      workflowId,
      taskQueue: taskQueues[0],
      args: [{ cluster: 'test', name: 'a', uid: 'uid-a' }],
      ...options,
    }),
  )

const list = async (query: string) => {
  const found: string[] = []
  for await (const run of listRuns(client, query)) found.push(run.workflowId)
  return found
}

describe('starts', () => {
  test('a second one of an id that runs is refused, taken for the first, or ends the first, as its policy says', async () => {
    const first = await start()
    await expect(start()).rejects.toBeInstanceOf(WorkflowExecutionAlreadyStartedError)
    const same = await start({ workflowIdConflictPolicy: WorkflowIdConflictPolicy.USE_EXISTING })
    expect(same.firstExecutionRunId).toBe(first.firstExecutionRunId)
    const other = await start({ workflowIdConflictPolicy: WorkflowIdConflictPolicy.TERMINATE_EXISTING })
    expect(other.firstExecutionRunId).not.toBe(first.firstExecutionRunId)
    expect(life.temporal.runs.map(({ status }) => status)).toEqual(['terminated', 'running'])
  })

  test('one of an id that has ended begins a new run, unless the policy rejects duplicates', async () => {
    await start()
    await settled(client.workflow.getHandle(workflowId).terminate('test'))
    await expect(start({ workflowIdReusePolicy: WorkflowIdReusePolicy.REJECT_DUPLICATE })).rejects.toBeInstanceOf(
      WorkflowExecutionAlreadyStartedError,
    )
    await start({ workflowIdReusePolicy: WorkflowIdReusePolicy.ALLOW_DUPLICATE })
    expect(life.temporal.runs).toHaveLength(2)
  })

  test('one that is refused for a search attribute is repeated without, and 30 s later they are tried again', async () => {
    const lifecycles = new LifecycleStarter(client, 'test', new AttributedStarts(() => life.clock.now()))
    const attributes = () => life.temporal.runs.map((run) => Object.keys(run.searchAttributes))
    await settled(lifecycles.start(sampleClaim('a')))
    for (const name of ['NodePhase', 'NodePool']) connection.attributes.set(name, 2)
    await settled(lifecycles.start(sampleClaim('b')))
    expect(attributes()).toEqual([[], []])
    await settled(life.clock.sleep(30_000))
    await settled(lifecycles.start(sampleClaim('c')))
    expect(attributes()[2]).toContain('NodePhase')
  })
})

describe('messages', () => {
  test('signal with start begins a run, and later signals it', async () => {
    const starts = new AttributedStarts(() => life.clock.now())
    starts.useAttributes(false)
    const lifecycles = new LifecycleStarter(client, 'test', starts)
    await settled(lifecycles.poke(sampleClaim('a'), 'one'))
    await settled(lifecycles.poke(sampleClaim('a'), 'two'))
    expect(life.temporal.runs).toHaveLength(1)
    expect(life.temporal.runs[0]?.history.of('workflowExecutionSignaledEventAttributes')).toHaveLength(2)
  })

  test('an update is answered, one that its validator refuses leaves no event, and an unknown workflow is not found', async () => {
    life.begin()
    await life.until('the node is ready', () => life.phase() === 'Ready')
    const handle = client.workflow.getHandle(workflowId)
    const before = life.run.history.length
    await expect(settled(handle.executeUpdate('hold', { args: [{ until: 'x' }] }))).rejects.toThrow()
    expect(life.run.history.length).toBe(before)
    await expect(
      settled(handle.executeUpdate('hold', { args: [{ until: '2030-01-01T12:00:00Z', reason: 'r' }] })),
    ).resolves.toEqual({ kind: 'done', message: 'held until noon' })
    await expect(settled(client.workflow.getHandle('other').signal('observeAgain'))).rejects.toBeInstanceOf(
      WorkflowNotFoundError,
    )
    await expect(settled(handle.query('status'))).resolves.toMatchObject({ phase: 'Ready' })
  })
})

describe('lists', () => {
  test('are behind by their lag, and answer the queries that Joiner sends', async () => {
    connection.attributes.set('NodeName', 2)
    life.begin()
    expect(await list(runningLifecycles('test'))).toEqual([])
    await settled(life.clock.sleep(lagMs))
    expect(await list(runningLifecycles('test'))).toEqual([workflowId])
    expect(await list(runningLifecycles('other'))).toEqual([])
    expect(await list(ofNodeOrClaim('test', 'a'))).toEqual([workflowId])
    expect(await list(withoutSweeps('test'))).toEqual([workflowId])
    life.temporal.terminateRun(life.run, 'test')
    const endedMs = life.clock.now()
    expect(await list(runningLifecycles('test'))).toEqual([workflowId])
    await settled(life.clock.sleep(lagMs + 1))
    expect(await list(runningLifecycles('test'))).toEqual([])
    expect(await list(endedSince('test', endedMs))).toEqual([workflowId])
    expect(await list(endedSince('test', endedMs + 1))).toEqual([])
  })

  test('refuse an attribute that the namespace does not have', async () => {
    await expect(list("NodeName = 'a'")).rejects.toThrow(/'NodeName' is not a valid search attribute/)
    await expect(list("WorkflowId = 'a' BY")).rejects.toThrow(/invalid query/)
  })
})

describe('the bridge', () => {
  test('makes attributes, loops and the Schedule once, and finds its own name', async () => {
    const deps = {
      client,
      plainClient: client,
      connection: connection.connection,
      namespace: 'default',
      isBundled: false,
      cluster: 'test',
      clusterUid: 'uid',
      log: pino({ level: 'silent' }),
      reported: new Set<string>(),
      known: {},
      onAttributes: () => {},
    }
    expect(await settled(bootstrap(deps))).toEqual({ kind: 'ours' })
    expect(await settled(bootstrap(deps))).toEqual({ kind: 'ours' })
    expect((await settled(bootstrap({ ...deps, clusterUid: 'other' }))).kind).toBe('foreign')
    expect(await lookOnce({ client, cluster: 'test', now: () => life.clock.now() }, [], async () => [])).toEqual([])
    const runs = () => life.temporal.runs.filter(({ identity }) => identity.workflowType === 'maintenance')
    await passUntil(life.clock, 'a pass', () => runs().length === 1)
    await settled(life.clock.sleep(2_450_000))
    expect(runs()).toHaveLength(5)
  })
})
