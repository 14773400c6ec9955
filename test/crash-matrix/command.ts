import { writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { Command, InvalidArgumentError } from 'commander'
import { exitSoon } from '../clusters/clean-up.ts'
import { FaultyWorld } from '../faulty-world.ts'
import { asMarkdown, problemsOf } from './report.ts'
import { describe, type Row, sample } from './rows.ts'
import { runMatrix } from './run.ts'

interface Options {
  readonly rows?: RegExp
  readonly sample?: number
  readonly seed: number
  readonly slots: number
  readonly limit: number
  readonly minutes?: number
  readonly phases: boolean
  readonly machines: boolean
  readonly page?: string
}

const wholePage = (isMachines: boolean) =>
  fileURLToPath(new URL(`../../docs/crash-matrix${isMachines ? '-machines' : ''}.md`, import.meta.url))

function count(text: string): number {
  const value = Number(text)
  if (!Number.isSafeInteger(value) || value <= 0) throw new InvalidArgumentError(`"${text}" is not a positive number.`)
  return value
}

function pattern(text: string): RegExp {
  try {
    return new RegExp(text)
  } catch (error) {
    throw new InvalidArgumentError(error instanceof Error ? error.message : String(error))
  }
}

await new Command('npm run crash-matrix --')
  .description(
    'Kills Joiner before and after each of its writes to Kubernetes and Azure, and Temporal and the API server in each phase of a claim, and looks whether everything ends as without the kill. Writes docs/crash-matrix.md, or docs/crash-matrix-machines.md, when all of it was run; ends with 1 when a row failed.',
  )
  .option('--rows <pattern>', 'only rows that match, such as "virtualMachines|replace: .*taint"', pattern)
  .option('--sample <count>', 'only so many, of each kind of write before more of one', count)
  .option('--seed <count>', 'what a sample follows from beyond that', count, 1)
  .option('--slots <count>', 'nodes at a time', count, 12)
  .option('--limit <seconds>', 'within which the end state has to come', count, 60)
  .option('--minutes <count>', 'after which no more kills of Joiner begin', count)
  .option('--page <file>', 'where the table is written; one of docs/ when all of it was run')
  .option('--machines', 'of nodes that are AKS machines', false)
  .option('--no-phases', 'do not kill Temporal and the API server')
  .action(main)
  .parseAsync()

async function main({
  rows: wanted,
  sample: size,
  seed,
  slots,
  limit,
  minutes,
  phases,
  machines,
  page,
}: Options): Promise<void> {
  const startedAtMs = Date.now()
  const say = (text: string) => console.log(`${((Date.now() - startedAtMs) / 1000).toFixed(0).padStart(5)} s  ${text}`)
  say('starting the servers')
  const faulty = await (machines ? FaultyWorld.startForMachines() : FaultyWorld.startServers())
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => void faulty.stop().finally(() => process.exit(130)))
  const select = (rows: readonly Row[]) => {
    const matching = rows.filter((row) => wanted?.test(describe(row)) ?? true)
    return size === undefined ? matching : sample(matching, size, seed)
  }
  try {
    const report = await runMatrix(faulty, {
      select,
      phases,
      minutes,
      slots,
      limitMs: limit * 1000,
      isMachines: machines,
      say,
    })
    const isWhole = phases && report.results.length === report.rows
    const file = page ?? (isWhole ? wholePage(machines) : undefined)
    if (file === undefined) console.log(asMarkdown(report))
    else await writeFile(file, asMarkdown(report))
    const problems = problemsOf(report)
    for (const problem of problems) console.error(problem)
    if (problems.length > 0) process.exitCode = 1
  } finally {
    await faulty.stop()
    exitSoon()
  }
}
