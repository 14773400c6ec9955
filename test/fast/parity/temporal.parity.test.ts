// Holds the simulated Temporal server to a real one: the same rows, the same answers, the same events.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Client, Connection } from '@temporalio/client'
import type { temporal } from '@temporalio/proto'
import { bundleWorkflowCode, NativeConnection, Worker } from '@temporalio/worker'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freePorts } from '../../../deploy/local/free-ports.ts'
import { resolveBinaries } from '../../../deploy/local/server-binaries.ts'
import { Supervisor } from '../../../deploy/local/supervisor.ts'
import { quietRuntime } from '../../runner/quiet-runtime.ts'
import { parityActivities } from './activities.ts'
import { playFast } from './fast.ts'
import { type Outcome, play, type World } from './outcome.ts'
import { rows } from './rows.ts'

const silent = { log() {}, trace() {}, debug() {}, info() {}, warn() {}, error() {} }
let code: string
let real: ReadonlyMap<string, Outcome>
const ends: (() => Promise<unknown>)[] = []

const sleep = (ms: number) =>
  new Promise<void>((resolve) => {
    setTimeout(resolve, ms)
  })

beforeAll(async () => {
  quietRuntime()
  const workflowsPath = fileURLToPath(new URL('./workflows.ts', import.meta.url))
  ;({ code } = await bundleWorkflowCode({ workflowsPath, logger: silent }))
  const world = await startServer()
  const played: (readonly [string, Outcome])[] = []
  const left = [...rows]
  const playOn = async () => {
    for (let row = left.shift(); row !== undefined; row = left.shift())
      played.push([row.name, await Promise.race([play(row, world), late(row.name)])])
  }
  // All at once would keep tasks waiting for longer than the acts of rows are apart.
  await Promise.all(Array.from({ length: 16 }, playOn))
  real = new Map(played)
}, 600_000)

afterAll(async () => {
  for (const end of ends.toReversed()) await end()
})

const late = (name: string) =>
  sleep(60_000).then((): Outcome => ({ answers: [], result: `${name} does not end`, events: [] }))

async function startServer(): Promise<World> {
  const { temporal } = await resolveBinaries(['temporal'], () => {})
  const [port = 0] = await freePorts(1)
  const folder = await mkdtemp(join(tmpdir(), 'joiner-parity-'))
  ends.push(() => rm(folder, { recursive: true, force: true }))
  const supervisor = new Supervisor(folder, () => {})
  ends.push(() => supervisor.stopAll())
  supervisor.start({
    name: 'temporal',
    command: temporal,
    args: ['server', 'start-dev', '--port', String(port), '--headless', '--log-level', 'error'],
  })
  const address = `127.0.0.1:${port}`
  const connection = await untilConnected(address)
  ends.push(() => connection.close())
  const native = await NativeConnection.connect({ address })
  ends.push(() => native.close())
  const common = { connection: native, activities: parityActivities({ sleep }) }
  run(await Worker.create({ ...common, taskQueue: 'parity', workflowBundle: { code } }))
  const one = { maxConcurrentActivityTaskExecutions: 1, maxConcurrentActivityTaskPolls: 1 }
  run(await Worker.create({ ...common, taskQueue: 'parity-narrow', ...one }))
  const client = new Client({ connection })
  const histories = async (workflowId: string) => {
    const found: { readonly startMs: number; readonly events: readonly temporal.api.history.v1.IHistoryEvent[] }[] = []
    for await (const { runId, startTime } of client.workflow.list({ query: `WorkflowId = '${workflowId}'` })) {
      const { events } = await client.workflow.getHandle(workflowId, runId).fetchHistory()
      found.push({ startMs: startTime.getTime(), events: events ?? [] })
    }
    return found.toSorted((one, other) => one.startMs - other.startMs).map(({ events }) => events)
  }
  const atRest = async (workflowId: string) => {
    for (let tries = 0; tries < 300; tries++) {
      const { raw } = await client.workflow.getHandle(workflowId).describe()
      if (raw.pendingWorkflowTask == null) return
      await sleep(100)
    }
  }
  return { client, sleep, atRest, histories }
}

function run(worker: Worker): void {
  const running = worker.run()
  ends.push(async () => {
    worker.shutdown()
    await running
  })
}

async function untilConnected(address: string): Promise<Connection> {
  for (let tries = 0; ; tries++) {
    try {
      return await Connection.connect({ address, connectTimeout: '1s' })
    } catch (error) {
      if (tries > 60) throw error
      await sleep(500)
    }
  }
}

test.each(rows.map((row) => [row.name, row] as const))('%s', async (name, row) => {
  const fast = await playFast(code, row)
  expect(fast).toEqual(real.get(name))
})
