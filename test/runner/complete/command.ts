import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Command } from 'commander'
import { circumstances } from '../../../bench/report.ts'
import { resolveBinaries } from '../../../deploy/local/server-binaries.ts'
import type { RunReport } from '../group-costs.ts'
import { reportVariable } from '../group-report.ts'
import { type Ended, notRun, page, recordOf, withRecord } from './record.ts'
import { type Kept, kept } from './resume.ts'
import { leftOut, type Step, steps } from './steps.ts'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const folder = join(root, 'build/complete')
const stateFile = join(folder, 'state.json')

await new Command('npm run test:all --')
  .description(
    `Runs everything that exists, one after the other: ${steps.map(({ name }) => name).join(', ')}. Says at its end what it did not run, and why. Writes date, commit and counts into docs/testing.md. Ends with 1 when something failed. It takes some two hours.`,
  )
  .option('--resume', 'go on after the steps that passed when it last ran on this very commit')
  .action(main)
  .parseAsync()

async function main({ resume = false }: { readonly resume?: boolean }): Promise<void> {
  const where = circumstances()
  mkdirSync(folder, { recursive: true })
  // A step ends by itself when the terminal interrupts it, and leaves nothing. No other begins then.
  let interrupted = false
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => (interrupted = true))
  // Laws have other cases in each complete run.
  const seed = process.env['JOINER_TEST_SEED'] ?? String(Date.now() % 2 ** 31)
  const state: Kept = (resume ? kept(readText(stateFile), where) : undefined) ?? { where, seed, passed: [] }
  console.log(`laws have their cases from JOINER_TEST_SEED=${state.seed}`)
  const ended: Ended[] = []
  for (const [at, step] of steps.entries()) {
    const before = state.passed.find(({ name }) => name === step.name)
    console.log(`\n== ${step.name} (${at + 1} of ${steps.length})${before === undefined ? '' : ': passed before'}\n`)
    const now = before ?? (await run({ ...step, env: { ...step.env, JOINER_TEST_SEED: state.seed } }))
    if (interrupted) process.exit(130)
    ended.push(now)
    const passed = ended.filter(({ outcome }) => outcome === 'passed')
    writeFileSync(stateFile, JSON.stringify({ ...state, passed } satisfies Kept))
  }
  const record = recordOf(where, ended)
  writeFileSync(page, withRecord(readFileSync(page, 'utf8'), record))
  spawnSync(join(root, 'node_modules/.bin/biome'), ['format', '--write', page], { cwd: root })
  console.log(`\n${record}\n\nNot run:`)
  for (const line of notRun(ended, leftOut)) console.log(`- ${line}`)
  if (ended.some(({ outcome }) => outcome === 'failed')) process.exitCode = 1
}

async function run(step: Step): Promise<Ended> {
  const { name, words, servers = [] } = step
  const file = join(folder, 'report.json')
  rmSync(file, { force: true })
  const startedAt = performance.now()
  const seconds = () => (performance.now() - startedAt) / 1000
  try {
    await resolveBinaries(servers, (line) => console.log(line))
  } catch (error) {
    return { name, outcome: 'not run', seconds: seconds(), reason: (error as Error).message }
  }
  const env = { ...process.env, ...step.env, [reportVariable]: file }
  const child = spawn(process.execPath, words, { cwd: root, env, stdio: 'inherit' })
  const [code] = (await once(child, 'exit')) as [number | null]
  const outcome = code === 0 ? 'passed' : 'failed'
  const report = step.tests === true ? reportIn(file) : undefined
  return { name, outcome, seconds: seconds(), ...(report === undefined ? {} : { report }) }
}

/** Undefined: the run did not come to its end. */
function reportIn(file: string): RunReport | undefined {
  const text = readText(file)
  return text === undefined ? undefined : (JSON.parse(text) as RunReport)
}

/** Undefined: there is no such file. */
function readText(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}
