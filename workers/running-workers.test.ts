import { IllegalStateError, TransportError, type Worker } from '@temporalio/worker'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { runWorkers } from './running-workers.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** A worker of Temporal's library, as far as it is seen from outside. */
class FakeWorker {
  state = 'INITIALIZED'
  readonly ended = Promise.withResolvers<void>()
  getState = () => this.state
  run = () => {
    this.state = 'RUNNING'
    return this.ended.promise
  }
  shutdown = () => {
    this.state = 'STOPPED'
    this.ended.resolve()
  }
}

function running() {
  const workers = [new FakeWorker(), new FakeWorker()] as const
  const stop = new AbortController()
  const result = runWorkers(workers as unknown as readonly Worker[], stop.signal).then(
    () => 'ended in order',
    (error: unknown) => (error as Error).message,
  )
  return { workers, stop, result }
}

test('all end in order when the signal fires', async () => {
  const { stop, result } = running()
  stop.abort()
  expect(await result).toBe('ended in order')
})

const stillInUse = new IllegalStateError('Worker still in use: Expected 1 reference, but got 2')

test('one that stopped in order but is not let go of yet has ended, and the others end in order too', async () => {
  const { workers, stop, result } = running()
  workers[0].shutdown = () => {
    workers[0].state = 'STOPPED'
    workers[0].ended.reject(stillInUse)
  }
  workers[1].shutdown = () => (workers[1].state = 'STOPPING')
  let answer = ''
  void result.then((text) => (answer = text))
  stop.abort()
  await vi.advanceTimersByTimeAsync(60_000)
  expect(answer).toBe('')
  workers[1].ended.resolve()
  expect(await result).toBe('ended in order')
})

test('one that failed and is not let go of was refused', async () => {
  const { workers, result } = running()
  workers[0].state = 'FAILED'
  workers[0].ended.reject(stillInUse)
  expect(await result).toContain('workers ended because Temporal refused them')
})

test('one that Temporal refuses takes the others with it', async () => {
  const { workers, result } = running()
  workers[0].ended.reject(new TransportError('Request unauthorized.'))
  expect(await result).toContain('workers ended because Temporal refused them')
  expect(workers[1].state).toBe('STOPPED')
})

test('one that fails for another reason is told of as it is', async () => {
  const { workers, result } = running()
  workers[1].ended.reject(new TypeError('a defect'))
  expect(await result).toBe('a defect')
})

test('one that has failed and cannot be put away is waited for some seconds only', async () => {
  const { workers, result } = running()
  let answer = ''
  void result.then((text) => (answer = text))
  await vi.advanceTimersByTimeAsync(60_000)
  expect(answer).toBe('')
  workers[0].state = 'FAILED'
  await vi.advanceTimersByTimeAsync(4000)
  expect(answer).toBe('')
  await vi.advanceTimersByTimeAsync(4000)
  expect(answer).toContain('workers ended because Temporal refused them')
})
