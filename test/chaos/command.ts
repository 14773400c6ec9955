import { randomInt } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { Command, Option } from 'commander'
import { wholeNumber } from '../../bench/arguments.ts'
import { circumstances } from '../../bench/report.ts'
import { coverageOf, coverageTable, keptWork, workFile } from './coverage.ts'
import { runBeside } from './jobs.ts'
import { type ChaosPlan, planOf } from './plan.ts'
import { type ChaosRun, runPlan, type Work } from './run.ts'
import { sabotage } from './sabotages/lives.ts'
import { shortest } from './shrink.ts'

interface Options {
  readonly seeds: number
  readonly from: number
  readonly new?: boolean
  readonly seed?: number
  readonly plan?: string
  readonly show?: boolean
  readonly shrink: boolean
  readonly jobs: number
  readonly sabotages?: RegExp
  readonly write?: boolean
}

/** With fewer seeds chance decides which kinds come about. */
const enoughSeeds = 50

await new Command('npm run chaos --')
  .description(
    'All of Joiner and its servers in virtual time, with faults and operators that follow from a seed. Ends with 1 when something is wrong at any time or left at the end, with the shortest plan in which it is, or when a kind of trouble came about too rarely.',
  )
  .option('--seeds <count>', 'how many seeds', wholeNumber, 100)
  .option('--from <seed>', 'the first of them', wholeNumber, 1)
  .option('--new', 'from a seed that is drawn at random, which is printed')
  .option('--seed <seed>', 'only this one, with all that happens', wholeNumber)
  .option('--plan <file>', 'only this plan, as a failing seed prints it')
  .option('--show', 'only print the plan, as JSON')
  .option('--no-shrink', 'do not look for the shortest plan that fails')
  .addOption(
    new Option('--sabotages [names]', 'put old faults back, those whose names match, and say how many seeds each lives')
      .preset('')
      .argParser((names) => new RegExp(names)),
  )
  .option('--write', 'keep in work.json how much happens in an hour of the seeds of npm test, and run no others')
  .option('--jobs <count>', 'how many processes share the seeds', wholeNumber, availableParallelism())
  .action((options: Options) => {
    if (options.write === true) return keepWork(options)
    return options.sabotages === undefined ? main(options) : trySabotages(options, options.sabotages)
  })
  .parseAsync()

async function main({
  seeds,
  from: given,
  new: isNew = false,
  seed,
  plan: file,
  show = false,
  shrink,
  jobs,
}: Options): Promise<void> {
  const from = isNew ? randomInt(1_000_000_000) : given
  const alone = file === undefined ? seed : await planIn(file)
  if (show) return console.log(JSON.stringify(typeof alone === 'object' ? alone : planOf(alone ?? from)))
  const first = typeof alone === 'number' ? alone : from
  const plans =
    typeof alone === 'object'
      ? [alone]
      : Array.from({ length: alone === undefined ? seeds : 1 }, (_, at) => planOf(first + at))
  const say = alone === undefined ? () => {} : (text: string) => console.log(text)
  const runs: ChaosRun[] = []
  const ended = async (plan: ChaosPlan, run: ChaosRun) => {
    // Ten thousand seeds ask for a hundred million things.
    runs.push({ ...run, requests: [] })
    console.log(lineOf(plan, run))
    if (run.wrong.length > 0) await report(plan, run, shrink)
    return 'next' as const
  }
  const [only] = plans
  if (only !== undefined && plans.length === 1) await ended(only, await runPlan(only, { say }))
  // Also with one job: what a world leaves behind may keep a process.
  else await runBeside(plans, { jobs }, ended)
  const coverage = coverageOf(runs)
  const hours = runs.reduce((sum, { simulatedMs }) => sum + simulatedMs, 0) / 3_600_000
  const wrong = runs.filter((run) => run.wrong.length > 0).length
  console.log(
    `\n### Chaos, ${circumstances()}\n\n${coverageTable(coverage)}\n\n${runs.length} seeds, ${hours.toFixed(1)} hours, ${wrong} wrong; median ${(coverage.medianMs / 1000).toFixed(2)} s of a core; in an hour ${inAnHour(coverage.hourly)}`,
  )
  const isRare = runs.length >= enoughSeeds && coverage.rare.length > 0
  if (isRare) console.error(`came about too rarely: ${coverage.rare.join(', ')}`)
  if (wrong > 0 || isRare) process.exitCode = 1
  // What a world leaves behind may keep the process that it ran in.
  if (only !== undefined && plans.length === 1) process.stdout.write('', () => process.exit())
}

async function trySabotages({ seeds, from, jobs }: Options, names: RegExp): Promise<void> {
  const plans = Array.from({ length: seeds }, (_, at) => planOf(from + at))
  if ((await sabotage(plans, jobs, names)) > 0) process.exitCode = 1
}

/** For a change after which more happens, and is meant to: the commit says why. */
async function keepWork({ jobs }: Options): Promise<void> {
  const { seeds } = await keptWork()
  const runs: ChaosRun[] = []
  await runBeside(seeds.map(planOf), { jobs }, async (plan, run) => {
    runs.push({ ...run, requests: [] })
    console.log(lineOf(plan, run))
    return 'next'
  })
  const { hourly, medianMs } = coverageOf(runs)
  await writeFile(workFile, `${JSON.stringify({ seeds, hourly }, null, 2)}\n`)
  console.log(`in an hour ${inAnHour(hourly)}; median ${(medianMs / 1000).toFixed(2)} s of a core`)
}

function inAnHour({ timers, requests, activations }: Work): string {
  return `${timers} timers, ${requests} requests, ${activations} activations`
}

async function planIn(file: string): Promise<ChaosPlan> {
  return JSON.parse(await readFile(file, 'utf8')) as ChaosPlan
}

function lineOf({ seed, timeline }: ChaosPlan, { simulatedMs, cpuMs, requests, wrong }: ChaosRun): string {
  const what = wrong.length === 0 ? 'ok' : 'WRONG'
  return `seed ${seed}: ${what}, ${timeline.length} troubles in ${Math.round(simulatedMs / 60_000)} min, ${requests.length} requests, ${(cpuMs / 1000).toFixed(2)} s`
}

async function report(plan: ChaosPlan, { wrong }: ChaosRun, shrink: boolean): Promise<void> {
  for (const { kind, what } of wrong) console.log(`  ${kind}: ${what}`)
  if (!shrink) return
  const kinds = new Set(wrong.map(({ kind }) => kind))
  const least = await shortest(plan, async (shorter) =>
    (await runPlan(shorter)).wrong.some(({ kind }) => kinds.has(kind)),
  )
  console.log(
    `  shortest (${least.timeline.length} troubles, ${least.workloads.length} workloads, ${least.minutes} min), for --plan FILE:`,
  )
  console.log(JSON.stringify(least))
}
