import { Command, InvalidArgumentError, Option } from 'commander'
import { circumstances } from '../../bench/report.ts'
import { binaryVariable, resolveBinaries } from '../../deploy/local/server-binaries.ts'
import { servers } from '../../deploy/local/server-versions.ts'
import { exitSoon } from '../clusters/clean-up.ts'
import { acts } from './acts.ts'
import { brokenPromises, outcomeTable, rowTable } from './report.ts'
import { Stage } from './stage.ts'

interface Options {
  readonly only?: RegExp
  readonly temporal: 'newest' | 'oldest'
}

function pattern(text: string): RegExp {
  try {
    return new RegExp(text)
  } catch (error) {
    throw new InvalidArgumentError(error instanceof Error ? error.message : String(error))
  }
}

await new Command('npm run hostile-operator --')
  .description(
    'Ends, cancels and resets workflows, deletes and pauses the Schedule, removes search attributes and sends messages that nobody can read, on real servers, while a pod comes every 5 s. Prints a table: what was done, when it was named and healed, and how long pods waited. Ends with 1 when a promise is broken.',
  )
  .option('--only <pattern>', 'only what matches, such as "reset|search attribute"', pattern)
  .addOption(
    new Option(
      '--temporal <age>',
      `the server: ${servers.temporal.version} and ${servers['temporal-oldest'].version} of the CLI`,
    )
      .choices(['newest', 'oldest'])
      .default('newest'),
  )
  .action(main)
  .parseAsync()

async function main({ only, temporal }: Options): Promise<void> {
  const startedAtMs = Date.now()
  const say = (text: string) => console.log(`${((Date.now() - startedAtMs) / 1000).toFixed(0).padStart(5)} s  ${text}`)
  if (temporal === 'oldest') {
    const { 'temporal-oldest': binary } = await resolveBinaries(['temporal-oldest'], say)
    process.env[binaryVariable('temporal')] = binary
  }
  say('starting the servers')
  const starting = Stage.start(say)
  const stop = () => starting.then((stage) => stage.stop())
  const interrupted = () => void stop().finally(() => process.exit(130))
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, interrupted)
  try {
    const stage = await starting
    for (const act of acts.filter(({ what }) => only?.test(what) ?? true)) {
      say(act.what)
      await stage.play(act)
    }
    const outcome = await stage.outcome()
    console.log(
      `\n${circumstances()}, Temporal ${outcome.temporal}\n\n${rowTable(outcome.rows)}\n\n${outcomeTable(outcome)}\n`,
    )
    const broken = brokenPromises(outcome)
    for (const one of broken) console.error(`broken: ${one}`)
    if (broken.length > 0) process.exitCode = 1
  } finally {
    await stop()
    exitSoon()
  }
}
