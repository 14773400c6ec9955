import { getHeapStatistics } from 'node:v8'
import { Worker } from 'node:worker_threads'
import { ReportedError } from '../shared/reported-error.ts'
import { lineWidth } from '../shared/table.ts'
import type { FromThread } from './from-thread.ts'
import type { InputFile } from './input.ts'
import type { JobInput, JobName } from './jobs.ts'

/** What a job may use. */
export interface Bounds {
  /** Of processor time. */
  readonly milliseconds: number
  readonly heapMiB: number
}

const mebibyte = 1024 * 1024
/** Together with what the process needs anyway: 2 s and 512 MiB for files of less than a megabyte. */
const smallest: Bounds = { milliseconds: 1500, heapMiB: 320 }
/** YAML takes up to half of it. */
const millisecondsPerMebibyte = 2000
const lookMs = 50

/** What a job on these files may use; `limitMs`: the time that the user gives it, with as much memory as there is. */
export function boundsOf(files: readonly InputFile[], limitMs?: number): Bounds {
  if (limitMs !== undefined) return { milliseconds: limitMs, heapMiB: heapLimitMiB() }
  const mebibytes = Math.floor(files.reduce((sum, { bytes }) => sum + bytes.byteLength, 0) / mebibyte)
  if (mebibytes === 0) return smallest
  return { milliseconds: smallest.milliseconds + mebibytes * millisecondsPerMebibyte, heapMiB: heapLimitMiB() }
}

/** The limit that Node, or whoever started it, has set for this process. */
function heapLimitMiB(): number {
  return Math.floor(getHeapStatistics().heap_size_limit / mebibyte)
}

/**
 * Does a job in a thread of its own, within bounds, and returns its exit code. Files are read before, so that waiting for them costs nothing.
 * Errors: ReportedError when the bounds are reached; all others are the thread's own to print.
 */
export async function runBounded<Name extends JobName>(
  { name, input }: { readonly name: Name; readonly input: JobInput<Name> },
  files: readonly InputFile[],
  bounds: Bounds = boundsOf(files),
): Promise<number> {
  const worker = new Worker(new URL('thread.ts', import.meta.url), {
    workerData: { name, input, lineWidth: lineWidth() },
    transferList: files.map(({ bytes }) => bytes.buffer),
    resourceLimits: { maxOldGenerationSizeMb: bounds.heapMiB },
  })
  const outcome = await outcomeOf(worker, bounds)
  await worker.terminate()
  if (outcome.kind === 'done') return outcome.code
  if (outcome.kind === 'failed') throw outcome.error
  throw new ReportedError(`${outcome.doing}: ${refusal(outcome.kind, bounds, name)}`)
}

type Outcome =
  | { readonly kind: 'done'; readonly code: number }
  | { readonly kind: 'failed'; readonly error: unknown }
  | { readonly kind: 'slow' | 'large'; readonly doing: string }

function outcomeOf(worker: Worker, bounds: Bounds): Promise<Outcome> {
  return new Promise((resolve) => {
    let doing = 'starting'
    const isOver = clock(bounds.milliseconds)
    const timer = setInterval(() => isOver() && end({ kind: 'slow', doing }), lookMs)
    function end(outcome: Outcome): void {
      clearInterval(timer)
      resolve(outcome)
    }
    worker.on('message', (message: FromThread) => {
      if (message.kind === 'doing') doing = message.what
      else end({ kind: 'done', code: message.code })
    })
    worker.on('error', (error) => {
      const isLarge = (error as NodeJS.ErrnoException).code === 'ERR_WORKER_OUT_OF_MEMORY'
      end(isLarge ? { kind: 'large', doing } : { kind: 'failed', error })
    })
    worker.on('exit', (code) => end({ kind: 'failed', error: new Error(`the thread ended by itself with ${code}`) }))
  })
}

/** Reports whether the process has used so much processor time since: a busy machine gives it little of each second, and waiting costs nothing. */
export function clock(milliseconds: number): () => boolean {
  const before = process.cpuUsage()
  return () => {
    const { user, system } = process.cpuUsage(before)
    return (user + system) / 1000 >= milliseconds
  }
}

function refusal(kind: 'slow' | 'large', { milliseconds, heapMiB }: Bounds, name: JobName): string {
  const remedy =
    name === 'simulate'
      ? 'give more by --time-limit 60s if it is meant, or look for what is odd in it'
      : 'split the file, or look for what is odd in it'
  return kind === 'slow'
    ? `took more than the ${milliseconds / 1000} s of processor time that input of this size gets; ${remedy}`
    : `needed more than the ${heapMiB} MiB of memory that input of this size gets; ${remedy}`
}
