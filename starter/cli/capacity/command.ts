import { type Command, Option } from 'commander'
import { liveMarks, type Mark, type Marks } from '../../../activities/azure/capacity/mark.ts'
import type { MarkStore } from '../../../activities/azure/capacity/mark-store.ts'
import type { Part } from '../../document/document.ts'
import { print } from '../../document/print.ts'
import { counted } from '../../document/words.ts'
import {
  type ClusterOptions,
  clusterOptions,
  type ListFormat,
  listOptions,
  outputOption,
  usage,
} from '../shared/options.ts'
import { chosenMarks, type MarkFilter, marksTable } from './table.ts'

interface Options extends MarkFilter, ClusterOptions {
  readonly output: ListFormat
}

/** Adds what `capacity` takes, which shows and clears what Azure refused. */
export function registerCapacity(command: Command): void {
  common(listOptions(command.command('list')))
    .description('List excluded offerings with the refusal and the end')
    .action((options: Options) => run(options, (marks) => list(marks, options)))
  common(outputOption(command.command('clear')))
    .description('Offer excluded offerings again now, for example after a quota increase')
    .option('--all', 'clear everything')
    .option('--dry-run', 'show what would be cleared')
    .addHelpText(
      'after',
      `
Options together mean what all of them name. Every replica offers again at once what was cleared; what Azure refuses again is left out again.

Examples:
  joiner blocked capacity clear --family standardDSv5Family --capacity-type on-demand
  joiner blocked capacity clear --all`,
    )
    .action((options: Options & { readonly all?: true; readonly dryRun?: true }) => {
      const named = [options.instanceType, options.family, options.zone, options.capacityType, options.nodeClass]
      const isNamed = named.some((value) => value !== undefined)
      if (isNamed === (options.all === true)) {
        process.exitCode = usage(
          'name what to clear by --instance-type, --family, --zone, --capacity-type or --node-class; or all of it by --all',
        )
        return undefined
      }
      return run(options, (marks, store) => clear(marks, store, options))
    })
}

function common(command: Command): Command {
  return clusterOptions(command)
    .option('--instance-type <name>', 'limit to this size, such as Standard_D4s_v5')
    .option('--family <name>', 'limit to this quota family, such as standardDSv5Family')
    .option('--node-class <name>', 'limit to what Azure refused to this AKSNodeClass alone')
    .option('--zone <label>', 'limit to this zone, such as westus2-1; 0 is the region without zones')
    .addOption(
      new Option('--capacity-type <type>', 'limit to this capacity type').choices(['on-demand', 'spot', 'reserved']),
    )
}

/** Does the work with the marks that are in force. What of them cannot be read is noted. */
async function run(options: Options, work: (marks: Marks, store: MarkStore) => Promise<void>): Promise<void> {
  const [{ exitCodeOf, withCluster }, { MarkStore }, kept, { noteGaps, readWhole }] = await Promise.all([
    import('../access/cluster.ts'),
    import('../../../activities/azure/capacity/mark-store.ts'),
    import('../../picture/kept.ts'),
    import('../../picture/picture.ts'),
  ])
  const { joinerNamespace: namespace } = options
  process.exitCode = await exitCodeOf(() =>
    withCluster(options, async (client) => {
      const picture = await readWhole({ client, namespace, now: Date.now() }, { marks: kept.marks })
      await work(liveMarks(picture.marks, Date.now()), new MarkStore(client, namespace, Date.now))
      return noteGaps(picture)
    }),
  )
}

async function list(marks: Marks, options: Options): Promise<void> {
  const live = chosenMarks(marks, options)
  await show(live, options, live.length === 0 ? ['nothing is left out'] : [])
}

async function clear(live: Marks, store: MarkStore, options: Options & { readonly dryRun?: true }): Promise<void> {
  const isDry = options.dryRun === true
  let cleared: readonly Mark[] = []
  let kept: Marks = new Map()
  const decide = (marks: Marks) => {
    cleared = chosenMarks(marks, options)
    const gone = new Set(cleared)
    kept = new Map([...marks].filter(([, mark]) => !gone.has(mark)))
    return kept
  }
  if (isDry) decide(live)
  else await store.change(undefined, decide)
  const families = [...kept.values()].filter(({ kind }) => kind === 'family').length
  await show(cleared, options, [
    cleared.length > 0
      ? `${counted(cleared.length, 'mark')} ${isDry ? 'would be ' : ''}cleared`
      : 'no exclusions match',
    options.instanceType !== undefined && families > 0
      ? `${counted(families, 'mark')} on families stay; they leave out larger sizes as well (joiner blocked capacity list)`
      : undefined,
  ])
}

function show(marks: readonly Mark[], { output }: Options, remarks: readonly Part[]): Promise<void> {
  const shown = marks.map(({ untilMs, ...mark }) => ({ ...mark, until: new Date(untilMs).toISOString() }))
  const table = marks.length === 0 ? undefined : marksTable(marks, Date.now())
  return print(output, { json: shown, document: () => [[table, ...remarks]] })
}
