import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

/** Where processes and threads of tests find their code compiled. */
export const compileCache = fileURLToPath(new URL('../../node_modules/.cache/joiner', import.meta.url))

const threads = [
  'activities/kubernetes/cache/large-reader-thread.ts',
  'activities/scheduler-thread/thread.ts',
  'test/faults/solver-thread.ts',
  'workers/conversion/thread.ts',
]

/**
 * Compiles what tests start as threads, in a process of its own. Node strips types by WebAssembly, and now and then a process ends with a signal when a
 * thread that did so is ended (V8 frees its code twice); a thread that finds its code compiled needs none, and starts in a third of the time.
 */
export default async function setup(): Promise<void> {
  const files = threads.map((path) => new URL(`../../${path}`, import.meta.url).href)
  // A thread's file fails outside a thread, but not before it is compiled.
  const script = `for (const file of ${JSON.stringify(files)}) await import(file).catch(() => {}); process.exit()`
  await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script], {
    env: { ...process.env, NODE_COMPILE_CACHE: compileCache },
  })
}
