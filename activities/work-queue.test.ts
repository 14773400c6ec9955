import { describe, expect, test, vi } from 'vitest'
import { pass, useFakeTime } from '../test/fakes/time.ts'
import { WorkQueue } from './work-queue.ts'

useFakeTime()

/** A queue whose runs take `takesMs` and fail where `fails` says so. */
function queueOf({
  concurrency = 2,
  spacingMs = 0,
  maxBackoffMs = 10_000,
  takesMs = 0,
  fails = () => false,
}: {
  readonly concurrency?: number
  readonly spacingMs?: number
  readonly maxBackoffMs?: number
  readonly takesMs?: number
  readonly fails?: (key: string, run: number) => boolean
}) {
  const runs: { readonly key: string; readonly atMs: number }[] = []
  const errors: (readonly [string, number])[] = []
  const startedAt = Date.now()
  let [running, mostRunning] = [0, 0]
  const queue = new WorkQueue(
    async (key) => {
      runs.push({ key, atMs: Date.now() - startedAt })
      running += 1
      mostRunning = Math.max(mostRunning, running)
      if (takesMs > 0) await new Promise((resolve) => setTimeout(resolve, takesMs))
      running -= 1
      if (fails(key, runs.filter((one) => one.key === key).length)) throw new Error(`${key} failed`)
    },
    { concurrency, spacingMs, maxBackoffMs, onError: (key, _, attempt) => errors.push([key, attempt]) },
  )
  return { queue, runs, errors, keys: () => runs.map(({ key }) => key), mostRunning: () => mostRunning }
}

describe('a work queue', () => {
  test('runs each key once, however often it is added before its run', async () => {
    const { queue, keys } = queueOf({ concurrency: 1, takesMs: 10 })
    for (const key of ['a', 'b', 'b', 'c', 'b']) queue.add(key)
    await pass(100)
    expect(keys()).toEqual(['a', 'b', 'c'])
  })

  test('goes on at once when the clock is set back: nothing waits for a time that it gave', async () => {
    const { queue, keys } = queueOf({ spacingMs: 500 })
    queue.add('a')
    await pass(100)
    vi.setSystemTime(Date.now() - 10 * 86_400_000)
    queue.add('a')
    await pass(500)
    expect(keys()).toEqual(['a', 'a'])
  })

  test('runs a key once more that was added while it ran: the run may have missed the change', async () => {
    const { queue, keys } = queueOf({ takesMs: 10 })
    queue.add('a')
    await pass(5)
    queue.add('a')
    queue.add('a')
    await pass(100)
    expect(keys()).toEqual(['a', 'a'])
  })

  test('never runs one key twice at once', async () => {
    const { queue, mostRunning } = queueOf({ concurrency: 8, takesMs: 10 })
    for (let at = 0; at < 20; at += 1) {
      queue.add('a')
      await pass(3)
    }
    expect(mostRunning()).toBe(1)
  })

  test('runs no more at once than it may, and all in the end', async () => {
    const { queue, keys, mostRunning } = queueOf({ concurrency: 3, takesMs: 10 })
    const all = Array.from({ length: 20 }, (_, index) => `k${index}`)
    for (const key of all) queue.add(key)
    await pass(200)
    expect(mostRunning()).toBe(3)
    expect(keys()).toEqual(all)
  })

  test('makes one poke of a storm of events, and loses none', async () => {
    const { queue, runs } = queueOf({ spacingMs: 1000 })
    for (let at = 0; at < 50; at += 1) {
      queue.add('a')
      await pass(50)
    }
    await pass(5000)
    expect(runs.map(({ atMs }) => atMs)).toEqual([0, 1000, 2000, 3000])
  })

  test('tries a key that failed again, more and more slowly up to a bound', async () => {
    const { queue, runs, errors } = queueOf({ maxBackoffMs: 2000, fails: (_, run) => run < 6 })
    queue.add('a')
    await pass(20_000)
    expect(runs.map(({ atMs }) => atMs)).toEqual([0, 400, 1200, 2800, 4800, 6800])
    expect(errors.map(([, attempt]) => attempt)).toEqual([1, 2, 3, 4, 5])
  })

  test('starts again with short waits after a success', async () => {
    const { queue, runs } = queueOf({ fails: (_, run) => run !== 3 && run < 5 })
    queue.add('a')
    await pass(5000)
    queue.add('a')
    await pass(5000)
    expect(runs.map(({ atMs }) => atMs)).toEqual([0, 400, 1200, 5000, 5400])
  })

  test('lets a key that fails hold up no other', async () => {
    const { queue, keys } = queueOf({ concurrency: 1, fails: (key) => key === 'bad' })
    queue.add('bad')
    queue.add('good')
    await pass(10)
    expect(keys()).toEqual(['bad', 'good'])
  })

  test('forgets keys that are done, and remembers those that are not', async () => {
    const { queue } = queueOf({ spacingMs: 100, fails: (key) => key === 'bad' })
    queue.add('good')
    queue.add('bad')
    expect(queue.pending).toBe(2)
    await pass(1000)
    expect(queue.pending).toBe(1)
  })

  test('that is stopped runs nothing more', async () => {
    const { queue, keys } = queueOf({ concurrency: 1, takesMs: 10, fails: () => true })
    queue.add('a')
    queue.add('b')
    await pass(5)
    queue.stop()
    queue.add('c')
    await pass(60_000)
    expect(keys()).toEqual(['a'])
    expect(queue.pending).toBe(0)
  })
})

describe('lanes', () => {
  test('what is urgent overtakes routine work, and always finds a place', async () => {
    const { queue, keys } = queueOf({ concurrency: 4, takesMs: 100 })
    for (let at = 0; at < 10; at++) queue.add(`routine ${at}`, 'routine')
    await pass(10)
    expect(keys()).toHaveLength(3)
    queue.add('urgent')
    await pass(0)
    expect(keys().at(-1)).toBe('urgent')
    queue.add('urgent 2')
    await pass(100)
    expect(keys().slice(3, 5)).toEqual(['urgent', 'urgent 2'])
  })

  test('a key that becomes urgent runs once, in its turn among the urgent', async () => {
    const { queue, keys } = queueOf({ concurrency: 1, takesMs: 10 })
    for (const key of ['a', 'b', 'c']) queue.add(key, 'routine')
    queue.add('c')
    await pass(1000)
    expect(keys()).toEqual(['a', 'c', 'b'])
  })
})
