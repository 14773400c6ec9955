import { type Command, InvalidArgumentError, Option } from 'commander'
import { print } from '../../document/print.ts'
import { gapLines } from '../../picture/gaps.ts'
import { type ClusterOptions, clusterOptions, type OutputFormat, outputOption } from '../shared/options.ts'
import { parseResources, type Resource, resources, type SortKey, sortKeys } from './columns.ts'

interface Options extends ClusterOptions {
  readonly once?: true
  readonly sortBy: SortKey
  readonly reverse?: true
  readonly nodepool?: string
  readonly filter: string
  readonly resources: readonly Resource[]
  readonly output: OutputFormat
}

/** Adds what `top` takes, a live view of nodes. */
export function registerTop(command: Command): void {
  outputOption(clusterOptions(command))
    .option('--once', 'print one view as text and end; also without a terminal, and with -o')
    .addOption(new Option('--sort-by <column>', 'column to sort by').choices(sortKeys).default('name'))
    .option('--reverse', 'reverse the order')
    .option('--nodepool <name>', 'only nodes of this NodePool')
    .option('--filter <text>', 'only nodes with this text in their row', '')
    .addOption(
      new Option('--resources <names>', `columns with bars: ${resources.join(', ')}`)
        .default(['cpu', 'memory'], 'cpu,memory')
        .argParser(resourceNames),
    )
    .addHelpText(
      'after',
      `
It reads Nodes, NodeClaims, NodePools and pods with your own rights, from whatever provisioner, and Joiner's price list; it changes nothing. What you may not
read is named, and the rest is shown. Utilization is what pods request of what nodes can allocate. NO_COLOR turns colours off.
Keys: q ends it, s and S sort by another column, r reverses, p chooses a NodePool, / filters, arrows and PgUp, PgDn, Home, End scroll, Ctrl-Z suspends.

Examples:
  joiner top --sort-by cpu --nodepool general
  joiner top --once -o json | jq .totals

Exit code: 0, 1 when the cluster does not answer or nodes could not be read, 2 for options that cannot be read, 130 after Ctrl-C.`,
    )
    .action(async (options: Options) => {
      process.exitCode = await top(options)
    })
}

function resourceNames(text: string): readonly Resource[] {
  const names = parseResources(text)
  if (names === undefined) throw new InvalidArgumentError(`Allowed are ${resources.join(', ')}, with commas between.`)
  return names
}

async function top(options: Options): Promise<number> {
  const [{ kubeconfigSource }, { KubernetesClient }, { ClusterWatch }, { unanswered }, { joinersClient }] =
    await Promise.all([
      import('../access/cluster.ts'),
      import('../../../activities/kubernetes/client/client.ts'),
      import('../../picture/watch/from-watch.ts'),
      import('../../picture/missing.ts'),
      import('../../picture/joiners-client.ts'),
    ])
  let client: InstanceType<typeof KubernetesClient> | undefined
  try {
    client = await KubernetesClient.load(kubeconfigSource(options))
    const watch = await ClusterWatch.start({
      client: joinersClient(client, options.joinerNamespace),
      namespace: options.joinerNamespace,
    })
    try {
      return isLive(options) ? await live(watch, client.server, options) : await once(watch, options)
    } finally {
      watch.close()
    }
  } catch (error) {
    console.error(unanswered(error))
    return 1
  } finally {
    await client?.close()
  }
}

/** A terminal that cannot move its cursor gets one view. */
function isLive({ once, output }: Options): boolean {
  return (
    once !== true && output !== 'json' && output !== 'yaml' && process.stdout.isTTY && process.env['TERM'] !== 'dumb'
  )
}

type Watch = Awaited<ReturnType<typeof import('../../picture/watch/from-watch.ts').ClusterWatch.start>>

async function once(watch: Watch, { output, resources: shown, ...options }: Options): Promise<number> {
  const [{ onceDocument }, { noteGaps }] = await Promise.all([import('./frame.ts'), import('../../picture/picture.ts')])
  const view = watch.view()
  noteGaps(view)
  const json = {
    ...view,
    /** What could not be read or used, with the remedy, a line each. */
    missing: gapLines(view),
  }
  await print(output, { json, document: () => onceDocument(view, selectionOf(options), shown) })
  return view.unlisted.includes('nodes') ? 1 : 0
}

async function live(watch: Watch, server: string, options: Options): Promise<number> {
  const [{ showLive }, { paintFor }, { default: pc }] = await Promise.all([
    import('./live.ts'),
    import('./columns.ts'),
    import('picocolors'),
  ])
  return showLive(watch, {
    stdin: process.stdin,
    stdout: process.stdout,
    paint: paintFor(pc.isColorSupported),
    server,
    resources: options.resources,
    state: { ...selectionOf(options), isTyping: false, offset: 0 },
  })
}

function selectionOf({ sortBy, reverse, nodepool, filter }: Omit<Options, 'output' | 'resources'>) {
  return {
    sort: sortBy,
    isReversed: reverse === true,
    filter,
    ...(nodepool === undefined ? {} : { nodePool: nodepool }),
  }
}
