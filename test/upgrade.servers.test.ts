import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Context } from '@temporalio/activity'
import { DefaultLogger, Runtime, Worker } from '@temporalio/worker'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { readConfig } from '../api/config.ts'
import { disruptionCommandId, taskQueue } from '../core/task-queues.ts'
import { clusterName } from '../deploy/local/cluster.ts'
import { temporalSettings } from '../deploy/local/temporal.ts'
import { temporalCheck } from '../starter/cli/doctor/temporal.ts'
import { version as release } from '../workers/build-info.ts'
import { bundleDigest, readBundle, workflowBundle } from '../workers/bundle.ts'
import { connectNative } from '../workers/temporal-link.ts'
import { lifecycleStatusQuery, loopStatusQuery, pokeSignal, resumeSignal } from '../workflows/messages.ts'
import { keptBundle, keptVersions } from './bundles/kept.ts'
import { deployment, nodeClass, nodePool, type Seen, World } from './world.ts'

let world: World

beforeAll(async () => {
  Runtime.install({ logger: new DefaultLogger('ERROR', () => {}) })
  // By default the server tells of a stuck run after five failures, which takes it most of a minute.
  const toldAfter = 'system.numConsecutiveWorkflowTaskProblemsToTriggerSearchAttribute=2'
  world = await World.start({ temporalArgs: ['--dynamic-config-value', toldAfter] })
  await world.apply(nodePool({ consolidateAfter: 'Never' }), nodeClass(), deployment({ apart: true }))
})

afterAll(() => world?.stop())

// Every story ends with everything deleted, also one that failed: the next one counts from nothing.
afterEach(async () => {
  await world.timing({ createMs: 0, bootMs: 0 })
  await world.operator.simulator('DELETE', '/faults')
  await world.operator.kubectl(['delete', 'volumeattachments', '--all'])
  // One that failed must not leave its nodes to the next.
  if ((await world.list('nodeclaims')).length > 0) await endAll()
  await world.cluster.supervisor.stop('joiner')
  await world.cluster.supervisor.stop('second')
})

/** Starts Joiner with another workflow code than its own, and waits until it runs that and can plan. */
async function startWith(bundle: string): Promise<void> {
  world.startJoiner('joiner', { JOINER_WORKFLOW_BUNDLE: bundle })
  const digest = bundleDigest(await readBundle(bundle))
  await world.until('its workers run that code', async () =>
    (await world.cluster.supervisor.tail('joiner', 200)).includes(`"workflowCode":"${digest}"`),
  )
  await world.untilReady('general')
}

/** Replaces Joiner by the version of this checkout, at once. */
async function upgrade(): Promise<void> {
  await world.crash()
  world.startJoiner()
}

async function ready(count: number): Promise<readonly Seen[]> {
  return world.until(`${count} NodeClaims are Ready`, async () => {
    const claims = await world.list('nodeclaims')
    const isReady = ({ status }: Seen) => status?.conditions?.some((c) => c.type === 'Ready' && c.status === 'True')
    return claims.length === count && claims.every(isReady) && claims
  })
}

/** The phases of all lives that run. */
async function phases(): Promise<readonly string[]> {
  const lives = await world.lifecycles("ExecutionStatus = 'Running'")
  return Promise.all(
    lives.map(async ({ id }) => (await world.temporal.workflow.getHandle(id).query(lifecycleStatusQuery)).phase),
  )
}

async function endAll(): Promise<void> {
  await world.scale('inflate', 0)
  await world.operator.kubectl(['delete', 'nodeclaims', '--all', '--wait=false'])
  await world.untilNothingLeft()
}

/** How the runs of lifecycles since a time ended, and how many of their workflow tasks failed. */
async function endings(sinceMs: number): Promise<readonly string[]> {
  const found: string[] = []
  const query = `WorkflowType = 'nodeClaimLifecycle' AND StartTime >= '${new Date(sinceMs).toISOString()}'`
  for await (const { workflowId, runId, status } of world.temporal.workflow.list({ query })) {
    const { events } = await world.temporal.workflow.getHandle(workflowId, runId).fetchHistory()
    const failed = (events ?? []).filter(({ workflowTaskFailedEventAttributes }) => workflowTaskFailedEventAttributes)
    found.push(`${status.name}, ${failed.length} tasks failed`)
  }
  return found
}

describe.each(await keptVersions())('lives that began with version $version', ({ version }) => {
  test('go on with the current one, whatever they were at, and end with nothing left', async () => {
    const startedMs = Date.now()
    await startWith(keptBundle(version))
    await world.scale('inflate', 2)
    await world.untilRunning(2)
    const [leaving] = await ready(2)
    const name = leaving?.metadata.name ?? ''
    await world.apply({
      apiVersion: 'storage.k8s.io/v1',
      kind: 'VolumeAttachment',
      metadata: { name: 'attached' },
      spec: { attacher: 'disk.csi.azure.com', nodeName: `aks-${name}`, source: { persistentVolumeName: 'data' } },
    })
    // Its pod is planned anew, onto a node that takes long to join.
    await world.timing({ bootMs: 15_000 })
    await world.operator.kubectl(['delete', 'nodeclaim', name, '--wait=false'])
    await world.until('one drains, one registers', async () => {
      const now = await phases()
      return now.includes('Draining') && now.includes('Registering')
    })
    await world.fault({ kind: 'latency', ms: 10_000, count: 1 })
    await world.scale('inflate', 3)
    await world.until('there is a life in each phase', async () => {
      const now = await phases()
      return ['Launching', 'Registering', 'Ready', 'Draining'].every((phase) => now.includes(phase))
    })

    await upgrade()
    await world.operator.kubectl(['delete', 'volumeattachment', 'attached'])
    await world.untilRunning(3, 120_000)
    await ready(3)
    await endAll()
    const ends = await endings(startedMs)
    expect(ends.length).toBeGreaterThanOrEqual(4)
    expect(new Set(ends)).toEqual(new Set(['COMPLETED, 0 tasks failed']))
  }, 300_000)
})

/** A kept workflow code, changed so that every life and loop begins with a timer, which no other version knows of. */
async function incompatibleBundle(): Promise<string> {
  let code = await readBundle(keptBundle('0.1.0'))
  const begins = [
    'await life.run();',
    'if (input.state === undefined) await pause.recover();',
    'if (_class_private_field_get(this, _input).state === undefined) await',
  ]
  for (const begin of begins) {
    expect(code.split(begin)).toHaveLength(2)
    code = code.replace(begin, `await new Promise((done) => setTimeout(done, 1));${begin}`)
  }
  const path = join(world.cluster.stateDir, 'incompatible.js')
  await writeFile(path, code)
  return path
}

async function runOf(workflowId: string): Promise<string> {
  const { runId, status } = await world.temporal.workflow.getHandle(workflowId).describe()
  return `${status.name} ${runId}`
}

function isAnew(run: string, before: string | undefined): boolean {
  return run.startsWith('RUNNING') && run !== before
}

/** Ends both loops, so that the next Joiner begins them. */
async function endLoops(): Promise<void> {
  for (const name of ['provisioning', 'disruption'] as const)
    await world
      .loop(name)
      .terminate('to be begun by another version')
      .catch(() => {})
}

test('runs that the current version cannot go on with are ended and begun anew, and cost no node', async () => {
  await endLoops()
  await startWith(await incompatibleBundle())
  await world.scale('inflate', 1)
  await world.untilRunning(1)
  const [claim] = await ready(1)
  const life = `nodeclaim/${clusterName}/${claim?.metadata.name}/${claim?.metadata.uid}`
  const ids = [world.loop('provisioning').workflowId, world.loop('disruption').workflowId, life]
  const before = await Promise.all(ids.map(runOf))
  const [vm] = (await world.azure()).virtualMachines
  const [pod] = await world.list('pods')

  await upgrade()
  // Each of them has something to do, so that its history is replayed.
  await world.scale('inflate', 2)
  for (const id of ids) await world.temporal.workflow.getHandle(id).signal(id === life ? pokeSignal : resumeSignal)
  await world.until(
    'all three run anew',
    async () => {
      const now = await Promise.all(ids.map(runOf))
      return now.every((run, at) => isAnew(run, before[at]))
    },
    180_000,
  )
  await world.untilRunning(2)
  await world.until('both lives rest', async () => (await phases()).join(' ') === 'Ready Ready')
  expect((await world.azure()).virtualMachines.map(({ name }) => name)).toContain(vm?.name)
  expect((await world.list('pods')).map(({ metadata }) => metadata.uid)).toContain(pod?.metadata.uid)
  await endAll()
}, 300_000)

/** A command as the first milestone proposed and began it. */
const oldCommand = { id: 'empty-1', reason: 'Empty', forced: true, candidates: [{ name: 'gone-1', uid: 'u-1' }] }

/** Runs the first milestone's disruption loop with stand-ins for its activities until it has begun a command that waits. */
async function beginOldCommand(commandId: string): Promise<void> {
  const connection = await connectNative(temporalSettings(world.cluster).load(), 'default')
  const waiting = () => Context.current().cancelled
  let isProposed = false
  const nextDisruption = async () => {
    if (isProposed) return waiting()
    isProposed = true
    return { kind: 'proposed', proposal: oldCommand }
  }
  const commitDisruption = async () => ({ kind: 'committed', candidates: oldCommand.candidates })
  const common = { connection, shutdownGraceTime: 0 }
  const code = await readBundle(keptBundle('0.1.0-alpha.1'))
  const workers = await Promise.all([
    Worker.create({
      ...common,
      taskQueue: taskQueue('core', clusterName),
      workflowBundle: { code },
      activities: { readPause: async () => ({}) },
    }),
    Worker.create({
      ...common,
      taskQueue: taskQueue('plan', clusterName),
      activities: { nextDisruption, commitDisruption },
    }),
    Worker.create({ ...common, taskQueue: taskQueue('wait', clusterName), activities: { deleteCandidates: waiting } }),
  ])
  const running = workers.map((worker) => worker.run())
  await world.until('its command deletes', async () => {
    const { raw } = await world.temporal.workflow.getHandle(commandId).describe()
    return raw.pendingActivities?.some(({ activityType }) => activityType?.name === 'deleteCandidates')
  })
  for (const worker of workers) worker.shutdown()
  await Promise.all(running)
  await connection.close()
}

test('the disruption loop of 0.1.0-alpha.1 is begun anew, and a command that it began goes on', async () => {
  const loop = world.loop('disruption')
  await endLoops()
  await world.temporal.workflow.start('disruptionLoop', {
    workflowId: loop.workflowId,
    memo: await world.clusterMemo(),
    taskQueue: taskQueue('core', clusterName),
    args: [{ cluster: clusterName }],
  })
  const before = await runOf(loop.workflowId)
  const command = disruptionCommandId(clusterName, oldCommand.id)
  await beginOldCommand(command)

  world.startJoiner()
  await loop.signal(resumeSignal)
  await world.until('the command is done', async () => (await runOf(command)).startsWith('COMPLETED'))
  await world.until('the loop runs anew', async () => isAnew(await runOf(loop.workflowId), before), 180_000)
  await world.until('it evaluates', async () => (await loop.query(loopStatusQuery)).doing === 'evaluating')
}, 300_000)

/** The build that a workflow's last task was done by; empty: by a worker without a version. */
async function buildOf(workflowId: string): Promise<string> {
  const { raw } = await world.temporal.workflow.getHandle(workflowId).describe()
  return raw.workflowExecutionInfo?.versioningInfo?.deploymentVersion?.buildId ?? ''
}

/** What `joiner doctor` finds about Temporal. */
async function diagnosed(versioning: string) {
  const spec = world.installation.processSpec('doctor', { JOINER_WORKER_VERSIONING: versioning })
  const parsed = readConfig(spec.env ?? {})
  if (parsed.kind === 'errors') throw new Error(parsed.errors.join('; '))
  return temporalCheck({ config: parsed.config, temporal: temporalSettings(world.cluster) }).run(
    AbortSignal.timeout(30_000),
  )
}

async function lives(): Promise<readonly string[]> {
  return (await world.lifecycles("ExecutionStatus = 'Running'")).map(({ id }) => id)
}

test('with worker versioning, two workflow codes run side by side and only the current one gets tasks; turned off, all go on', async () => {
  const startedMs = Date.now()
  const versioned = { JOINER_WORKER_VERSIONING: 'true' }
  const first = `${release}-${bundleDigest(await readBundle(keptBundle('0.1.0')))}`
  const second = `${release}-${bundleDigest((await workflowBundle()).code)}`
  world.startJoiner('joiner', { ...versioned, JOINER_WORKFLOW_BUNDLE: keptBundle('0.1.0') })
  await world.scale('inflate', 1)
  await ready(1)
  const [life = ''] = await lives()
  expect(await buildOf(life)).toBe(first)
  expect((await diagnosed('true')).summary).toContain(`worker version ${first} of joiner-${clusterName} is current`)

  world.startJoiner('second', versioned)
  await world.until('the second runs', async () =>
    (await world.cluster.supervisor.tail('second', 200)).includes(second),
  )
  await world.scale('inflate', 3)
  await ready(3)
  expect(new Set(await Promise.all((await lives()).map(buildOf)))).toEqual(new Set([first]))

  await world.cluster.supervisor.stop('joiner')
  await world.scale('inflate', 4)
  await ready(4)
  const all = [...(await lives()), world.loop('provisioning').workflowId]
  await world.temporal.workflow.getHandle(life).signal(pokeSignal)
  await world.until('what goes on does so with the second code', async () => (await buildOf(life)) === second)
  expect(await buildOf(all.at(-1) ?? '')).toBe(second)

  await world.cluster.supervisor.stop('second')
  world.startJoiner()
  await endAll()
  expect(await buildOf(life)).toBe('')
  expect(await diagnosed('true')).toMatchObject({ status: 'warn' })
  expect(new Set(await endings(startedMs))).toEqual(new Set(['COMPLETED, 0 tasks failed']))
}, 300_000)
