import { Client } from '@temporalio/client'
import { beforeAll, beforeEach, expect, test } from 'vitest'
import { empty } from '../../test/fakes/commit-world.ts'
import { OneLife } from '../../test/fast/temporal/one-life.ts'
import { TemporalConnection } from '../../test/fast/temporal/temporal-connection.ts'
import { WorkflowHost } from '../../test/fast/temporal/workflow-host.ts'
import { settled as settledBy } from '../../test/fast/virtual-clock.ts'
import { workflowBundle } from '../../workers/bundle.ts'
import { AttributedStarts } from '../attributed-starts.ts'
import { CommandStarter } from './command-starter.ts'

const lagMs = 1000
let host: WorkflowHost
let life: OneLife
let commands: CommandStarter

beforeAll(async () => {
  host = WorkflowHost.load((await workflowBundle()).code, ['observe'])
}, 60_000)

beforeEach(() => {
  life = new OneLife(host)
  life.startProcess()
  const { connection } = new TemporalConnection(life.temporal, { clock: life.clock, lagMs, random: () => 0.5 })
  const now = () => life.clock.now()
  commands = new CommandStarter({
    client: new Client({ connection }),
    cluster: 'test',
    starts: new AttributedStarts(now),
    now,
  })
})

const settled = <T>(work: Promise<T>) => settledBy(life.clock, work)
const first = empty(['a'])
/** The same nodes, proposed again. */
const again = empty(['a'], { id: first.id.replace(/........$/, '89abcdef') })

test('a command waits for its commit, and a planner that begins finds it in the list, which lags', async () => {
  await settled(commands.start(first, 15_000))
  expect(await settled(commands.listed())).toEqual(new Set())
  expect(await settled(commands.isValidating(first.id))).toBe(true)
  await settled(life.clock.sleep(lagMs))
  expect(await settled(commands.listed())).toEqual(new Set([first.id]))
  expect(await settled(commands.validating())).toEqual([
    { id: first.id, method: 'emptiness', nodeClaims: ['a'], dueMs: expect.any(Number) },
  ])
})

test('for the same nodes one command runs at a time: another is not begun, and does not pass for it', async () => {
  await settled(commands.start(first, 15_000))
  await settled(commands.start(again, 15_000))
  expect(life.temporal.runs).toHaveLength(1)
  expect(await settled(commands.isRunning(first.id))).toBe(true)
  expect(await settled(commands.isRunning(again.id))).toBe(false)
  expect(await settled(commands.isValidating(again.id))).toBe(false)
})

test('what ended does not run, and the same nodes may be proposed again', async () => {
  await settled(commands.start(first, 15_000))
  await settled(life.clock.sleep(0))
  life.temporal.terminateRun(life.temporal.runs[0] as never, 'test')
  expect(await settled(commands.isRunning(first.id))).toBe(false)
  await settled(commands.start(again, 15_000))
  expect(await settled(commands.isRunning(again.id))).toBe(true)
})
