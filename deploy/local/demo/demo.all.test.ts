// The demo as a person has it: it invites to commands, which work as printed, and Ctrl-C leaves nothing behind.
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { untilAllGone } from '../../../test/local-runner.ts'
import { commandLine } from '../installation.ts'
import { demoFolder, type LocalState } from '../local-state.ts'

let demo: ChildProcess
let exitCode: Promise<number | null>
let commands: readonly string[]

beforeAll(async () => {
  demo = spawn(process.execPath, [commandLine, 'demo'], { stdio: ['ignore', 'pipe', 'inherit'] })
  exitCode = new Promise((resolve) => demo.once('exit', resolve))
  const said = await new Promise<string>((resolve, reject) => {
    let text = ''
    demo.stdout?.on('data', (chunk) => {
      text += String(chunk)
      if (text.includes('Ctrl-C ends everything')) resolve(text)
    })
    demo.once('exit', (code) => reject(new Error(`the demo ended with ${code}:\n${text}`)))
  })
  const last = said.slice(said.indexOf('In another terminal:'))
  commands = [...last.matchAll(/^ {2}(.*?)(?: +#.*)?$/gm)].map(([, command = '']) => command)
}, 900_000)

afterAll(() => {
  demo.kill('SIGKILL')
})

/** What a command prints that is typed in after the one that prepares the shell. */
async function typed(command: string): Promise<string> {
  const lines = ['shopt -s expand_aliases', commands[0], command]
  return (await promisify(execFile)('bash', ['-c', lines.join('\n')])).stdout
}

const inWords = (start: string) => commands.find((command) => command.startsWith(start)) ?? ''

test('the commands work as printed, and show what there is to see', async () => {
  expect(await typed(`${inWords('joiner top')} --once`)).toMatch(/^5 nodes .* 1 pending/)
  expect(await typed(inWords('joiner why pod'))).toMatch(/too-big/)
  expect(await typed(inWords('joiner why node'))).toMatch(/PodDisruptionBudget shop\/checkout/)
  // A lifecycle writes down what holds up its drain once it has lasted.
  const history = async () => expect(await typed(inWords('joiner history'))).toMatch(/going: deleted/)
  await vi.waitFor(history, { timeout: 60_000, interval: 500 })
  expect(await typed(inWords('joiner blocked capacity'))).toMatch(/Standard_D2as_v5 .* SKUNotAvailable/)
  expect(await typed(inWords('joiner blocked quota'))).toMatch(/standardDSv3Family/)
  expect(await typed(inWords('joiner doctor'))).toMatch(/ 0 failed/)
  expect((await typed(inWords('kubectl get nodes'))).trim().split('\n')).toHaveLength(6)
})

test('Ctrl-C ends everything, and its files go', async () => {
  const running = JSON.parse(await readFile(join(demoFolder(), 'state.json'), 'utf8')) as LocalState
  const stateDir = dirname(running.kubeconfig)
  expect(existsSync(stateDir)).toBe(true)
  demo.kill('SIGINT')
  expect(await exitCode).toBe(130)
  await untilAllGone(running)
  expect([stateDir, demoFolder()].filter((folder) => existsSync(folder))).toEqual([])
})
