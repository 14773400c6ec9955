import { copyFile, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Command, Option } from 'commander'
import { circumstances } from '../../bench/report.ts'
import { printable } from '../../core/values/printable.ts'
import { World } from '../world.ts'
import { type Corpus, hostileCorpus, tenthOf } from './corpus.ts'
import { type FileRun, runFiles } from './file-runs.ts'
import { brokenPromises, brokenRuns, fileTable, objectTable, outcomeTable } from './report.ts'
import { type HostileReport, hostileScenario } from './scenario.ts'

interface Options {
  readonly tenth?: true
  readonly apart?: true
  readonly only?: 'cluster' | 'files'
  readonly refused?: true
  readonly log?: string
}

await new Command('npm run hostile --')
  .description(
    'Sends hostile pods, NodePools, NodeClaims and AKSNodeClasses to a local cluster, beside VMs that are not Joiner’s and 50 innocent pods, plays a node in the hands of somebody else, and gives hostile files to the command line. Prints tables for docs/security-tests.md. Ends with 1 when a promise is broken.',
  )
  .option('--tenth', 'only every tenth of each kind, as npm test has it')
  .option('--apart', 'Joiner as the chart’s four Deployments, each with its own account; else as one process')
  .addOption(new Option('--only <part>', 'the cluster or the files alone').choices(['cluster', 'files']))
  .option('--refused', 'print what the API server refused, and why')
  .option('--log <file>', 'where to keep the log of Joiner’s planner')
  .action(main)
  .parseAsync()

async function main(options: Options): Promise<void> {
  const corpus = options.tenth === true ? tenthOf(hostileCorpus()) : hostileCorpus()
  const startedAtMs = Date.now()
  const say = (text: string) => console.log(`${((Date.now() - startedAtMs) / 1000).toFixed(1).padStart(7)} s  ${text}`)
  const report = options.only === 'files' ? undefined : await inCluster(corpus, options, say)
  const runs = options.only === 'cluster' ? [] : await onFiles(corpus, say)
  if (options.refused === true) reportRefused(report)
  console.log(`\n${circumstances()}${options.apart === true ? ', four processes' : ''}\n`)
  if (report !== undefined) console.log(`${objectTable(corpus, report)}\n\n${outcomeTable(report)}\n`)
  if (runs.length > 0) console.log(`${fileTable(runs)}\n`)
  const broken = [...(report === undefined ? [] : brokenPromises(report)), ...brokenRuns(runs)]
  for (const one of broken) console.error(`broken: ${one}`)
  for (const one of report?.stayed ?? []) console.log(`waits for a person: ${printable(one)}`)
  if (broken.length > 0) process.exitCode = 1
  else if (options.tenth !== true && options.only === undefined)
    console.log('Every promise is kept. The date and the tables go under "Hostile objects" in docs/security-tests.md.')
}

/** The servers end with the command, however it ends. */
async function inCluster(corpus: Corpus, options: Options, say: (text: string) => void): Promise<HostileReport> {
  say('starting the servers')
  const starting = World.start()
  const stop = () => starting.then((world) => world.stop())
  const interrupted = () => void stop().finally(() => process.exit(130))
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, interrupted)
  try {
    const world = await starting
    const report = await hostileScenario(world, { corpus, isApart: options.apart === true, say })
    const planner = options.apart === true ? 'joiner-planner' : 'joiner'
    if (options.log !== undefined) await copyFile(world.cluster.supervisor.logFile(planner), options.log)
    return report
  } finally {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.removeListener(signal, interrupted)
    await stop()
  }
}

async function onFiles({ files }: Corpus, say: (text: string) => void): Promise<readonly FileRun[]> {
  const folder = await mkdtemp(join(tmpdir(), 'joiner-hostile-'))
  const remove = () => rm(folder, { recursive: true, force: true })
  const interrupted = () => void remove().finally(() => process.exit(130))
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, interrupted)
  try {
    say(`giving ${files.length} files to the command line`)
    const done = ({ command, file, failure }: FileRun) =>
      failure === undefined ? undefined : say(printable(`${command} of ${file}: ${failure}`))
    return await runFiles(files, { folder, done })
  } finally {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.removeListener(signal, interrupted)
    await remove()
  }
}

function reportRefused(report: HostileReport | undefined): void {
  for (const { object, answer } of report?.sent ?? [])
    if (answer.kind === 'refused')
      console.log(printable(`refused: ${object.kind} that ${object.what}: ${answer.why.slice(0, 200)}`))
}
