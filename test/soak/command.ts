import { Command, InvalidArgumentError } from 'commander'
import { circumstances, seconds, table } from '../../bench/report.ts'
import { exitSoon } from '../clean-up.ts'
import { FaultyWorld } from '../faulty-world.ts'
import { describe, scheduleOf } from './schedule.ts'
import { type SoakReport, soak } from './soak.ts'

interface Options {
  readonly minutes: number
  readonly seed: number
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
  .option('--plan', 'only print what would happen when')
  .action(main)
  .parseAsync()

async function main({ minutes, seed, plan = false }: Options): Promise<void> {
  if (plan) {
    for (const { atMs, trouble } of scheduleOf(seed, minutes * 60_000))
      console.log(`${(atMs / 1000).toFixed(1).padStart(7)} s  ${describe(trouble)}`)
    return
  }
  const startedAtMs = Date.now()
  const say = (text: string) => console.log(`${((Date.now() - startedAtMs) / 1000).toFixed(1).padStart(7)} s  ${text}`)
  say('starting the servers')
  const faulty = await FaultyWorld.startServers()
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => void faulty.stop().finally(() => process.exit(130)))
  try {
    const report = await soak(faulty, { minutes, seed, endMs: 300_000, say })
    console.log(`\n${circumstances()}, seed ${seed}\n\n${asTable(report, minutes)}`)
    for (const one of [...report.duplicates, ...report.alarms]) console.error(one)
    if (report.duplicates.length + report.alarms.length > 0) process.exitCode = 1
  } finally {
    await faulty.stop()
    exitSoon()
  }
}

function asTable(report: SoakReport, minutes: number): string {
  const told = (counts: Readonly<Record<string, number>>) =>
    Object.entries(counts)
      .map(([name, count]) => `${name} ${count}`)
      .join(', ')
  return table(
    ['', `${minutes} minutes`],
    [
      ['troubles', told(report.troubles)],
      ['faults of Azure that hit', told(report.hits)],
      ['nodes at once, most', String(report.mostNodes)],
      ['requests that change VMs', told(report.requests)],
      ['until nothing was left', seconds(report.settledMs)],
      ['VMs made twice', String(report.duplicates.length)],
      ['leaks that garbage collection found', String(report.alarms.length)],
    ],
  )
}
