import { type Command, Option } from 'commander'

/** How a command prints: for people, for people at any width, or for programs. */
export type OutputFormat = 'table' | 'wide' | 'json' | 'yaml'

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

function another(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value]
}
