import type { Command } from 'commander'
import { note } from '../../document/print.ts'
import { inputName } from '../../files/input-file.ts'

/** Adds what `convert` takes. */
export function registerConvert(command: Command): void {
  command
    .argument('<file>', 'YAML file of manifests, or - for standard input')
    .addHelpText(
      'after',
      `
Exit code: 0 when all of it is printed, 1 when something in it cannot be read or converted and nothing is printed, 2 for a file or options
that cannot be read.`,
    )
    .action(async (file: string) => {
      process.exitCode = await convert(file)
    })
}

async function convert(file: string): Promise<number> {
  const [{ readInput }, { convertFile }] = await Promise.all([
    import('../shared/input.ts'),
    import('./convert-file.ts'),
  ])
  const input = await readInput(file)
  if ('bytes' in input) return convertFile(input)
  note(`${inputName(file)}: ${input.message}`)
  return 2
}
