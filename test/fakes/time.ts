import { afterEach, beforeEach, vi } from 'vitest'
import type { ServerTime } from '../../activities/kubernetes/client/server-time.ts'
import { sampleTime } from '../samples/sample-objects.ts'

/** Each test of the file begins when the sample objects were created, and time passes by `pass` alone. */
export function useFakeTime(): void {
  beforeEach(() => {
    const toFake = ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date', 'performance'] as const
    vi.useFakeTimers({ now: sampleTime, toFake: [...toFake] })
  })
  afterEach(() => void vi.useRealTimers())
}

/** Has two answers of an API server tell that this process's clock is ahead of it by so much; negative: behind. */
export function tellAhead(serverTime: Pick<ServerTime, 'answered'>, ms: number): void {
  for (let answers = 0; answers < 2; answers++)
    serverTime.answered(new Date(Date.now() - ms).toUTCString(), performance.now())
}

/** Lets time pass, and what is due happen. */
export async function pass(ms: number): Promise<void> {
  await vi.advanceTimersByTimeAsync(ms)
}

/** Lets time pass until something has come to its end; its result. Errors: it takes longer than `atMostMs` of fake time. */
export async function ended<T>(work: Promise<T>, atMostMs = 60_000, stepMs = 250): Promise<T> {
  const progress = { isOver: false }
  const over = () => {
    progress.isOver = true
  }
  work.then(over, over)
  await pass(0)
  for (let passed = 0; !progress.isOver && passed < atMostMs; passed += stepMs) await pass(stepMs)
  if (!progress.isOver) throw new Error(`not over after ${atMostMs} ms`)
  return work
}
