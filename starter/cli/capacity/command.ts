import { type Command, Option } from 'commander'
import { liveMarks, type Mark, type Marks, type SizeUse } from '../../../activities/azure/capacity/mark.ts'
import type { MarkStore } from '../../../activities/azure/capacity/mark-store.ts'
import { timeText } from '../../../core/values/time.ts'
import type { Part, Table } from '../../document/document.ts'
import { print } from '../../document/print.ts'
import { ago, counted } from '../../document/words.ts'
import {
  type ClusterOptions,
  clusterOptions,
  type ListFormat,
  listOptions,
  outputOption,
  usage,
} from '../shared/options.ts'

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

const header = ['UNAVAILABLE', 'CAPACITY', 'ZONES', 'REASON', 'UNTIL', 'LEFT', 'CAUSE']

/** The marks for people: those of several zones that say the same are one line. Zone 0 is the region without a zone. */
export function marksTable(marks: Iterable<Mark>, nowMs: number): Table {
  const groups = Map.groupBy(marks, (mark) =>
    JSON.stringify([what(mark), capacityTypeOf(mark), mark.reason, mark.untilMs]),
  )
  const rows = [...groups.values()].map((group) => {
    const [first] = group as [Mark]
    const zones = group.flatMap((mark) => (isEverywhere(mark) ? ['all'] : [mark.zone]))
    return [
      what(first),
      capacityTypeOf(first),
      [...new Set(zones)].sort().join(', '),
      first.reason,
      timeText(first.untilMs),
      ago(first.untilMs - nowMs),
      first.cause ?? '',
    ]
  })
  const columns = rows.some((row) => row.at(-1) !== '') ? header.length : header.length - 1
  const sorted = rows.sort((a, b) => (a.join() < b.join() ? -1 : 1))
  return { header: header.slice(0, columns), rows: sorted.map((row) => row.slice(0, columns)) }
}

function what(mark: Mark): string {
  if (mark.kind === 'allSpot') return 'all spot'
  if (mark.kind === 'offering') return mark.instanceType
  if (mark.kind === 'size') return `${mark.instanceType}${useText(mark)}`
  if (mark.kind === 'class') return `AKSNodeClass ${mark.nodeClass}`
  if (mark.kind === 'image') return `image ${shortId(mark.image)}, AKSNodeClass ${mark.nodeClass}`
  return mark.minVCpus < 0 ? `${mark.family}, all sizes` : `${mark.family}, ${mark.minVCpus} vCPUs and more`
}

const isEverywhere = (mark: Mark): mark is Extract<Mark, { readonly kind: 'allSpot' | 'size' | 'image' | 'class' }> =>
  mark.kind === 'allSpot' || mark.kind === 'size' || mark.kind === 'image' || mark.kind === 'class'

function useText({ image, nodeClass }: SizeUse): string {
  if (nodeClass !== undefined) return `, AKSNodeClass ${nodeClass}`
  return image === undefined ? '' : `, image ${shortId(image)}`
}

const shortId = (image: string) => image.split('/').slice(-3).join('/')

function capacityTypeOf(mark: Mark): string {
  if (mark.kind === 'size' || mark.kind === 'image' || mark.kind === 'class') return 'all'
  return mark.kind === 'allSpot' ? 'spot' : mark.capacityType
}

/** Which marks are meant; what is not named may be anything. */
export interface MarkFilter {
  readonly instanceType?: string
  readonly family?: string
  /** A zone label; `0` is the region without a zone. */
  readonly zone?: string
  readonly capacityType?: string
  readonly nodeClass?: string
}

/**
 * The marks that a filter names. A size is offered again only when its family is, so the family's marks of the places where it was refused
 * go with it. The mark on all spot has neither size, family nor zone. The case of sizes and families does not matter.
 */
export function chosenMarks(marks: Marks, filter: MarkFilter): readonly Mark[] {
  const meant = [...marks.values()].filter((mark) => isMeant(mark, filter))
  const places = new Set(meant.flatMap((mark) => (mark.kind === 'offering' ? [placeOf(mark)] : [])))
  const families = [...marks.values()].filter((mark) => mark.kind === 'family' && places.has(placeOf(mark)))
  return [...new Set([...meant, ...families])]
}

function isMeant(mark: Mark, { nodeClass, ...filter }: MarkFilter): boolean {
  const isOfClass = nodeClass === undefined || ('nodeClass' in mark && mark.nodeClass === nodeClass)
  return isOfClass && isOfPlace(mark, filter)
}

function isOfPlace(mark: Mark, { instanceType, family, zone, capacityType }: Omit<MarkFilter, 'nodeClass'>): boolean {
  if (mark.kind === 'allSpot') {
    const names = [instanceType, family, zone].some((field) => field !== undefined)
    return !names && (capacityType === undefined || capacityType === 'spot')
  }
  if (mark.kind === 'image' || mark.kind === 'class')
    return [instanceType, family, zone, capacityType].every((field) => field === undefined)
  const isSize = instanceType === undefined || mark.kind === 'family' || isSameName(mark.instanceType, instanceType)
  // A size that does not work anywhere is not offered in any zone.
  if (mark.kind === 'size') return isSize && family === undefined
  if (zone !== undefined && zone !== mark.zone) return false
  if (capacityType !== undefined && capacityType !== mark.capacityType) return false
  if (family !== undefined && family.toLowerCase() !== mark.family.toLowerCase()) return false
  if (instanceType === undefined) return true
  return mark.kind === 'offering' && isSize
}

const isSameName = (one: string, other: string) => one.toLowerCase() === other.toLowerCase()

function placeOf(mark: Extract<Mark, { readonly kind: 'offering' | 'family' }>): string {
  return `${mark.capacityType}/${mark.zone}/${mark.family.toLowerCase()}`
}
