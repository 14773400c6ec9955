import { randomInt } from 'node:crypto'
import { Command, InvalidArgumentError } from 'commander'
import { circumstances, seconds, table } from '../../bench/report.ts'
import { planOf } from '../chaos/plan.ts'
import { exitSoon } from '../clusters/clean-up.ts'
import { FaultyWorld } from '../faulty-world.ts'
import { describe } from './schedule.ts'
import { type SoakReport, soak, soakStage } from './soak.ts'
import { type Stage, stageOf } from './stage.ts'

interface Options {
  readonly minutes: number
  readonly seed: number
  readonly seeds: number
  readonly new?: boolean
  readonly chaos?: boolean
  readonly plan?: boolean
}

function count(text: string): number {
  const value = Number(text)
  if (!Number.isSafeInteger(value) || value <= 0) throw new InvalidArgumentError(`"${text}" is not a positive number.`)
  return value
}

await new Command('npm run soak --')
  .description(
    'Joiner, Temporal and the API server are killed, Azure fails, throttles and loses answers, pods, nodes and VMs come and go, at times that follow from a seed. Then everything is scaled to zero, and nothing may be left. Ends with 1 when something is, or was made twice.',
  )
  .option('--minutes <count>', 'how long', count, 20)
  .option('--seed <count>', 'what the troubles follow from', count, 1)
  .option('--seeds <count>', 'how many seeds, from that one on, each on servers of its own', count, 1)
  .option('--new', 'from a seed that is drawn at random, which is printed')
  .option('--chaos', 'with clusters and troubles of npm run chaos, as far as real servers can have them')
  .option('--plan', 'only print what would happen when')
  .action(main)
  .parseAsync()

async function main({ minutes, seed: given, seeds, new: isNew = false, chaos = false, plan = false }: Options) {
  const first = isNew ? randomInt(1_000_000_000) : given
  for (let seed = first; seed < first + seeds; seed++) {
    const stage = chaos ? stageOf(planOf(seed), minutes * 60_000) : soakStage(seed, minutes)
    if (plan) {
      for (const { atMs, trouble } of stage.troubles)
        console.log(`${(atMs / 1000).toFixed(1).padStart(7)} s  ${describe(trouble)}`)
    } else await one(stage, `seed ${seed}`, minutes)
  }
  if (!plan) exitSoon()
}

async function one(stage: Stage, name: string, minutes: number): Promise<void> {
  const startedAtMs = Date.now()
  const say = (text: string) => console.log(`${((Date.now() - startedAtMs) / 1000).toFixed(1).padStart(7)} s  ${text}`)
  say(`${name}: starting the servers`)
  const faulty = await FaultyWorld.startServers()
  const stop = () => void faulty.stop().finally(() => process.exit(130))
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, stop)
  try {
    const report = await soak(faulty, { stage, endMs: 300_000, say })
    console.log(`\n${circumstances()}, ${name}\n\n${asTable(report, minutes)}`)
    for (const wrong of [...report.duplicates, ...report.alarms]) console.error(wrong)
    if (report.duplicates.length + report.alarms.length > 0) process.exitCode = 1
  } finally {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.removeListener(signal, stop)
    await faulty.stop()
  }
}

function asTable(report: SoakReport, minutes: number): string {
  const reported = (counts: Readonly<Record<string, number>>) =>
    Object.entries(counts)
      .map(([name, count]) => `${name} ${count}`)
      .join(', ')
  return table(
    ['', `${minutes} minutes`],
    [
      ['troubles', reported(report.troubles)],
      ['faults of Azure that hit', reported(report.hits)],
      ['nodes at once, most', String(report.mostNodes)],
      ['requests that change VMs', reported(report.requests)],
      ['until nothing was left', seconds(report.settledMs)],
      ['VMs made twice', String(report.duplicates.length)],
      ['leaks that garbage collection found', String(report.alarms.length)],
    ],
  )
}
