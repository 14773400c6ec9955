// Lifecycles, loops and the Schedule that somebody ended, deleted or paused: begun again or named within 30 s, and no node notices.
import { maintenanceScheduleId } from '../../../core/task-queues.ts'
import { clusterName } from '../../../deploy/local/cluster.ts'
import { deployment, nodeClass, nodePool } from '../../applied-objects.ts'
import { World } from '../../world.ts'
import { afterAll, beforeAll, expect, keepsTime, test } from '../scenario.ts'

/** The thousand are a unit test. */
const nodes = 6
const loops = ['provisioning', 'disruption'].map((name) => `${name}/${clusterName}`)
/** A round of the watchdog, and what it then takes until lists know of it. */
const namedMs = 30_000
const begunMs = 120_000
/** The watchdog leaves younger NodeClaims to their planner. */
const youngMs = 30_000

let world: World

beforeAll(async () => {
  world = await World.start()
  world.startJoiner()
  await world.apply(nodePool({ consolidateAfter: 'Never' }), nodeClass(), deployment({ apart: true }))
  await world.untilReady('general')
  await world.scale('inflate', nodes)
  await world.untilRunning(nodes)
})

afterAll(async () => {
  await world?.stop()
})

const running = async () => (await world.lifecycles("ExecutionStatus = 'Running'")).map(({ id }) => id)
const found = async (fault: string) => (await world.metrics())[`joiner_temporal_findings{fault="${fault}"}`]
const isRunning = async (id: string) =>
  (await world.temporal.workflow.getHandle(id).describe()).status.name === 'RUNNING'

/** Real servers beside other suites have no such times. */
const expectWithin = (ms: number, sinceMs: number) => expect(keepsTime ? Date.now() - sinceMs : 0).toBeLessThan(ms)

/** What a command prints that ends with 1, since something is wrong. */
const said = (...args: readonly string[]) =>
  world.joiner(...args).catch((error: unknown) => (error as { readonly stdout: string }).stdout)

async function vmsAndClaims() {
  const claims = (await world.list('nodeclaims')).map(({ metadata: { name, uid } }) => `${name} ${uid}`)
  return [...claims, ...(await world.azure()).virtualMachines.map(({ name }) => name)].sort()
}

test('all lifecycles that somebody terminated at once are named, then begun again, and nothing happens to their nodes', async () => {
  await world.until('all have lifecycles', async () => (await running()).length === nodes)
  await world.until('no NodeClaim is young', async () =>
    (await world.list('nodeclaims')).every(
      ({ metadata }) => Date.parse(metadata.creationTimestamp) < Date.now() - youngMs,
    ),
  )
  const [before, lost] = [await vmsAndClaims(), await running()]
  await Promise.all(lost.map((id) => world.temporal.workflow.getHandle(id).terminate('lost on purpose')))
  const lostMs = Date.now()
  await world.until('they are named', async () => ((await found('lifecycle missing')) ?? 0) > 0)
  expectWithin(namedMs, lostMs)
  await world.until('all run again', async () => (await running()).length === nodes)
  expectWithin(begunMs, lostMs)
  expect((await running()).toSorted()).toEqual(lost.toSorted())
  await world.until('nothing is missing', async () => (await found('lifecycle missing')) === 0)
  expect(await vmsAndClaims()).toEqual(before)
})

test('the Schedule comes back when somebody deletes it, and stays paused and is named when somebody pauses it', async () => {
  const schedule = world.temporal.schedule.getHandle(maintenanceScheduleId(clusterName))
  const state = async () => (await schedule.describe()).state
  await schedule.delete()
  const deletedMs = Date.now()
  await world.until('it is there again', () => state().catch(() => undefined))
  expectWithin(namedMs, deletedMs)
  await schedule.pause('bob looks into drift')
  const pausedMs = Date.now()
  await world.until('it is named', async () => (await found('schedule paused')) === 1)
  expectWithin(namedMs, pausedMs)
  const { scheduleId } = schedule
  expect(await said('status')).toContain(
    `BROKEN  Schedule ${scheduleId}: schedule paused, bob looks into drift: once the reason is gone: temporal schedule toggle --unpause --schedule-id ${scheduleId} `,
  )
  expect(await state()).toMatchObject({ paused: true, note: 'bob looks into drift' })
  await schedule.unpause('done')
  await world.until('it is named no more', async () => (await found('schedule paused')) === 0)
})

async function withoutVisibility(faults: NonNullable<World['servers']['temporalFaults']>): Promise<void> {
  faults.isVisibilityDown = true
  for (const id of loops) await world.temporal.workflow.getHandle(id).terminate('lost on purpose')
  const lostMs = Date.now()
  await world.until('both run again', async () => (await Promise.all(loops.map(isRunning))).every(Boolean))
  expectWithin(namedMs, lostMs)
  expect(await found('cannot be read')).toBeGreaterThan(0)
  const text = await said('status')
  expect(text).toMatch(/^BROKEN {2}the list of lifecycles, .*: cannot be read/m)
  expect(text).toMatch(new RegExp(`^general +${nodes} +${nodes} `, 'm'))
  faults.isVisibilityDown = false
  await world.until('all is seen again', async () => (await found('cannot be read')) === 0)
}

test('loops that somebody terminated run again while the visibility store is down, and what cannot be seen is said', async () => {
  const { temporalFaults } = world.servers
  // Real servers have theirs in one file with everything else.
  if (temporalFaults !== undefined) await withoutVisibility(temporalFaults)
  await world.scale('inflate', nodes + 1)
  await world.untilRunning(nodes + 1)
})

test('a namespace that was emptied is named as what it is, and everything is back', async () => {
  const before = await vmsAndClaims()
  await world.servers.loseTemporal()
  await world.until('all run again', async () => (await running()).length === nodes + 1)
  expect((await Promise.all(loops.map(isRunning))).every(Boolean)).toBe(true)
  expect(await vmsAndClaims()).toEqual(before)
  await world.until('status finds nothing', async () => !(await said('status')).includes('BROKEN'))
})
