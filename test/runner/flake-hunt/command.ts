import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Command, InvalidArgumentError } from 'commander'
import { type Run, runOf, summaryOf } from './runs.ts'

const root = fileURLToPath(new URL('../../../', import.meta.url))
/** Burns a core until its parent is gone. */
const burning = 'const parent = process.ppid; while (process.ppid === parent);'

const program = new Command('npm run flake-hunt --')
  .description(
    'Runs a suite again and again beside a process that burns a core, each time with laws of other cases. Prints each failure with its text, and a summary. Ends with 1 when a run failed.',
  )
  .argument('<file>', 'the suite: its path, or a part of it')
  .option('--runs <count>', 'how many times', count, 30)
  .action(main)
await program.parseAsync()

function count(text: string): number {
  const value = Number(text)
  if (!Number.isSafeInteger(value) || value <= 0) throw new InvalidArgumentError(`"${text}" is not a positive number.`)
  return value
}

async function main(file: string, { runs: wanted }: { readonly runs: number }): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'joiner-flakes-'))
  const burner = spawn(process.execPath, ['-e', burning], { stdio: 'ignore' })
  let running: ChildProcess | undefined
  let interrupted = false
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.on(signal, () => {
      interrupted = true
      if (running !== undefined) kill(running)
    })
  // Also where an error ends the command. Servers that the suite left are killed by their reaper, in this moment.
  process.once('exit', () => {
    burner.kill('SIGKILL')
    rmSync(folder, { recursive: true, maxRetries: 10, retryDelay: 200 })
  })
  const runs: Run[] = []
  while (runs.length < wanted) {
    const report = join(folder, `${runs.length}.json`)
    const startedAt = performance.now()
    running = suite(file, report, { folder, seed: runs.length + 1 })
    const [code] = (await once(running, 'exit')) as [number | null]
    if (interrupted) break
    const run = runOf(textIn(report), { code, seconds: (performance.now() - startedAt) / 1000 })
    if (run.tests === 0) program.error(`${file}: no test ran; name a suite`)
    runs.push(run)
    say(run, runs.length, wanted)
  }
  if (runs.length > 0) console.log(`\n${summaryOf(runs)}`)
  process.exit(interrupted ? 130 : runs.some(({ failures }) => failures.length > 0) ? 1 : 0)
}

/** It has a process group of its own, leaves its files in the folder, and draws its cases from the seed. */
function suite(
  file: string,
  report: string,
  { folder, seed }: { readonly folder: string; readonly seed: number },
): ChildProcess {
  const words = ['node_modules/vitest/vitest.mjs', 'run', file, '--reporter=json', `--outputFile=${report}`]
  const env = { ...process.env, TMPDIR: folder, JOINER_TEST_SEED: String(seed) }
  return spawn(process.execPath, words, { cwd: root, env, stdio: 'ignore', detached: true })
}

/** Kills a suite with all its processes. */
function kill({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL')
  } catch {
    // It has ended.
  }
}

function say({ seconds, tests, failures }: Run, at: number, wanted: number): void {
  const outcome = failures.length === 0 ? `${tests} tests passed` : `${failures.length} of ${tests} tests failed`
  console.log(`run ${at} of ${wanted}: ${outcome} in ${seconds.toFixed(1)} s`)
  for (const { test, text } of failures) console.log(`  ${test}\n${text.replaceAll(/^/gm, '    ')}`)
}

/** Undefined: there is no such file. */
function textIn(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}
