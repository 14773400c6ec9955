// Joiner's commands in the process of the test: their code is loaded once, where each process of its own would take a second and a half.
import { execFile } from 'node:child_process'
import type { EventEmitter } from 'node:events'
import { format } from 'node:util'
import { Command, CommanderError } from 'commander'
import { vi } from 'vitest'
import { commandLine } from '../../deploy/local/installation.ts'
import { registerCommands } from '../../starter/cli/commands.ts'
import { complain } from '../../starter/cli/shared/boundary.ts'

export type Environment = Readonly<Record<string, string>>

/** What a command did. */
export interface Ran {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** What stands for the end of the process. */
class Ended extends Error {
  readonly code: number

  constructor(code: number) {
    super(`ended with ${code}`)
    this.code = code
  }
}

let last: Promise<unknown> = Promise.resolve()

/** Runs a command with this environment and no other. Commands wait for each other: a process has one environment. */
export function runHere(env: Environment, ...args: readonly string[]): Promise<Ran> {
  const mine = last.then(() => alone(env, args))
  last = mine.catch(() => undefined)
  return mine
}

async function alone(env: Environment, args: readonly string[]): Promise<Ran> {
  const { env: before, exitCode } = process
  const { PATH = '', HOME = '' } = before
  const printed = { stdout: '', stderr: '' }
  const write = (stream: keyof typeof printed) => (chunk: string | Uint8Array) => {
    printed[stream] += typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString('utf8')
    return true
  }
  const line =
    (stream: keyof typeof printed) =>
    (...values: readonly unknown[]) => {
      printed[stream] += `${format(...values)}\n`
    }
  const replaced = [
    vi.spyOn(process.stdout, 'write').mockImplementation(write('stdout')),
    vi.spyOn(process.stderr, 'write').mockImplementation(write('stderr')),
    vi.spyOn(console, 'log').mockImplementation(line('stdout')),
    vi.spyOn(console, 'error').mockImplementation(line('stderr')),
    vi.spyOn(console, 'warn').mockImplementation(line('stderr')),
    vi.spyOn(process, 'exit').mockImplementation((code) => {
      throw new Ended(Number(code ?? 0))
    }),
  ]
  const finish = endOfProcess()
  process.env = { PATH, HOME, ...env }
  process.exitCode = undefined
  try {
    const code = await codeOf(args)
    finish(code)
    return { code, ...printed }
  } finally {
    process.env = before
    process.exitCode = exitCode
    for (const each of replaced) each.mockRestore()
  }
}

/** Returns what does all that has been left for the end of the process since, and forgets what signals would do. */
function endOfProcess(): (code: number) => void {
  const events = ['exit', 'SIGINT', 'SIGTERM', 'SIGHUP'] as const
  const emitter: EventEmitter = process
  const before = events.map((event) => new Set(emitter.listeners(event)))
  return (code) => {
    for (const [at, event] of events.entries())
      for (const listener of emitter.listeners(event)) {
        if (before[at]?.has(listener)) continue
        if (event === 'exit') listener(code)
        emitter.off(event, listener as (...values: unknown[]) => void)
      }
  }
}

/** As `starter/joiner.ts` ends. */
async function codeOf(args: readonly string[]): Promise<number> {
  const commands = new Command('joiner').exitOverride().showHelpAfterError()
  await registerCommands(commands, args)
  try {
    await commands.parseAsync(args, { from: 'user' })
    return Number(process.exitCode ?? 0)
  } catch (error) {
    if (error instanceof Ended) return error.code
    if (error instanceof CommanderError) return error.exitCode === 1 ? 2 : error.exitCode
    return complain(args[0] ?? '', error)
  }
}

/** Runs the program itself, without a terminal. */
export function runProcess(env: Environment, ...args: readonly string[]): Promise<Ran> {
  const { PATH = '', HOME = '', NODE_COMPILE_CACHE = '' } = process.env
  return new Promise((resolve) => {
    const own = { PATH, HOME, NODE_COMPILE_CACHE, ...env }
    execFile(process.execPath, [commandLine, ...args], { env: own, maxBuffer: 64 * 2 ** 20 }, (error, stdout, stderr) =>
      resolve({ code: typeof error?.code === 'number' ? error.code : error === null ? 0 : -1, stdout, stderr }),
    )
  })
}
