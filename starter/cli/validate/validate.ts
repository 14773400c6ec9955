import { type Command, Option } from 'commander'
import type { InputFile, UnreadableFile } from '../bounded/input.ts'

/** Adds `validate`. */
export function registerValidate(program: Command): void {
  program
    .command('validate')
    .argument('<files...>', 'YAML files of manifests, or - for standard input')
    .addOption(new Option('--output <format>', 'output format').choices(['text', 'json']).default('text'))
    .description('Check manifests as the API server and Joiner would, without a cluster; unknown kinds are skipped')
    .addHelpText(
      'after',
      `
Exit code: 0 when all are valid, 1 when something in them is not, 2 for files or options that cannot be read.`,
    )
    .action(async (files: readonly string[], { output }: { readonly output: 'text' | 'json' }) => {
      process.exitCode = await validate(files, output)
    })
}

async function validate(names: readonly string[], output: 'text' | 'json'): Promise<number> {
  const [{ readInput }, { runBounded }] = await Promise.all([
    import('../bounded/input.ts'),
    import('../bounded/run.ts'),
  ])
  const files: (InputFile | UnreadableFile)[] = []
  for (const name of names) files.push(await readInput(name))
  return runBounded(
    { name: 'validate', input: { files, output } },
    files.filter((file) => 'bytes' in file),
  )
}
