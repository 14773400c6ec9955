// Workflow code that the current version cannot go on with, and two codes side by side.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { readConfig } from '../api/config.ts'
import { lifecycleId } from '../core/task-queues.ts'
import { clusterName } from '../deploy/local/cluster.ts'
import { temporalSettings } from '../deploy/local/temporal.ts'
import { examineTemporal } from '../starter/cli/doctor/temporal.ts'
import { version as release } from '../workers/build-info.ts'
import { bundleDigest, readBundle, withoutSourceMap, workflowBundle } from '../workers/bundle.ts'
import { pokeSignal, resumeSignal } from '../workflows/messages.ts'
import { keptVersions } from './bundles/kept.ts'
import { TwoVersions } from './upgrade/two-versions.ts'
import { beginUnknown, bootMs, UnderWay, underOldIds } from './upgrade/under-way.ts'
import type { World } from './world.ts'

const kept = await keptVersions()
// By default the server reports a stuck run after five failures, which takes it most of a minute.
const reportedAfter = 'system.numConsecutiveWorkflowTaskProblemsToTriggerSearchAttribute=2'

let versions: TwoVersions
let world: World

beforeAll(async () => {
  versions = await TwoVersions.start(['--dynamic-config-value', reportedAfter])
  world = versions.world
})

afterAll(() => world?.stop())

afterEach(() => versions.tidy())

/** The workflow code that was kept last, changed by the given function, in a file. */
async function changedBundle(name: string, change: (code: string) => string): Promise<string> {
  const path = join(world.cluster.stateDir, name)
  await writeFile(path, change(withoutSourceMap(await readBundle(kept.at(-1)?.bundle ?? ''))))
  return path
}

/** Every lifecycle and loop begins with a timer, which no other version knows of. */
function withTimers(code: string): string {
  const timer = 'await new Promise((done) => setTimeout(done, 1));'
  const begins = {
    '(()=>lifecycle.run())': `(async () => { ${timer} return lifecycle.run() })`,
    'await pause.recover();': `${timer} await pause.recover();`,
    'await _class_private_field_get(this, _pause).recover();': `${timer} await _class_private_field_get(this, _pause).recover();`,
  }
  return Object.entries(begins).reduce((changed, [begin, later]) => {
    expect(changed.split(begin)).toHaveLength(2)
    return changed.replace(begin, later)
  }, code)
}

function isNewRun(run: string, before: string | undefined): boolean {
  return run.startsWith('RUNNING') && run !== before
}

test('runs that the current version cannot go on with are ended and started again, and cost no node', async () => {
  await versions.startWith(await changedBundle('incompatible.js', withTimers))
  await world.scale('inflate', 1)
  await world.untilRunning(1)
  const [claim] = await versions.ready(1)
  const lifecycle = lifecycleId(clusterName, claim?.metadata ?? { name: '', uid: '' })
  const ids = [world.loop('provisioning').workflowId, world.loop('disruption').workflowId, lifecycle]
  const before = await Promise.all(ids.map((id) => versions.runOf(id)))
  const [vm] = (await world.azure()).virtualMachines
  const [pod] = await world.list('pods')

  await versions.upgrade()
  // Each of them has something to do, so that its history is replayed.
  await world.scale('inflate', 2)
  for (const id of ids)
    await world.temporal.workflow.getHandle(id).signal((id === lifecycle ? pokeSignal : resumeSignal).name)
  await world.until('all three run again', async () => {
    const now = await Promise.all(ids.map((id) => versions.runOf(id)))
    return now.every((run, at) => isNewRun(run, before[at]))
  })
  await world.untilRunning(2)
  await world.until('both lifecycles rest', async () => (await versions.phases()).join(' ') === 'Ready Ready')
  expect((await world.azure()).virtualMachines.map(({ name }) => name)).toContain(vm?.name)
  expect((await world.list('pods')).map(({ metadata }) => metadata.uid)).toContain(pod?.metadata.uid)
  await versions.endAll()
})

describe('what an earlier version has under other ids', () => {
  const underWay = () => new UnderWay(versions)

  afterEach(() => underWay().end())

  test('goes on under those of now: of 20 launches, three drains, a command and a pause nothing is lost or doubled', async () => {
    const story = underWay()
    await versions.startWith(kept.at(-1)?.bundle ?? '')
    const command = await story.begin()
    await world.crash()
    const [launching, draining, paused] = [await story.launching(), await story.draining(), await story.paused()]
    expect([launching, draining, paused].map(({ length }) => length)).toEqual([20, 3, 1])
    const old = [...(await underOldIds(world)), await beginUnknown(world)]
    const before = await Promise.all(old.map((id) => versions.runOf(id)))
    expect(before.filter((run) => !run.startsWith('RUNNING'))).toEqual([])

    world.startJoiner()
    await world.until('all of that has ended', async () => {
      const now = await Promise.all(old.map((id) => versions.runOf(id)))
      return now.every((run, at) => run === before[at]?.replace('RUNNING', 'TERMINATED'))
    })
    await world.until('each NodeClaim has its lifecycle', () => story.hasEachItsLifecycle())
    expect(await story.draining()).toEqual(draining)
    await story.release()
    await world.until(
      'the command ends',
      async () => !(await versions.runOf(command)).startsWith('RUNNING'),
      bootMs * 2,
    )
    expect(await world.temporal.workflow.getHandle(command).result()).toMatchObject({ outcome: 'done' })
    // Drained pods move to nodes of their own.
    const ready = await versions.ready(launching.length + paused.length + draining.length, bootMs * 2)
    expect(ready.map(({ metadata }) => metadata.uid)).toEqual(expect.arrayContaining([...launching, ...paused]))
    await world.until('each has its lifecycle still', () => story.hasEachItsLifecycle())
    expect(await story.oddVms()).toEqual([])
    expect([await story.isPauseInForce(), await story.paused()]).toEqual([true, paused])
    await world.until('nothing of that is found any more', async () => (await story.found()) === 0)
  })
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
  const temporal = temporalSettings(world.cluster)
  // The cluster is asked about a bundled Temporal alone.
  const kubernetes = {} as never
  return examineTemporal({ config: parsed.config, temporal, unreached: undefined, kubernetes, now: Date.now })
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
  await versions.endLoops()
  world.startJoiner('joiner', { ...versioned, JOINER_WORKFLOW_BUNDLE: bundle })
  await world.scale('inflate', 1)
  await versions.ready(1)
  const [lifecycle = ''] = await runningLifecycles()
  expect(await buildOf(lifecycle)).toBe(first)
  expect((await diagnosed('true')).summary).toContain(`worker version ${first} of joiner-${clusterName} is current`)

  world.startJoiner('second', versioned)
  await world.until('the second runs', async () =>
    (await world.cluster.supervisor.tail('second', 200)).includes(second),
  )
  await world.scale('inflate', 3)
  await versions.ready(3)
  expect(new Set(await Promise.all((await runningLifecycles()).map(buildOf)))).toEqual(new Set([first]))

  await world.cluster.supervisor.stop('joiner')
  await world.scale('inflate', 4)
  await versions.ready(4)
  const loop = world.loop('provisioning')
  await world.temporal.workflow.getHandle(lifecycle).signal(pokeSignal)
  await loop.signal(resumeSignal.name)
  await world.until('what goes on does so with the second code', async () =>
    (await Promise.all([lifecycle, loop.workflowId].map(buildOf))).every((build) => build === second),
  )

  await world.cluster.supervisor.stop('second')
  world.startJoiner()
  await versions.endAll()
  expect(await buildOf(lifecycle)).toBe('')
  expect(await diagnosed('true')).toMatchObject({ status: 'warn' })
  expect(new Set(await versions.endings(startedMs))).toEqual(new Set(['COMPLETED, 0 tasks failed']))
})
