import { parentPort as port } from 'node:worker_threads'
import { perform } from '../../starter/cli/bounded/thread.ts'
import { planIn } from '../../starter/cli/operate/plan-files.ts'
import { complain } from '../../starter/cli/shared/boundary.ts'
import { guardOutput } from '../../starter/cli/shared/terminal.ts'
import { type Case, jobOf } from './cases.ts'

/** What a case came to. */
export interface Ran {
  readonly kind: 'ran'
  readonly code: number
  readonly out: string
  readonly err: string
  /** Processor time of the thread. */
  readonly milliseconds: number
}

const printed = new Map<NodeJS.WriteStream, string>()

/** As the command line prints it, but into memory. */
function catchOutput(): void {
  for (const stream of [process.stdout, process.stderr])
    stream.write = (chunk: string | Uint8Array, ...rest: readonly unknown[]) => {
      printed.set(
        stream,
        (printed.get(stream) ?? '') + (typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString()),
      )
      const done = rest.at(-1)
      if (typeof done === 'function') process.nextTick(done)
      return true
    }
  guardOutput(process.stdout, process.stderr)
}

async function run(one: Case): Promise<Ran> {
  printed.clear()
  const before = process.threadCpuUsage()
  const job = jobOf(one)
  const code = job === undefined ? readPlan(one) : await perform(job)
  const { user, system } = process.threadCpuUsage(before)
  const [out, err] = [process.stdout, process.stderr].map((stream) => printed.get(stream) ?? '') as [string, string]
  return { kind: 'ran', code, out, err, milliseconds: (user + system) / 1000 }
}

/** What `joiner apply` does with a file before it asks the cluster. */
function readPlan({ files: [file] }: Case): number {
  try {
    planIn({ file: file?.name ?? '', bytes: new Uint8Array(file?.bytes ?? []) })
    return 0
  } catch (error) {
    return complain('apply', error)
  }
}

catchOutput()
port?.postMessage({ kind: 'ready' }, [])
port?.on('message', (one: Case) => {
  void run(one).then((ran) => port?.postMessage(ran, []))
})
