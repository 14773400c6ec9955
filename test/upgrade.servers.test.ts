import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { readConfig } from '../api/config.ts'
import { clusterName } from '../deploy/local/cluster.ts'
import { temporalSettings } from '../deploy/local/temporal.ts'
import { temporalCheck } from '../starter/cli/doctor/temporal.ts'
import { version as release } from '../workers/build-info.ts'
import { bundleDigest, readBundle, withoutSourceMap, workflowBundle } from '../workers/bundle.ts'
import {
  commandStatusQuery,
  lifecycleStatusQuery,
  loopStatusQuery,
  pauseSignal,
  pokeSignal,
  resumeSignal,
} from '../workflows/messages.ts'
import { deployment, nodeClass, nodePool } from './applied-objects.ts'
import { keptVersions } from './bundles/kept.ts'
import { quietRuntime } from './runner/quiet-runtime.ts'
import { type Seen, World } from './world.ts'

let world: World
const kept = await keptVersions()

beforeAll(async () => {
  quietRuntime()
  // By default the server reports a stuck run after five failures, which takes it most of a minute.
  const reportedAfter = 'system.numConsecutiveWorkflowTaskProblemsToTriggerSearchAttribute=2'
  world = await World.start({ temporalArgs: ['--dynamic-config-value', reportedAfter] })
  await world.apply(nodePool({ consolidateAfter: 'Never' }), nodeClass(), deployment({ apart: true }))
})

afterAll(() => world?.stop())

// Every story ends with everything deleted, also one that failed: the next one counts from nothing.
afterEach(async () => {
  await world.timing({ createMs: 0, bootMs: 0 })
  await world.operator.simulator('DELETE', '/faults')
  await world.operator.kubectl(['-n', 'joiner', 'delete', 'configmap', 'joiner-pauses', '--ignore-not-found'])
  await world.operator.kubectl(['delete', 'volumeattachments', '--all'])
  // One that failed must not leave its nodes to the next.
  if ((await world.list('nodeclaims')).length > 0) await endAll()
  await world.cluster.supervisor.stop('joiner')
  await world.cluster.supervisor.stop('second')
})

/** Starts Joiner with another workflow code than its own, which begins the loops as well, and waits until it runs that and can plan. */
async function startWith(bundle: string): Promise<void> {
  await endLoops()
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

/** The phases of all lifecycles that run. */
async function phases(): Promise<readonly string[]> {
  const lifecycles = await world.lifecycles("ExecutionStatus = 'Running'")
  return Promise.all(
    lifecycles.map(async ({ id }) => (await world.temporal.workflow.getHandle(id).query(lifecycleStatusQuery)).phase),
  )
}

async function endAll(): Promise<void> {
  await world.scale('inflate', 0)
  await world.operator.kubectl(['delete', 'nodeclaims', '--all', '--wait=false'])
  await world.untilNothingLeft()
}

/** How many workflow tasks of a run have failed. */
async function failedTasks(workflowId: string, runId?: string): Promise<number> {
  const { events } = await world.temporal.workflow.getHandle(workflowId, runId).fetchHistory()
  return (events ?? []).filter(({ workflowTaskFailedEventAttributes }) => workflowTaskFailedEventAttributes).length
}

/** How the runs of lifecycles since a time ended, and how many of their workflow tasks failed. */
async function endings(sinceMs: number): Promise<readonly string[]> {
  const found: string[] = []
  const query = `WorkflowType = 'nodeClaimLifecycle' AND StartTime >= '${new Date(sinceMs).toISOString()}'`
  for await (const { workflowId, runId, status } of world.temporal.workflow.list({ query }))
    found.push(`${status.name}, ${await failedTasks(workflowId, runId)} tasks failed`)
  return found
}

async function runOf(workflowId: string): Promise<string> {
  const { runId, status } = await world.temporal.workflow.getHandle(workflowId).describe()
  return `${status.name} ${runId}`
}

/** Ends both loops, so that the next Joiner begins them. */
async function endLoops(): Promise<void> {
  for (const name of ['provisioning', 'disruption'] as const)
    await world
      .loop(name)
      .terminate('to be begun by another version')
      .catch(() => {})
}

/** The workflow id of a disruption command that waits for its replacements. */
async function waitingCommand(): Promise<string | undefined> {
  const query = "WorkflowType = 'disruptionCommand' AND ExecutionStatus = 'Running'"
  for await (const { workflowId } of world.temporal.workflow.list({ query })) {
    const { doing } = await world.temporal.workflow.getHandle(workflowId).query(commandStatusQuery)
    if (doing.startsWith('waiting until')) return workflowId
  }
  return undefined
}

test('a version is kept', () => {
  expect(kept).not.toEqual([])
})

describe.each(kept)('what version $version began goes on with the current one:', ({ version, bundle }) => {
  test('lifecycles, whatever they were at, and they end with nothing left', async () => {
    const startedMs = Date.now()
    await startWith(bundle)
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
    // Its pod is planned again, onto a node that takes long to join.
    await world.timing({ bootMs: 15_000 })
    await world.operator.kubectl(['delete', 'nodeclaim', name, '--wait=false'])
    await world.until('one drains, one registers', async () => {
      const now = await phases()
      return now.includes('Draining') && now.includes('Registering')
    })
    await world.fault({ kind: 'latency', ms: 10_000, count: 1 })
    await world.scale('inflate', 3)
    await world.until('there is a lifecycle in each phase', async () => {
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
  })

  test('the loops, with the pause that one of them knows, and a disruption command, in the same runs', async () => {
    await startWith(bundle)
    await world.scale('inflate', 1)
    await world.untilRunning(1)
    const [leaving] = await ready(1)
    const [provisioning, disruption] = [world.loop('provisioning'), world.loop('disruption')]
    await provisioning.signal(pauseSignal, { reason: 'an upgrade' })
    await world.until('the pause is in force', async () => (await provisioning.query(loopStatusQuery)).pause)
    // The command waits for a node that takes long to join.
    await world.timing({ bootMs: 15_000 })
    const template = { metadata: { labels: { team: version } } }
    await world.operator.api('PATCH', '/apis/karpenter.sh/v1/nodepools/general', { spec: { template } })
    const command = await world.until('a command waits for its replacement', waitingCommand)
    const ids = [provisioning.workflowId, disruption.workflowId, command]
    const before = await Promise.all(ids.map(runOf))

    await upgrade()
    await world.until('the node is replaced', async () => (await runOf(command)).startsWith('COMPLETED'), 120_000)
    expect(await world.temporal.workflow.getHandle(command).result()).toMatchObject({ outcome: 'done' })
    const [replacement] = await ready(1)
    expect(replacement?.metadata.uid).not.toBe(leaving?.metadata.uid)
    expect((await provisioning.query(loopStatusQuery)).pause).toMatchObject({ reason: 'an upgrade' })
    expect((await disruption.query(loopStatusQuery)).rounds).toBe(1)
    await provisioning.signal(resumeSignal)
    await world.scale('inflate', 2)
    await ready(2)
    expect(await Promise.all(ids.map(runOf))).toEqual([
      ...before.slice(0, 2),
      before[2]?.replace('RUNNING', 'COMPLETED'),
    ])
    expect(await Promise.all(ids.map((id) => failedTasks(id)))).toEqual([0, 0, 0])
    await endAll()
  })
})

/** The workflow code that was kept last, changed by the given function, in a file. */
async function changedBundle(name: string, change: (code: string) => string): Promise<string> {
  const path = join(world.cluster.stateDir, name)
  await writeFile(path, change(withoutSourceMap(await readBundle(kept.at(-1)?.bundle ?? ''))))
  return path
}

/** Every lifecycle and loop begins with a timer, which no other version knows of. */
function withTimers(code: string): string {
  const begins = [
    'await lifecycle.run();',
    'if (input.state === undefined) await pause.recover();',
    'if (_class_private_field_get(this, _input).state === undefined) await',
  ]
  return begins.reduce((changed, begin) => {
    expect(changed.split(begin)).toHaveLength(2)
    return changed.replace(begin, `await new Promise((done) => setTimeout(done, 1));${begin}`)
  }, code)
}

function isNewRun(run: string, before: string | undefined): boolean {
  return run.startsWith('RUNNING') && run !== before
}

test('runs that the current version cannot go on with are ended and started again, and cost no node', async () => {
  await startWith(await changedBundle('incompatible.js', withTimers))
  await world.scale('inflate', 1)
  await world.untilRunning(1)
  const [claim] = await ready(1)
  const lifecycle = `nodeclaim/${clusterName}/${claim?.metadata.name}/${claim?.metadata.uid}`
  const ids = [world.loop('provisioning').workflowId, world.loop('disruption').workflowId, lifecycle]
  const before = await Promise.all(ids.map(runOf))
  const [vm] = (await world.azure()).virtualMachines
  const [pod] = await world.list('pods')

  await upgrade()
  // Each of them has something to do, so that its history is replayed.
  await world.scale('inflate', 2)
  for (const id of ids)
    await world.temporal.workflow.getHandle(id).signal((id === lifecycle ? pokeSignal : resumeSignal).name)
  await world.until('all three run again', async () => {
    const now = await Promise.all(ids.map(runOf))
    return now.every((run, at) => isNewRun(run, before[at]))
  })
  await world.untilRunning(2)
  await world.until('both lifecycles rest', async () => (await phases()).join(' ') === 'Ready Ready')
  expect((await world.azure()).virtualMachines.map(({ name }) => name)).toContain(vm?.name)
  expect((await world.list('pods')).map(({ metadata }) => metadata.uid)).toContain(pod?.metadata.uid)
  await endAll()
})

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

async function runningLifecycles(): Promise<readonly string[]> {
  return (await world.lifecycles("ExecutionStatus = 'Running'")).map(({ id }) => id)
}

test('with worker versioning, two workflow codes run side by side and only the current one gets tasks; turned off, all go on', async () => {
  const startedMs = Date.now()
  const versioned = { JOINER_WORKER_VERSIONING: 'true' }
  // The kept code may be the very code of this version: a comment makes it another build.
  const bundle = await changedBundle('another-build.js', (code) => `${code}\n// another build\n`)
  const first = `${release}-${bundleDigest(await readBundle(bundle))}`
  const second = `${release}-${bundleDigest((await workflowBundle()).code)}`
  await endLoops()
  world.startJoiner('joiner', { ...versioned, JOINER_WORKFLOW_BUNDLE: bundle })
  await world.scale('inflate', 1)
  await ready(1)
  const [lifecycle = ''] = await runningLifecycles()
  expect(await buildOf(lifecycle)).toBe(first)
  expect((await diagnosed('true')).summary).toContain(`worker version ${first} of joiner-${clusterName} is current`)

  world.startJoiner('second', versioned)
  await world.until('the second runs', async () =>
    (await world.cluster.supervisor.tail('second', 200)).includes(second),
  )
  await world.scale('inflate', 3)
  await ready(3)
  expect(new Set(await Promise.all((await runningLifecycles()).map(buildOf)))).toEqual(new Set([first]))

  await world.cluster.supervisor.stop('joiner')
  await world.scale('inflate', 4)
  await ready(4)
  const all = [...(await runningLifecycles()), world.loop('provisioning').workflowId]
  await world.temporal.workflow.getHandle(lifecycle).signal(pokeSignal)
  await world.until('what goes on does so with the second code', async () => (await buildOf(lifecycle)) === second)
  expect(await buildOf(all.at(-1) ?? '')).toBe(second)

  await world.cluster.supervisor.stop('second')
  world.startJoiner()
  await endAll()
  expect(await buildOf(lifecycle)).toBe('')
  expect(await diagnosed('true')).toMatchObject({ status: 'warn' })
  expect(new Set(await endings(startedMs))).toEqual(new Set(['COMPLETED, 0 tasks failed']))
})
