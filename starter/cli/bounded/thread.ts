import { parentPort as port, workerData } from 'node:worker_threads'
import { complain, isDebugging } from '../shared/boundary.ts'
import { setLineWidth } from '../shared/table.ts'
import type { FromThread } from './from-thread.ts'
import { type JobInput, type JobName, jobs } from './jobs.ts'

/** A job to do, as the thread is given it. */
export interface Job<Name extends JobName = JobName> {
  readonly name: Name
  readonly input: JobInput<Name>
  /** How many characters a line of a table may have: a thread knows of no terminal. */
  readonly lineWidth?: number
}

/** Does a job and returns its exit code, whatever happens in it. */
export async function perform({ name, input, lineWidth }: Job): Promise<number> {
  if (lineWidth !== undefined) setLineWidth(lineWidth)
  // Parsers make an error for each odd sign, and its trace would be most of the work.
  if (!isDebugging()) Error.stackTraceLimit = 0
  try {
    return await jobs[name](input as never)
  } catch (error) {
    return complain(name, error)
  }
}

function written(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => stream.write('', () => resolve()))
}

if (port !== null && (workerData as Partial<Job> | null)?.name !== undefined) {
  const code = await perform(workerData as Job)
  // Ended before it is taken, output would be lost.
  await Promise.all([written(process.stdout), written(process.stderr)])
  port.postMessage({ kind: 'done', code } satisfies FromThread)
}
