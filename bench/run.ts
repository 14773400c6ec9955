import { Command, InvalidArgumentError } from 'commander'
import { scaleUp } from './scale-up.ts'
import { scheduling } from './schedule.ts'

/** `5,100` -> [5, 100]. */
function counts(text: string): readonly number[] {
  const values = text.split(',').map(Number)
  if (!values.every((value) => Number.isSafeInteger(value) && value > 0))
    throw new InvalidArgumentError(`"${text}" is not a list of positive numbers like 5,100.`)
  return values
}

const program = new Command('npm run bench --')
  .description(
    'Benchmarks. Each prints a Markdown table for docs/benchmarks.md, with its baseline measured in the same call.',
  )
  .usage('NAME [options]')
program
  .command('scale-up')
  .description('pods that each need a node: from the scale request to the last one Running, and back to no node')
  .option('--pods <counts>', 'how many, for one run each', counts, [5, 100, 500])
  .action(async ({ pods }: { readonly pods: readonly number[] }) => scaleUp(pods))
program
  .command('schedule')
  .description('the planner alone, on pods and 600 instance types in memory')
  .option('--pods <counts>', 'how many, for one row each', counts, [1000, 5000])
  .action(({ pods }: { readonly pods: readonly number[] }) => scheduling(pods))

if (process.argv.length === 2) program.outputHelp()
else await program.parseAsync()
