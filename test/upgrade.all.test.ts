// Workflow code that the current version cannot go on with, and two codes side by side.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { readConfig } from '../api/config.ts'
import { clusterName } from '../deploy/local/cluster.ts'
import { temporalSettings } from '../deploy/local/temporal.ts'
import { temporalCheck } from '../starter/cli/doctor/temporal.ts'
import { version as release } from '../workers/build-info.ts'
import { bundleDigest, readBundle, withoutSourceMap, workflowBundle } from '../workers/bundle.ts'
import { pokeSignal, resumeSignal } from '../workflows/messages.ts'
import { keptVersions } from './bundles/kept.ts'
import { TwoVersions } from './upgrade/two-versions.ts'
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
  await versions.startWith(await changedBundle('incompatible.js', withTimers))
  await world.scale('inflate', 1)
  await world.untilRunning(1)
  const [claim] = await versions.ready(1)
  const lifecycle = `nodeclaim/${clusterName}/${claim?.metadata.name}/${claim?.metadata.uid}`
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
  const all = [...(await runningLifecycles()), world.loop('provisioning').workflowId]
  await world.temporal.workflow.getHandle(lifecycle).signal(pokeSignal)
  await world.until('what goes on does so with the second code', async () => (await buildOf(lifecycle)) === second)
  expect(await buildOf(all.at(-1) ?? '')).toBe(second)

  await world.cluster.supervisor.stop('second')
  world.startJoiner()
  await versions.endAll()
  expect(await buildOf(lifecycle)).toBe('')
  expect(await diagnosed('true')).toMatchObject({ status: 'warn' })
  expect(new Set(await versions.endings(startedMs))).toEqual(new Set(['COMPLETED, 0 tasks failed']))
})
