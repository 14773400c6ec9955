// The disk is full under etcd, or under Temporal's database: a server refuses to write, or ends. Joiner goes on, and with it what it had in hand.
import { execFile } from 'node:child_process'
import { cp, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { request } from 'undici'
import { afterAll, beforeAll, describe, expect, type TestContext, test } from 'vitest'
import type { ProcessSpec } from '../deploy/local/supervisor.ts'
import { deployment, nodeClass, nodePool } from './applied-objects.ts'
import { expectWhole } from './whole.ts'
import { World } from './world.ts'

const run = promisify(execFile)
const MiB = 2 ** 20
/** Before the disk is full, and launched or wanted meanwhile. */
const [nodes, more] = [2, 2]
/** What comes back needs its time: clients back off, and etcd and Temporal start again. */
const afterwardsMs = 600_000

let world: World
let pid: number | undefined
/** Folders that a small file system is mounted at. */
const mounted: string[] = []

beforeAll(async () => {
  // Its servers are told other folders, so no other suite may have it.
  world = await World.start({ cloud: 'instant', audit: false })
  await world.startWithPool(nodePool({ consolidateAfter: 'Never' }), nodeClass(), deployment({ apart: true }))
  pid = world.cluster.supervisor.pids['joiner']
  await world.scale('inflate', nodes)
  await expectWhole(world, nodes)
})

afterAll(async () => {
  try {
    await world?.stop()
  } finally {
    for (const folder of mounted) {
      await run('umount', [folder])
      await rm(folder, { recursive: true })
    }
  }
})

/** A folder of a file system of its own. Skips the test where mounting is refused. */
async function smallDisk({ skip }: TestContext, mib: number): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'joiner-small-disk-'))
  try {
    await run('mount', ['-t', 'tmpfs', '-o', `size=${mib}m`, 'tmpfs', folder])
  } catch (error) {
    await rm(folder, { recursive: true })
    skip(`a tmpfs cannot be mounted here: ${String(error)}`)
  }
  mounted.push(folder)
  return folder
}

/** Takes all the room that is left. Returns what gives it back. */
async function fill(folder: string): Promise<() => Promise<void>> {
  const filler = join(folder, 'filler')
  for (let size = MiB; size >= 4096; size /= 16) {
    const piece = Buffer.alloc(size)
    const isWritten = () =>
      writeFile(filler, piece, { flag: 'a' }).then(
        () => true,
        (error: NodeJS.ErrnoException) => {
          if (error.code !== 'ENOSPC') throw error
          return false
        },
      )
    while (await isWritten()) {}
  }
  return () => rm(filler)
}

/** Starts a server again with other arguments, after `between`. Returns how it was started before. */
async function restarted(
  name: string,
  change: (arg: string) => string,
  { more: added = [], between = async () => {} }: { more?: readonly string[]; between?: () => Promise<void> } = {},
): Promise<ProcessSpec> {
  const { supervisor } = world.cluster
  const spec = await supervisor.stop(name)
  if (spec === undefined) throw new Error(`${name} did not run`)
  await between()
  supervisor.start({ ...spec, args: [...spec.args.map(change), ...added] })
  return spec
}

const answers = () => world.until('the API server answers', () => world.operator.kubectl(['get', '--raw', '/readyz']))

/** Writes large objects until the API server refuses one. Returns why. */
async function untilRefused(): Promise<string> {
  const data = { large: 'x'.repeat(900_000) }
  for (let count = 0; count < 500; count++) {
    const metadata = { generateName: 'filler-', namespace: 'default' }
    try {
      await world.operator.api('POST', '/api/v1/namespaces/default/configmaps', {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata,
        data,
      })
    } catch (error) {
      return String(error)
    }
  }
  throw new Error('500 objects of 900 kB were written, and none was refused')
}

/** Has nodes launch while the disk fills up. */
async function begin(): Promise<void> {
  await world.timing({ createMs: 20_000 })
  await world.scale('inflate', nodes + more)
  await world.until('NodeClaims for the new pods', async () => (await world.list('nodeclaims')).length === nodes + more)
}

/** What must be true when there is room again. */
async function expectOver(): Promise<void> {
  await world.timing({ createMs: 0 })
  await expectWhole(world, nodes + more, afterwardsMs)
  const puts = (await world.journal()).filter(({ method }) => method === 'PUT').map(({ name }) => name)
  expect(puts).toHaveLength(new Set(puts).size)
  await world.scale('inflate', nodes)
  const extra = (await world.list('nodeclaims')).slice(nodes).map(({ metadata }) => metadata.name)
  await world.operator.kubectl(['delete', 'nodeclaim', ...extra, '--wait=false'])
  await expectWhole(world, nodes, afterwardsMs)
  expect(world.cluster.supervisor.pids['joiner']).toBe(pid)
}

const logged = async () => (await world.cluster.supervisor.tail('joiner', 100_000)).split('\n')

/** Waits until Joiner has met it: its log has a line with the text after so many lines. */
async function untilLogged(text: RegExp, since: number): Promise<void> {
  await world.until(`the log has ${text}`, async () => (await logged()).slice(since).some((line) => text.test(line)))
}

describe('etcd', () => {
  const path = () => join(world.cluster.stateDir, 'etcd')
  const client = () => `http://127.0.0.1:${world.cluster.ports.etcd}`
  const alarm = async (body: object) => {
    const answer = await request(`${client()}/v3/maintenance/alarm`, { method: 'POST', body: JSON.stringify(body) })
    return (await answer.body.json()) as { readonly alarms?: readonly { readonly memberID: string }[] }
  }
  const disarm = async () => {
    // Without the member that it is of, an alarm stays, and the answer is the same.
    const { alarms = [] } = await alarm({ action: 'GET' })
    for (const { memberID } of alarms) await alarm({ action: 'DEACTIVATE', memberID, alarm: 'NOSPACE' })
    expect((await alarm({ action: 'GET' })).alarms ?? []).toEqual([])
  }

  test('has reached its quota: Joiner reads on, and once the alarm is disarmed pods get their nodes', async () => {
    const { size } = await stat(join(path(), 'member', 'snap', 'db'))
    await restarted('etcd', (arg) => arg, { more: [`--quota-backend-bytes=${size + 4 * MiB}`] })
    await answers()
    await begin()
    const { length } = await logged()
    expect(await untilRefused()).toMatch(/space exceeded|no space/)
    await untilLogged(/space exceeded|failed to renew or release lease/, length)
    expect((await world.list('nodes')).length).toBeGreaterThanOrEqual(nodes)
    await restarted('etcd', (arg) => (arg.startsWith('--quota-backend-bytes=') ? '--quota-backend-bytes=0' : arg))
    await answers()
    await disarm()
    await expectOver()
  })

  test('has a full disk: what it does not end by it takes up again when there is room', async (context) => {
    const disk = await smallDisk(context, 320)
    const spec = await restarted('etcd', (arg) => (arg.startsWith('--data-dir=') ? `--data-dir=${disk}/etcd` : arg), {
      between: () => cp(path(), join(disk, 'etcd'), { recursive: true }),
    })
    await answers()
    await begin()
    const { length } = await logged()
    const giveBack = await fill(disk)
    await untilRefused()
    await untilLogged(/failed to renew or release lease/, length)
    await giveBack()
    const { supervisor } = world.cluster
    if (supervisor.pids['etcd'] === undefined)
      supervisor.start({
        ...spec,
        args: spec.args.map((arg) => (arg.startsWith('--data-dir=') ? `--data-dir=${disk}/etcd` : arg)),
      })
    await answers()
    await disarm()
    await expectOver()
  })
})

test("Temporal's disk is full: workers wait, and all goes on when there is room", async (context) => {
  const { stateDir, supervisor } = world.cluster
  const disk = await smallDisk(context, 96)
  const moved = (arg: string) => (arg === join(stateDir, 'temporal.db') ? join(disk, 'temporal.db') : arg)
  const spec = await restarted('temporal', moved, {
    between: async () => {
      const files = (await readdir(stateDir)).filter((name) => name.startsWith('temporal.db'))
      await Promise.all(files.map((name) => cp(join(stateDir, name), join(disk, name))))
    },
  })
  await world.until('workers are back', async () => (await world.lifecycles("NodePhase = 'Ready'")).length === nodes)
  await begin()
  const giveBack = await fill(disk)
  const write = (size: number) =>
    world.temporal.workflow.signalWithStart('diskFull', {
      workflowId: 'disk-full',
      taskQueue: 'nobody',
      signal: 'more',
      signalArgs: ['x'.repeat(size)],
    })
  await world.until('Temporal refuses to write', () =>
    write(500_000).then(
      () => false,
      () => true,
    ),
  )
  expect((await world.list('nodes')).length).toBeGreaterThanOrEqual(nodes)
  await giveBack()
  if (supervisor.pids['temporal'] === undefined) supervisor.start({ ...spec, args: spec.args.map(moved) })
  await world.until('Temporal writes again', async () => {
    await (await write(1)).terminate('there is room')
    return true
  })
  await expectOver()
})
