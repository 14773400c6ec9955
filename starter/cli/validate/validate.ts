import type { Command } from 'commander'
import type { InputFile } from '../../files/input-file.ts'
import type { UnreadableFile } from '../shared/input.ts'
import { type OutputFormat, outputOption } from '../shared/options.ts'

/** Adds what `validate` takes. */
export function registerValidate(command: Command): void {
  outputOption(command)
    .argument('<files...>', 'manifest files and directories, or - for standard input')
    .addHelpText(
      'after',
      `
Exit code: 0 when all are valid, 1 when something in them is not, 2 for files or options that cannot be read.`,
    )
    .action(async (files: readonly string[], { output }: { readonly output: OutputFormat }) => {
      process.exitCode = await validate(files, output)
    })
}

async function validate(names: readonly string[], output: OutputFormat): Promise<number> {
  const [{ filesOf, readInput }, { validateFiles }] = await Promise.all([
    import('../shared/input.ts'),
    import('./validate-files.ts'),
  ])
  const files: (InputFile | UnreadableFile)[] = []
  for (const name of names) {
    const below = filesOf(name)
    for (const file of below.length === 0 ? [name] : below) files.push(await readInput(file))
  }
  return validateFiles({ files, output })
}
