import { parentPort as port } from 'node:worker_threads'
import type { FromThread } from './from-thread.ts'

/** Says what a job looks at now, such as a file and an object, in case that it is the last thing that it does. */
export function doing(what: string): void {
  port?.postMessage({ kind: 'doing', what } satisfies FromThread)
}
