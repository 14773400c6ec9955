import { readFileSync } from 'node:fs'
import { type Command, InvalidArgumentError, Option } from 'commander'

/** What a simulation needs is loaded when one is asked for: other commands start faster so. */
export function registerSimulate(program: Command): void {
  program
    .command('simulate')
    .argument('[file]', 'a scenario in JSON; standard input where it is absent or -', '-')
    .addOption(new Option('--output <format>', 'how the result is printed').choices(['json']).default('json'))
    .option('--time', 'write what each round took to standard error, as a line of JSON')
    .option('--rounds <count>', 'solve so many times in one process', roundCount, 1)
    .description('say where the pods of a scenario would go, without a cluster')
    .action(async (file: string, { time = false, rounds }: { readonly time?: boolean; readonly rounds: number }) => {
      const [{ solveRounds }, { resultOf }] = await Promise.all([import('./rounds.ts'), import('./result.ts')])
      const json: unknown = JSON.parse(readFileSync(file === '-' ? 0 : file, 'utf8'))
      const plan = solveRounds(json, rounds, (times) => {
        if (time) console.error(JSON.stringify(times))
      })
      console.log(JSON.stringify(resultOf(plan), undefined, 2))
    })
}

function roundCount(text: string): number {
  const count = Number(text)
  if (!Number.isSafeInteger(count) || count < 1) throw new InvalidArgumentError('It must be a whole number from 1.')
  return count
}
