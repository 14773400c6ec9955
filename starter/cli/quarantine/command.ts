import type { Command } from 'commander'
import type { QuarantineStore } from '../../../activities/scheduler-thread/quarantine-store.ts'
import type { QuarantineEntry } from '../../../core/quarantine.ts'
import { timeText } from '../../../core/values/time.ts'
import type { Table } from '../../document/document.ts'
import { print } from '../../document/print.ts'
import { counted } from '../../document/words.ts'
import { quarantineJson } from '../shared/kept-json.ts'
import {
  type ClusterOptions,
  clusterOptions,
  type ListFormat,
  listOptions,
  outputOption,
  usage,
} from '../shared/options.ts'

interface Options extends ClusterOptions {
  readonly output: ListFormat
  readonly dryRun?: true
}

/** Adds what `quarantine` takes, which shows and clears what is left out of planning because it crashed passes. */
export function registerQuarantine(command: Command): void {
  listOptions(clusterOptions(command.command('list')))
    .description('List quarantined objects with cause and end')
    .action((options: Options) => run(options, (_, entries) => show(entries, options)))
  outputOption(clusterOptions(command.command('clear')))
    .description('Plan quarantined objects again, for example after an upgrade')
    .argument('[object]', 'kind, namespace and name, as in Pod/default/web-1; without a namespace where there is none')
    .option('--all', 'all of them')
    .option('--dry-run', 'show what would be cleared')
    .addHelpText(
      'after',
      `
Planners read it within 10 seconds. An object that crashes the scheduler twice again is quarantined again.
Exit code: 0 when it is cleared, 1 when the object is not quarantined or the cluster cannot be asked, 2 for options that cannot be read.`,
    )
    .action((object: string | undefined, options: Options & { readonly all?: true }) => {
      if ((object === undefined) !== (options.all === true)) {
        process.exitCode = usage('name one object, such as Pod/default/web-1, or clear all of them by --all')
        return undefined
      }
      return run(options, (store, entries) => clear(store, entries, { ...options, object }))
    })
}

/** Does the work with the quarantine. What of it cannot be read is noted. */
async function run(
  options: Options,
  work: (store: QuarantineStore, entries: readonly QuarantineEntry[]) => Promise<number>,
): Promise<void> {
  // Loaded late: the client of Kubernetes would be most of the time of --help.
  const [{ exitCodeOf, withCluster }, { QuarantineStore }, { quarantined }, { noteGaps, readWhole }] =
    await Promise.all([
      import('../access/cluster.ts'),
      import('../../../activities/scheduler-thread/quarantine-store.ts'),
      import('../../picture/kept.ts'),
      import('../../picture/picture.ts'),
    ])
  const { joinerNamespace: namespace } = options
  process.exitCode = await exitCodeOf(() =>
    withCluster(options, async (client) => {
      const picture = await readWhole({ client, namespace, now: Date.now() }, { quarantined })
      const isPart = noteGaps(picture)
      return Math.max(isPart, await work(new QuarantineStore({ client, namespace }), picture.quarantined))
    }),
  )
}

async function clear(
  store: QuarantineStore,
  entries: readonly QuarantineEntry[],
  { object, ...options }: Options & { readonly object: string | undefined },
): Promise<number> {
  const cleared = entries.filter(({ id }) => object === undefined || id === object)
  if (object !== undefined && cleared.length === 0) {
    console.error(`${object} is not quarantined; see joiner blocked objects list`)
    return 1
  }
  const isDry = options.dryRun === true
  if (!isDry) {
    // Entries that cannot be read go with it.
    await store.read()
    await store.remove(cleared.map(({ id }) => id))
  }
  const done = `${counted(cleared.length, 'object')} ${isDry ? 'would be ' : ''}cleared`
  return show(cleared, options, cleared.length > 0 ? done : undefined)
}

async function show(entries: readonly QuarantineEntry[], { output }: Options, done?: string): Promise<number> {
  await print(output, {
    json: entries.map(quarantineJson),
    document: () => [[entries.length === 0 ? 'nothing is quarantined' : quarantineTable(entries), done]],
  })
  return 0
}

function quarantineTable(entries: readonly QuarantineEntry[]): Table {
  return {
    header: ['OBJECT', 'SINCE', 'UNTIL', 'CAUSE'],
    rows: entries.map(({ id, sinceMs, untilMs, cause }) => [id, timeText(sinceMs), timeText(untilMs), cause]),
  }
}
