import type { Command } from 'commander'
import type { NoteFaults } from '../../../api/kept/document.ts'
import type { QuarantineEntry } from '../../../core/quarantine.ts'
import { print } from '../../document/print.ts'
import { counted } from '../../document/words.ts'
import { type ClusterOptions, clusterOptions, type OutputFormat, outputOption } from '../shared/options.ts'
import { quarantineJson, quarantineTable } from './table.ts'

interface Options extends ClusterOptions {
  readonly output: OutputFormat
}

/** Adds `quarantine`, which shows and clears what is left out of planning because it crashed passes. */
export function registerQuarantine(program: Command): void {
  const quarantine = program
    .command('quarantine')
    .description('List objects excluded from planning because they crashed the scheduler, and clear them')
  common(quarantine.command('list'))
    .description('List quarantined objects with cause and end')
    .action((options: Options) => run(options, async (store) => show(await read(store), options)))
  common(quarantine.command('clear'))
    .description('Plan quarantined objects again, for example after an upgrade')
    .argument('[object]', 'kind, namespace and name, as in Pod/default/web-1; without a namespace where there is none')
    .option('--all', 'all of them')
    .addHelpText(
      'after',
      `
Planners read it within 10 seconds. An object that crashes the scheduler twice again is quarantined again.
Exit code: 0 when it is cleared, 1 when the object is not quarantined or the cluster cannot be asked, 2 for options that cannot be read.`,
    )
    .action((object: string | undefined, options: Options & { readonly all?: true }) => {
      if ((object === undefined) !== (options.all === true))
        return fail('name one object, such as Pod/default/web-1, or clear all of them by --all', 2)
      return run(options, (store) => clear(store, object, options))
    })
}

function common(command: Command): Command {
  return outputOption(clusterOptions(command))
}

type Store = import('../../../activities/scheduler-thread/quarantine-store.ts').QuarantineStore

async function run(options: Options, work: (store: Store) => Promise<void>): Promise<void> {
  // Loaded late: the client of Kubernetes would be most of the time of --help.
  const [{ withCluster }, { unanswered }, { QuarantineStore }, { faultText }] = await Promise.all([
    import('../access/cluster.ts'),
    import('../../picture/missing.ts'),
    import('../../../activities/scheduler-thread/quarantine-store.ts'),
    import('../../../api/kept/document.ts'),
  ])
  try {
    const { namespace } = options
    const note: NoteFaults = (map, faults) => {
      for (const fault of faults) console.error(`not read: ${faultText(map, namespace, fault)}`)
    }
    await withCluster(options, (client) => work(new QuarantineStore({ client, namespace, note })))
  } catch (error) {
    fail(unanswered(error), 1)
  }
}

async function read(store: Store): Promise<readonly QuarantineEntry[]> {
  return [...(await store.read()).values()].filter(({ untilMs }) => untilMs > Date.now())
}

async function clear(store: Store, object: string | undefined, options: Options): Promise<void> {
  const cleared = (await read(store)).filter(({ id }) => object === undefined || id === object)
  if (object !== undefined && cleared.length === 0)
    return fail(`${object} is not quarantined; see joiner quarantine list`, 1)
  await store.remove(cleared.map(({ id }) => id))
  await show(cleared, options, cleared.length > 0 ? `${counted(cleared.length, 'object')} cleared` : undefined)
}

function show(entries: readonly QuarantineEntry[], { output }: Options, done?: string): Promise<void> {
  return print(output, {
    json: entries.map(quarantineJson),
    document: () => [[entries.length === 0 ? 'nothing is quarantined' : quarantineTable(entries), done]],
  })
}

function fail(message: string, code: number): void {
  console.error(message)
  process.exitCode = code
}
