import { type Command, InvalidArgumentError, Option } from 'commander'
import { wrongColumn } from '../../document/csv.ts'

/** How a command prints: for people, for people at any width, or for programs. */
export type OutputFormat = 'table' | 'wide' | 'json' | 'yaml'

/** How a list prints: also for scripts, as kubectl does. */
export type ListFormat = OutputFormat | 'plain' | 'name' | `custom-columns=${string}`

/** Which cluster a command talks to, and as whom. */
export interface ConnectionOptions {
  readonly kubeconfig?: string
  readonly context?: string
  readonly as?: string
  readonly asGroup?: readonly string[]
}

export interface ClusterOptions extends ConnectionOptions {
  readonly joinerNamespace: string
}

const clusterGroup = 'Cluster options:'

/** Adds `-o`. */
export function outputOption(command: Command, more: readonly string[] = []): Command {
  const formats = ['table', 'wide', ...more, 'json', 'yaml']
  return command.addOption(
    new Option('-o, --output <format>', 'output format; wide ignores the width of the terminal')
      .choices(formats)
      .default('table'),
  )
}

const columnsStart = 'custom-columns='
const columnsHint = `${columnsStart}TITLE:.field,...`

/** Adds `-o` with the formats of lists, `--no-headers` and `--watch`. */
export function listOptions(command: Command): Command {
  const formats = ['table', 'wide', 'name', columnsHint, 'json', 'yaml']
  const output = new Option('-o, --output <format>', 'output format; wide ignores the width of the terminal')
    .choices(formats)
    .default('table')
    .argParser((text: string) => {
      if (text.startsWith(columnsStart)) {
        const wrong = wrongColumn(text.slice(columnsStart.length))
        if (wrong !== undefined) throw new InvalidArgumentError(wrong)
        return text
      }
      if (formats.includes(text) && text !== columnsHint) return text
      throw new InvalidArgumentError(`Allowed choices are ${formats.join(', ')}.`)
    })
  return watchOption(command)
    .addOption(output)
    .option('--no-headers', 'print tables without their header')
    .hook('preAction', (_, asked) => {
      const { headers, output } = asked.opts<{ readonly headers: boolean; readonly output: string }>()
      if (!headers && ['table', 'wide'].includes(output)) asked.setOptionValue('output', 'plain')
    })
}

/** Adds `--watch`, which answers again and again. */
export function watchOption(command: Command): Command {
  return command
    .option('-w, --watch', 'answer again every 5 seconds, until Ctrl-C')
    .hook('preAction', async (_, asked) => {
      if (asked.opts()['watch'] === true) process.exit(await (await import('./watch.ts')).watch())
    })
}

/** Adds the options by which kubectl, too, finds a cluster. */
export function connectionOptions(command: Command): Command {
  return command
    .addOption(
      grouped(
        '--kubeconfig <file>',
        'kubeconfig (default: KUBECONFIG, else ~/.kube/config, or the account of the pod)',
      ),
    )
    .addOption(grouped('--context <name>', 'context of the kubeconfig (default: the current one)'))
    .addOption(grouped('--as <user>', 'user to impersonate'))
    .addOption(grouped('--as-group <name>', 'group to impersonate; repeatable').argParser(another))
}

/** Adds those, and the namespace that Joiner runs in. */
export function clusterOptions(command: Command): Command {
  return connectionOptions(command).addOption(
    grouped('--joiner-namespace <name>', "Joiner's namespace").env('JOINER_NAMESPACE').default('joiner'),
  )
}

function grouped(flags: string, description: string): Option {
  return new Option(flags, description).helpGroup(clusterGroup)
}

/** Parses an option that may be given again. */
export function another(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value]
}

/** Returns what reads a whole number within bounds. */
export const wholeNumber =
  (least: number, most = Number.MAX_SAFE_INTEGER) =>
  (text: string): number => {
    const value = Number(text)
    if (/^\d+$/.test(text) && value >= least && value <= most) return value
    const end = most === Number.MAX_SAFE_INTEGER ? '' : ` to ${most}`
    throw new InvalidArgumentError(`It must be a whole number from ${least}${end}.`)
  }

/** Says what is wrong with what was typed. Returns the exit code for that. */
export function usage(message: string): 2 {
  console.error(message)
  return 2
}
