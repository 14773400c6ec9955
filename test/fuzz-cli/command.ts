import { Command } from 'commander'
import { wholeNumber } from '../../bench/arguments.ts'
import { circumstances, table } from '../../bench/report.ts'
import { printable } from '../../core/values/printable.ts'
import { caseOf as mutatedCase } from './cases.ts'
import { fieldCaseOf, fieldCases } from './fields.ts'
import { type Failure, type FuzzReport, fuzz } from './fuzz.ts'
import { failureOf } from './judge.ts'
import { type Ended, folderOf, runProcess, written } from './processes.ts'

interface Options {
  readonly seed: number
  readonly count: number
  readonly from: number
  readonly processes: number
  readonly fields?: true
}

const mostMiB = 512
const progressEvery = 1000

await new Command('npm run fuzz-cli --')
  .description(
    'Manifests, scenarios, catalogues and plans are changed at random and given to the command line: each run must end, with an exit code of the help, and print no stack trace and no control character. Ends with 1 when something did.',
  )
  .option('--seed <number>', 'what the changes follow from', wholeNumber, Math.floor(Math.random() * 1e6))
  .option('--count <number>', 'how many', wholeNumber, 10_000)
  .option('--from <number>', 'the number of the first one; with --count 1 a single one is run again', wholeNumber, 0)
  .option('--processes <number>', 'how many of them are run as real processes as well', wholeNumber, 50)
  .option('--fields', 'instead each field of a cluster, left out, null or of another type')
  .action(main)
  .parseAsync()

async function main({ seed, count: wanted, from, processes, fields }: Options): Promise<void> {
  const caseOf = fields ? fieldCaseOf : (index: number) => mutatedCase(seed, index)
  const cases = fields ? Math.min(wanted, fieldCases - from) : wanted
  console.log(fields ? `${fieldCases} changes of fields` : `seed ${seed}`)
  const startedAtMs = Date.now()
  const onRun = (done: number) => {
    if (done % progressEvery === 0) console.log(`${done} of ${cases} have run`)
  }
  const report = await fuzz({ caseOf, count: cases, from, onRun, onFailure: (failure) => print(failure, seed) })
  const real = fields ? { ended: [], failures: 0 } : await runProcesses(seed, from, cases, processes)
  console.log(
    `\n${circumstances()}, seed ${seed}, ${((Date.now() - startedAtMs) / 1000).toFixed(0)} s\n\n${asTable(report, real)}`,
  )
  if (report.failures.length + real.failures > 0) process.exitCode = 1
}

/** The file is kept, for whoever wants to look at it. */
function print({ one, message }: Failure, seed: number): void {
  const words = written(one, folderOf(seed, one)).map((word) => (/^[\w./-]+$/.test(word) ? word : `'${word}'`))
  console.error(
    `${one.index}: ${printable(message)}\n  npm run joiner -- ${words.join(' ')}\n  npm run fuzz-cli -- --seed ${seed} --from ${one.index} --count 1`,
  )
}

interface Real {
  readonly ended: readonly Ended[]
  readonly failures: number
}

/** A few of the cases as users run them, spread evenly. */
async function runProcesses(seed: number, from: number, cases: number, wanted: number): Promise<Real> {
  const step = Math.max(1, Math.floor(cases / Math.max(1, wanted)))
  const ended: Ended[] = []
  let failures = 0
  for (let index = from; index < from + cases && ended.length < wanted; index += step) {
    const one = mutatedCase(seed, index)
    const end = await runProcess(one, folderOf(seed, one))
    ended.push(end)
    const message =
      failureOf(one, { kind: 'ran', ...end }) ??
      (end.peakMiB > mostMiB ? `needed ${Math.round(end.peakMiB)} MiB` : undefined)
    if (message === undefined) continue
    failures += 1
    print({ one, message: `as a process: ${message}` }, seed)
  }
  return { ended, failures }
}

function asTable({ commands, failures }: FuzzReport, { ended, failures: failedProcesses }: Real): string {
  const rows = Object.entries(commands).map(([name, { cases, codes, slowestMs, slowest }]) => [
    name,
    String(cases),
    ...['0', '1', '2'].map((code) => String(codes[code] ?? 0)),
    `${Math.round(slowestMs)} ms (${slowest})`,
  ])
  const most = (value: (end: Ended) => number) => Math.round(Math.max(0, ...ended.map(value)))
  return [
    table(['command', 'mutations', 'code 0', 'code 1', 'code 2', 'slowest (its number)'], rows),
    `${failures.length} failures. ${ended.length} of them as processes: at most ${most(({ milliseconds }) => milliseconds)} ms of processor time and ${most(({ peakMiB }) => peakMiB)} MiB at the peak (limit ${mostMiB}), ${failedProcesses} failures.`,
  ].join('\n\n')
}
