import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export interface ProcessSpec {
  readonly name: string
  readonly command: string
  readonly args: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
}

interface Running {
  readonly spec: ProcessSpec
  readonly child: ChildProcess
  readonly ended: Promise<void>
  expected: boolean
}

/** How long a process may take to end after SIGTERM. */
const graceMs = 5000

/**
 * Starts processes, keeps their output in files, and ends them. A process that ends on its own is a crash and is reported once.
 * Nothing outlives the supervisor: a reaper process kills what is left when the supervisor itself is gone.
 */
export class Supervisor {
  readonly #logs: string
  readonly #running = new Map<string, Running>()
  readonly #onCrash: (name: string, reason: string) => void
  readonly #reaper: ChildProcess

  constructor(logs: string, onCrash: (name: string, reason: string) => void) {
    this.#logs = logs
    this.#onCrash = onCrash
    this.#reaper = spawn(process.execPath, [fileURLToPath(new URL('./reaper.ts', import.meta.url))], {
      stdio: ['pipe', 'ignore', 'ignore'],
      detached: true,
    })
    this.#reaper.stdin?.on('error', () => {})
    this.#reaper.unref()
  }

  /** Where a process's output goes. */
  logFile(name: string): string {
    return join(this.#logs, `${name}.log`)
  }

  /** Process ids by name, of those that run. */
  get pids(): Readonly<Record<string, number>> {
    return Object.fromEntries([...this.#running].map(([name, { child }]) => [name, child.pid ?? 0]))
  }

  start(spec: ProcessSpec): void {
    if (this.#running.has(spec.name)) throw new Error(`process "${spec.name}" runs already`)
    const log = openSync(this.logFile(spec.name), 'a')
    const child = spawn(spec.command, [...spec.args], {
      stdio: ['ignore', log, log],
      detached: true,
      ...(spec.cwd === undefined ? {} : { cwd: spec.cwd }),
      ...(spec.env === undefined ? {} : { env: { ...process.env, ...spec.env } }),
    })
    closeSync(log)
    const { pid } = child
    if (pid !== undefined) this.#reaper.stdin?.write(`add ${pid}\n`)
    const ended = new Promise<void>((resolve) => {
      const end = (reason: string) => {
        if (pid !== undefined) this.#reaper.stdin?.write(`remove ${pid}\n`)
        if (this.#running.get(spec.name) === running) this.#running.delete(spec.name)
        resolve()
        if (!running.expected) this.#onCrash(spec.name, reason)
      }
      child.once('error', (error) => end(error.message))
      child.once('exit', (code, signal) => end(signal === null ? `exit code ${code}` : `signal ${signal}`))
    })
    const running: Running = { spec, child, ended, expected: false }
    this.#running.set(spec.name, running)
  }

  /** Sends a signal on purpose: an end that follows is not a crash. Resolves when the process has ended (at once for SIGSTOP and SIGCONT). */
  async kill(name: string, signal: NodeJS.Signals): Promise<void> {
    const running = this.#running.get(name)
    if (running?.child.pid === undefined) return
    const ends = signal !== 'SIGSTOP' && signal !== 'SIGCONT'
    if (ends) running.expected = true
    process.kill(-running.child.pid, signal)
    if (ends) await running.ended
  }

  /** Ends a process and starts it again with the same command, after `awayMs`. */
  async restart(name: string, signal: NodeJS.Signals = 'SIGTERM', awayMs = 0): Promise<void> {
    const spec = this.#running.get(name)?.spec
    if (spec === undefined) throw new Error(`process "${name}" does not run, so it cannot be restarted`)
    await this.kill(name, signal)
    await new Promise((resolve) => setTimeout(resolve, awayMs))
    this.start(spec)
  }

  /** Ends one process, by force if it does not listen. Returns how it was started; undefined: it did not run. */
  async stop(name: string): Promise<ProcessSpec | undefined> {
    const running = this.#running.get(name)
    if (running === undefined) return undefined
    running.expected = true
    signalGroup(running.child, 'SIGTERM')
    const timer = setTimeout(() => signalGroup(running.child, 'SIGKILL'), graceMs)
    await running.ended
    clearTimeout(timer)
    return running.spec
  }

  /** Ends everything, the last started first, and the reaper after it. */
  async stopAll(): Promise<void> {
    for (const running of this.#running.values()) running.expected = true
    for (const name of [...this.#running.keys()].reverse()) await this.stop(name)
    this.#reaper.stdin?.end()
  }

  /** The last lines that a process wrote. */
  async tail(name: string, lines = 15): Promise<string> {
    const text = await readFile(this.logFile(name), 'utf8').catch(() => '')
    return text.trimEnd().split('\n').slice(-lines).join('\n')
  }
}

function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
