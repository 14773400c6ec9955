// `joiner local` as a person runs it, with a folder for its state.
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { commandLine } from '../deploy/local/installation.ts'
import { patient } from './runner/patience.ts'

const run = promisify(execFile)

interface State {
  readonly pid: number
  readonly processes: Readonly<Record<string, number>>
}

/** One person's local cluster, which need not run. */
export class LocalRunner {
  readonly stateDir: string
  readonly #folder: string
  #foreground: ChildProcess | undefined
  #exitCode: Promise<number | null> | undefined

  private constructor(folder: string) {
    this.#folder = folder
    this.stateDir = join(folder, 'state')
  }

  static async begin(): Promise<LocalRunner> {
    return new LocalRunner(await mkdtemp(join(tmpdir(), 'joiner-local-')))
  }

  /** Whatever still runs ends, and the folder goes. */
  async end(): Promise<void> {
    await this.cli('down').catch(() => {})
    this.#foreground?.kill('SIGKILL')
    await rm(this.#folder, { recursive: true, force: true })
  }

  /** What a command prints. Errors: it failed. */
  async cli(command: string, ...rest: readonly string[]): Promise<string> {
    const { stdout } = await run(process.execPath, [
      commandLine,
      'local',
      command,
      ...rest,
      '--state-dir',
      this.stateDir,
    ])
    return stdout
  }

  async state(): Promise<State> {
    return JSON.parse(await readFile(join(this.stateDir, 'state.json'), 'utf8')) as State
  }

  /** `local up` in the foreground, as a person at a terminal has it. */
  async upInForeground(...more: readonly string[]): Promise<State> {
    const child = spawn(process.execPath, [commandLine, 'local', 'up', ...more, '--state-dir', this.stateDir], {
      stdio: 'ignore',
    })
    this.#foreground = child
    this.#exitCode = new Promise((resolve) => child.once('exit', (code) => resolve(code)))
    await until('the cluster is ready', () => existsSync(join(this.stateDir, 'state.json')))
    return this.state()
  }

  /** How the command in the foreground ended. */
  async exitCode(): Promise<number | null | undefined> {
    return this.#exitCode
  }
}

/** Waits until the runner and all of its servers are gone. */
export async function untilAllGone({ pid, processes }: State): Promise<void> {
  const pids = [pid, ...Object.values(processes)]
  await until('every process is gone', () => !pids.some(isAlive))
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    // A zombie has ended; its parent has not looked yet.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}

async function until(what: string, isSo: () => boolean, ms = 30_000): Promise<void> {
  const deadline = Date.now() + patient(ms)
  while (!isSo()) {
    if (Date.now() > deadline) throw new Error(`not within ${ms / 1000} s: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}
