import { parentPort as port } from 'node:worker_threads'
import { convertFile } from '../../starter/cli/convert/convert-file.ts'
import { runInstanceTypes } from '../../starter/cli/instance-types/run.ts'
import { planIn } from '../../starter/cli/operate/plan-files.ts'
import { complain } from '../../starter/cli/shared/boundary.ts'
import { simulate } from '../../starter/cli/simulate/simulate.ts'
import { validateFiles } from '../../starter/cli/validate/validate-files.ts'
import { guardOutput } from '../../starter/document/terminal.ts'
import type { InputFile } from '../../starter/files/input-file.ts'
import type { Case } from './cases.ts'

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
  const code = await codeOf(one)
  const { user, system } = process.threadCpuUsage(before)
  const [out, err] = [process.stdout, process.stderr].map((stream) => printed.get(stream) ?? '') as [string, string]
  return { kind: 'ran', code, out, err, milliseconds: (user + system) / 1000 }
}

/** The exit code with which the command line would end. */
async function codeOf(one: Case): Promise<number> {
  try {
    return await carryOut(one)
  } catch (error) {
    return complain(one.words[0] ?? '', error)
  }
}

function carryOut({ words: [command, ...rest], files }: Case): number | Promise<number> {
  const input = (name: string | undefined): InputFile => {
    const found = files.find((file) => file.name === name)
    if (found === undefined) throw new Error(`there is no file "${name}" in ${command} ${rest.join(' ')}`)
    // A command takes its bytes away.
    return { file: found.name, bytes: new Uint8Array(found.bytes) }
  }
  const option = (flag: string) => (rest.includes(flag) ? rest[rest.indexOf(flag) + 1] : undefined)
  const optional = (key: string, flag: string) => (option(flag) === undefined ? {} : { [key]: input(option(flag)) })
  const several = (flag: string) => (option(flag) === undefined ? [] : [input(option(flag))])
  const shape = (option('--output') ?? option('-o') ?? 'table') as never
  switch (command) {
    case 'convert':
      return convertFile(input(rest.at(-1)))
    case 'validate':
      return validateFiles({ files: [input(rest.at(-1))], output: shape })
    case 'instance-types': {
      const limit = option('--limit') === undefined ? {} : { limit: Number(option('--limit')) }
      const settings = { requirements: [], output: shape, excluded: rest.includes('--excluded'), ...limit }
      const given = { ...optional('catalogue', '--catalog'), ...optional('nodeClass', '--node-class') }
      return runInstanceTypes({ settings, prices: several('--prices'), overlays: several('--overlays'), ...given })
    }
    case 'simulate': {
      const explain = option('--explain') === undefined ? {} : { explain: option('--explain') ?? '' }
      const settings = { output: shape, rounds: 1, complete: rest.includes('--complete'), ...explain }
      const given = { ...optional('catalog', '--catalog'), ...optional('schedulerConfig', '--scheduler-config') }
      return simulate({ files: [input(rest.at(-1))], prices: several('--prices'), settings, ...given })
    }
    default:
      // What `joiner apply` does with a file before it asks the cluster.
      planIn(input(rest.at(-1)))
      return 0
  }
}

catchOutput()
port?.postMessage({ kind: 'ready' }, [])
port?.on('message', (one: Case) => {
  void run(one).then((ran) => port?.postMessage(ran, []))
})
