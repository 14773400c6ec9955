import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Agent, request } from 'undici'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { commandLine } from '../installation.ts'

let folder: string
let child: ChildProcess | undefined

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'joiner-command-'))
})

afterEach(async () => {
  child?.kill('SIGKILL')
  await rm(folder, { recursive: true, force: true })
})

/** Starts the command with its temporary files below the test's folder. */
function start(...options: readonly string[]) {
  const started = spawn(process.execPath, [commandLine, 'local', 'azure', ...options], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, TMPDIR: folder },
  })
  child = started
  let [output, errors] = ['', '']
  started.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
  started.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()))
  const ended = new Promise<number | null>((resolve) => started.once('close', resolve))
  const ready = new Promise<void>((resolve) =>
    started.stdout.on('data', () => (output.includes('Ctrl-C') ? resolve() : undefined)),
  )
  return { ended, ready: Promise.race([ready, ended]), output: () => output, errors: () => errors }
}

const variable = (output: string, name: string) => new RegExp(`^export ${name}=(.*)$`, 'm').exec(output)?.[1] ?? ''

async function get(output: string, path: string): Promise<unknown> {
  const dispatcher = new Agent({ connect: { ca: await readFile(variable(output, 'NODE_EXTRA_CA_CERTS'), 'utf8') } })
  const answer = await request(`${variable(output, 'JOINER_ARM_ENDPOINT')}${path}`, { dispatcher })
  const body = await answer.body.json()
  await dispatcher.destroy()
  return body
}

test('prints an environment that works, plays a scenario, and leaves nothing behind after Ctrl-C', async () => {
  const scenario = join(folder, 'scenario.yaml')
  await writeFile(scenario, 'steps:\n  - at: 0\n    settings: { quotas: { cores: 8 } }\n')
  const run = start('--scenario', scenario, '--throttling', 'documented')
  await run.ready
  expect(run.errors()).toBe('')
  expect(await get(run.output(), '/admin/settings')).toMatchObject({ quotas: { cores: 8 }, throttling: 'documented' })
  expect(await readFile(variable(run.output(), 'AZURE_FEDERATED_TOKEN_FILE'), 'utf8')).toMatch(/^\w+\.\w+\.\w+$/)
  child?.kill('SIGINT')
  expect(await run.ended).toBe(0)
  expect(readdirSync(folder)).toEqual(['scenario.yaml'])
})

test('keeps its state and its certificate in a folder that is named', async () => {
  const stateDir = join(folder, 'kept')
  const authorities: string[] = []
  for (let round = 0; round < 2; round += 1) {
    const run = start('--state-dir', stateDir)
    await run.ready
    authorities.push(await readFile(variable(run.output(), 'NODE_EXTRA_CA_CERTS'), 'utf8'))
    child?.kill('SIGTERM')
    expect(await run.ended).toBe(0)
  }
  expect(authorities[0]).toBe(authorities[1])
  expect(existsSync(join(stateDir, 'state', 'state.jsonl'))).toBe(true)
})

test.each([
  [['--throttling', 'some'], 2, '--throttling "some" is not known; use off or documented'],
  [['--port', 'http'], 2, '--port "http" is no port'],
  [['--scenario', 'SCENARIO'], 1, 'scenario.yaml:2: steps[0].at is "soon"'],
])('%j is refused with what is right', async (options, code, message) => {
  const scenario = join(folder, 'scenario.yaml')
  await writeFile(scenario, 'steps:\n  - at: soon\n')
  const run = start(...options.map((option) => (option === 'SCENARIO' ? scenario : option)))
  expect(await run.ended).toBe(code)
  expect(run.errors()).toContain(message)
  expect(readdirSync(folder)).toEqual(['scenario.yaml'])
})
