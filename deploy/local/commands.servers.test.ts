import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { patient } from '../../test/runner/patience.ts'

const run = promisify(execFile)
const joiner = fileURLToPath(new URL('../../starter/joiner.ts', import.meta.url))

interface State {
  readonly pid: number
  readonly processes: Readonly<Record<string, number>>
}

let folder: string
let stateDir: string
let foreground: ChildProcess | undefined
let exitCode: Promise<number | null>

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'joiner-local-'))
  stateDir = join(folder, 'state')
})

afterEach(async () => {
  await cli('down').catch(() => {})
  foreground?.kill('SIGKILL')
  foreground = undefined
  await rm(folder, { recursive: true, force: true })
})

async function cli(command: string, ...rest: readonly string[]): Promise<string> {
  const { stdout } = await run(process.execPath, [joiner, 'local', command, ...rest, '--state-dir', stateDir])
  return stdout
}

async function state(): Promise<State> {
  return JSON.parse(await readFile(join(stateDir, 'state.json'), 'utf8')) as State
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

async function untilAllGone({ pid, processes }: State): Promise<void> {
  const pids = [pid, ...Object.values(processes)]
  await until('every process is gone', () => !pids.some(isAlive))
}

/** `local up` in the foreground, as a person at a terminal has it. */
async function upInForeground(): Promise<State> {
  const child = spawn(process.execPath, [joiner, 'local', 'up', '--state-dir', stateDir], { stdio: 'ignore' })
  foreground = child
  exitCode = new Promise((resolve) => child.once('exit', (code) => resolve(code)))
  await until('the cluster is ready', () => existsSync(join(stateDir, 'state.json')))
  return state()
}

test('up, status, logs and down; nothing is left', async () => {
  const said = await cli('up', '--detach')
  expect(said).toContain(`export KUBECONFIG=${join(stateDir, 'kubeconfig')}`)
  expect(said).toMatch(/Temporal UI: http:\/\/127\.0\.0\.1:\d+/)
  const running = await state()
  expect(Object.keys(running.processes).sort()).toEqual([
    'azure',
    'etcd',
    'kube-apiserver',
    'kube-controller-manager',
    'kube-scheduler',
    'kwok',
    'temporal',
    // The whole suite can be run with mTLS before Temporal.
    ...(process.env['JOINER_TEST_TEMPORAL_MTLS'] === '1' ? ['temporal-tls'] : []),
  ])
  const status = await cli('status')
  for (const pid of Object.values(running.processes)) expect(status).toContain(`process ${pid}`)
  expect(await cli('logs', 'azure')).toContain('listening on')
  await expect(cli('up')).rejects.toThrow(/runs already/)
  expect(await cli('down')).toContain('is down')
  await untilAllGone(running)
  await expect(cli('status')).rejects.toThrow()
})

test('Ctrl-C ends everything', async () => {
  const running = await upInForeground()
  process.kill(running.pid, 'SIGINT')
  await untilAllGone(running)
  expect(await exitCode).toBe(0)
})

test('kill -9 of the runner leaves nothing behind', async () => {
  const running = await upInForeground()
  process.kill(running.pid, 'SIGKILL')
  await untilAllGone(running)
})

test('a server that crashes takes everything down', async () => {
  const running = await upInForeground()
  process.kill(running.processes['etcd'] as number, 'SIGKILL')
  await untilAllGone(running)
  expect(await exitCode).toBe(1)
})

test('a folder with somebody else’s files is refused and stays as it is', async () => {
  stateDir = folder
  await writeFile(join(folder, 'thesis.txt'), 'years of work')
  await expect(cli('up')).rejects.toThrow(/holds files of something else/)
  expect(await readFile(join(folder, 'thesis.txt'), 'utf8')).toBe('years of work')
})
