// Holds the simulated Temporal server to a real one: the same rows, the same answers, the same events.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Client, Connection } from '@temporalio/client'
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
  const played = await Promise.all(
    rows.map(async (row) => [row.name, await Promise.race([play(row, world), late(row.name)])] as const),
  )
  real = new Map(played)
}, 180_000)

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
  const worker = await Worker.create({
    connection: native,
    taskQueue: 'parity',
    workflowBundle: { code },
    activities: parityActivities({ sleep }),
  })
  const running = worker.run()
  ends.push(async () => {
    worker.shutdown()
    await running
  })
  const client = new Client({ connection })
  const histories = async (workflowId: string) => {
    const found: NonNullable<Awaited<ReturnType<typeof historyOf>>['events']>[] = []
    for (let runId: string | undefined = (await client.workflow.getHandle(workflowId).describe()).runId; runId; ) {
      const { events } = await historyOf(client, workflowId, runId)
      found.unshift(events ?? [])
      runId = events?.[0]?.workflowExecutionStartedEventAttributes?.continuedExecutionRunId ?? undefined
    }
    return found
  }
  return { client, sleep, histories }
}

const historyOf = (client: Client, workflowId: string, runId: string) =>
  client.workflow.getHandle(workflowId, runId).fetchHistory()

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
