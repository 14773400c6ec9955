import type { OutputFormat } from './options.ts'

/** Whether programs read it: nothing else goes to standard output then. */
export function isForPrograms(output: OutputFormat): output is 'json' | 'yaml' {
  return output === 'json' || output === 'yaml'
}

/** The value as JSON or YAML, with a line feed at its end. */
export async function structured(output: 'json' | 'yaml', value: unknown): Promise<string> {
  const json = JSON.stringify(value, null, 2)
  // YAML has what JSON has: nothing for what is undefined, text for dates.
  return output === 'json' ? `${json}\n` : (await import('./yaml-text.ts')).yamlText(JSON.parse(json))
}

/** Prints the value for programs, or the text for people, as was asked for. */
export async function print(output: OutputFormat, value: unknown, text: () => string): Promise<void> {
  process.stdout.write(isForPrograms(output) ? await structured(output, value) : `${text()}\n`)
}
