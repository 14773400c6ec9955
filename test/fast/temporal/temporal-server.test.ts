import { Context } from '@temporalio/activity'
import { beforeAll, describe, expect, test } from 'vitest'
import { workflowBundle } from '../../../workers/bundle.ts'
import { randomNumbers } from '../virtual-clock.ts'
import { activations, objections } from './judge.ts'
import { type Activities, OneLife, startMs, workflowId } from './one-life.ts'
import { shapeOf } from './protocol.ts'
import { NonDeterminism, replay } from './replay.ts'
import type { Run } from './run.ts'
import type { TemporalOptions } from './temporal-server.ts'
import { WorkflowHost } from './workflow-host.ts'

let code: string
let host: WorkflowHost

beforeAll(async () => {
  ;({ code } = await workflowBundle())
  host = WorkflowHost.load(code, ['observe'])
}, 60_000)

/** A node's whole life, with an operator's hold between. */
async function wholeLife(options: TemporalOptions = {}): Promise<{ readonly life: OneLife; readonly answer: unknown }> {
  const life = new OneLife(host, options)
  life.startProcess()
  life.begin()
  await life.until('the node is ready', () => life.phase() === 'Ready')
  let answer: unknown
  void life.update('hold', { until: '2030-01-01T12:00:00Z', reason: 'test' }).then((result) => {
    answer = result
  })
  await life.until('an answer', () => answer !== undefined)
  life.delete()
  await life.until('the end', () => !life.run.isRunning)
  return { life, answer }
}

const shapes = ({ past }: Run) => past.flatMap(({ commands }) => commands.map(shapeOf))

describe('one life', () => {
  test('goes through its steps, retries and an update', async () => {
    const { life, answer } = await wholeLife()
    expect(life.run.status).toBe('completed')
    expect(life.story.launches).toBe(3)
    expect(answer).toEqual({ kind: 'done', message: 'held until noon' })
    expect(life.clock.now() - startMs).toBeLessThan(120_000)
    expect(
      shapes(life.run)
        .filter((shape) => shape.startsWith('scheduleActivity'))
        .map((shape) => shape.split(' ')[3]),
    ).toEqual(['launch', 'launch', 'awaitNode', 'awaitInitialization', 'writeHold', 'drain', 'deleteInstance'])
  })

  test('begins again after a reset, with the update that it had, and Core replays that', async () => {
    const { life } = await wholeLife()
    const first = life.run.history.events.find((event) => event.workflowTaskCompletedEventAttributes != null)
    const again = life.temporal.resetRun(life.run, Number(first?.eventId), 'once more')
    await life.until('its end', () => !again.isRunning)
    expect([again.status, again.updates.size]).toEqual(['completed', 1])
    expect(shapes(again).filter((shape) => shape.startsWith('updateResponse'))).toHaveLength(2)
    expect(await objections(host, [again])).toEqual([])
  })

  test('goes on where the server comes back: what ended while it was away counts, and time limits that passed do so then', async () => {
    const life = new OneLife(host)
    life.startProcess()
    life.begin()
    await life.until('the first attempt', () => life.story.launches === 1)
    life.temporal.leave(20_000)
    const back = life.clock.now() + 20_000
    await life.until('the second attempt', () => life.story.launches === 2)
    expect(life.clock.now()).toBeGreaterThanOrEqual(back)
    await life.until('the node is ready', () => life.phase() === 'Ready')
    expect(life.story.launches).toBe(3)
    expect(life.temporal.runs).toHaveLength(1)
  })

  test('has the same completions, byte for byte, in each of twenty runs and in another host', async () => {
    const { life: first } = await wholeLife()
    for (let time = 0; time < 20; time++) expect((await wholeLife()).life.run.bytes.equals(first.run.bytes)).toBe(true)
    host = WorkflowHost.load(code, ['observe'])
    expect((await wholeLife()).life.run.bytes.equals(first.run.bytes)).toBe(true)
  })

  test('is the same when each task begins with a replay', async () => {
    const { life: plain } = await wholeLife()
    const { life: evicted } = await wholeLife({ isEvicted: () => true })
    expect(evicted.run.bytes.equals(plain.run.bytes)).toBe(true)
  })

  test.each(['an error', 'its time limit'])(
    'goes on where each local observation ends with %s: by an ordinary activity, when Core replays it too',
    async (end) => {
      const life = new OneLife(host)
      const { observe } = life.activities
      life.activities['observe'] = async () => {
        if (!Context.current().info.isLocal) return observe?.()
        if (end === 'an error') throw new Error('the API server is away')
        return life.clock.sleep(60_000)
      }
      life.startProcess()
      life.begin()
      await life.until('the node is ready', () => life.phase() === 'Ready')
      life.delete()
      await life.until('the end', () => !life.run.isRunning)
      expect([life.run.status, life.temporal.runs.length]).toEqual(['completed', 1])
      expect(await objections(host, [life.run])).toEqual([])
    },
  )

  test('does not replay with code that takes its steps in another order', async () => {
    const { life } = await wholeLife()
    const call = (activity: string) => `.${activity}.executeWithOptions(`
    const other = code
      .replace(call('drain'), '\0')
      .replace(call('deleteInstance'), call('drain'))
      .replace('\0', call('deleteInstance'))
    expect(() => replay(life.run, WorkflowHost.load(other, ['observe']))).toThrow(NonDeterminism)
    expect(() => replay(life.run, host)).not.toThrow()
  })
})

/** A life with random latencies, failures, kills, freezes and operators. */
async function randomLife(seed: number): Promise<OneLife> {
  const random = randomNumbers(seed * 7919)
  const isEvicted = random() < 0.3
  const life = new OneLife(host, {
    seed,
    taskLatencyMs: (chance) => Math.floor(chance() * 400),
    suggestNewRunAt: random() < 0.3 ? 45 : 4096,
    isEvicted: () => isEvicted,
  })
  const activities = unreliable(life, random)
  let worker = life.startProcess(activities)
  life.begin()
  const acts = [
    () => {
      life.temporal.kill(worker.process)
      life.clock.at(life.clock.now() + random() * 6000, () => {
        worker = life.startProcess(activities)
      })
    },
    () => {
      const { process } = worker
      life.temporal.freeze(process)
      life.clock.at(life.clock.now() + random() * 40_000, () => life.temporal.thaw(process))
      worker = life.startProcess(activities)
    },
    () => void life.update('retryNow', { reason: 'r' }),
    () => void life.update('hold', { reason: 'r' }),
    () => void life.update('hold', { until: 'x' }),
    () => life.signal('retryNow', { reason: 's' }),
    () => {
      life.signal('observeAgain', 'x')
      life.signal('observeAgain', 'y')
    },
  ]
  for (let count = 0; count < 12; count++)
    life.clock.at(startMs + random() * 120_000, () => {
      const act = acts[Math.floor(random() * acts.length)]
      if (life.run.isRunning) act?.()
    })
  life.clock.at(startMs + 60_000 + random() * 60_000, () => life.delete())
  await life.until(`the end of life ${seed}`, () => life.story.isDeleted && !life.run.isRunning)
  return life
}

/** The same activities, one in three of which fails, is slow, or hangs until it is cancelled or times out. */
function unreliable({ activities, clock }: OneLife, random: () => number): Activities {
  const wrapped = Object.entries(activities).map(([name, call]) => {
    const tried = async (...args: never[]) => {
      const luck = random()
      if (luck < 0.15) throw new Error('by chance')
      if (luck < 0.25) {
        await clock.sleep(random() * 1500)
        Context.current().heartbeat()
      }
      if (luck > 0.95) await Promise.race([clock.sleep(5000), Context.current().cancelled])
      return call(...args)
    }
    return [name, tried] as const
  })
  return Object.fromEntries(wrapped)
}

describe('the judge: Core replays what the simulated server wrote', () => {
  test('twenty random lives, their replays and their activations', async () => {
    const runs: Run[] = []
    for (let seed = 1; seed <= 20; seed++) {
      const { temporal } = await randomLife(seed)
      for (const run of temporal.runs) replay(run, host)
      runs.push(...temporal.runs)
    }
    expect(await objections(host, runs)).toEqual([])
    const tasksTimedOut = runs.flatMap(({ history }) => history.of('workflowTaskTimedOutEventAttributes'))
    expect(tasksTimedOut.length).toBeGreaterThan(0)
    for (const run of runs.slice(0, 5)) {
      const { core, own } = await activations(code, run)
      expect(own).toEqual(core)
    }
  }, 120_000)

  test('a life is the same for a seed', async () => {
    for (const seed of [3, 5]) {
      const [one, other] = [await randomLife(seed), await randomLife(seed)]
      expect(one.temporal.runs.map(({ bytes }) => bytes.toString('hex'))).toEqual(
        other.temporal.runs.map(({ bytes }) => bytes.toString('hex')),
      )
    }
  })

  test("it objects to a history that is not Temporal's", async () => {
    const { life } = await wholeLife()
    const { events } = life.run.history
    const drained = events.findIndex(
      ({ activityTaskScheduledEventAttributes: one }) => one?.activityType?.name === 'drain',
    )
    Object.assign(events[drained]?.activityTaskScheduledEventAttributes ?? {}, {
      activityType: { name: 'deleteInstance' },
    })
    expect(await objections(host, [life.run])).toEqual([expect.stringContaining(workflowId)])
  }, 60_000)
})
