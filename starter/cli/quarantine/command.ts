import { type Command, Option } from 'commander'
import type { QuarantineEntry } from '../../../core/quarantine.ts'
import { kubeconfig } from '../shared/kubeconfig.ts'
import { counted } from '../simulate/words.ts'
import { quarantineJson, quarantineTable } from './table.ts'

interface Options {
  readonly namespace: string
  readonly output: 'text' | 'json'
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
  return command
    .option('--namespace <name>', "Joiner's namespace", process.env['JOINER_NAMESPACE'] ?? 'joiner')
    .addOption(new Option('--output <format>', 'output format').choices(['text', 'json']).default('text'))
}

type Store = import('../../../activities/scheduler-thread/quarantine-store.ts').QuarantineStore

async function run({ namespace }: Options, work: (store: Store) => Promise<void>): Promise<void> {
  // Loaded late: the client of Kubernetes would be most of the time of --help.
  const [{ KubernetesClient }, { QuarantineStore }] = await Promise.all([
    import('../../../activities/kubernetes/client/client.ts'),
    import('../../../activities/scheduler-thread/quarantine-store.ts'),
  ])
  try {
    const client = await KubernetesClient.load(kubeconfig())
    try {
      await work(new QuarantineStore(client, namespace))
    } finally {
      await client.close()
    }
  } catch (error) {
    fail(
      `${error instanceof Error ? error.message : String(error)}; check KUBECONFIG and --namespace "${namespace}"`,
      1,
    )
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
  show(cleared, options)
  if (options.output === 'text' && cleared.length > 0) console.log(`${counted(cleared.length, 'object')} cleared`)
}

function show(entries: readonly QuarantineEntry[], { output }: Options): void {
  if (output === 'json') console.log(JSON.stringify(entries.map(quarantineJson), null, 2))
  else console.log(entries.length === 0 ? 'nothing is quarantined' : quarantineTable(entries))
}

function fail(message: string, code: number): void {
  console.error(message)
  process.exitCode = code
}
