import { readFileSync } from 'node:fs'
import { type Command, Option } from 'commander'

/** What a simulation needs is loaded when one is asked for: other commands start faster so. */
export function registerSimulate(program: Command): void {
  program
    .command('simulate')
    .argument('[file]', 'a scenario in JSON; standard input where it is absent or -', '-')
    .addOption(new Option('--output <format>', 'how the result is printed').choices(['json']).default('json'))
    .description('say where the pods of a scenario would go, without a cluster')
    .action(async (file: string) => {
      const [{ readScenario }, { resultOf }, { schedule }] = await Promise.all([
        import('./scenario.ts'),
        import('./result.ts'),
        import('../../core/scheduling/schedule.ts'),
      ])
      const { snapshot, options } = readScenario(JSON.parse(readFileSync(file === '-' ? 0 : file, 'utf8')))
      console.log(JSON.stringify(resultOf(schedule(snapshot, options)), undefined, 2))
    })
}
