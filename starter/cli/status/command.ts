import { type Command, InvalidArgumentError, Option } from 'commander'
import { withoutSweeps } from '../../../core/workflow-queries.ts'
import type { Part } from '../../document/document.ts'
import { note, print } from '../../document/print.ts'
import { missingLines } from '../../picture/gaps.ts'
import { type TemporalOptions, temporalOptions } from '../operate/temporal-options.ts'
import { type OutputFormat, outputOption, watchOption } from '../shared/options.ts'

interface Options extends TemporalOptions {
  readonly temporalUi?: string
  readonly output: OutputFormat
}

/** Adds what `status` takes. */
export function registerStatus(command: Command): void {
  watchOption(outputOption(temporalOptions(command)))
    .addOption(temporalUiOption())
    .addHelpText(
      'after',
      `
Nothing is changed. NodeClaims are counted as the cluster has them, also while Temporal is away; prices a month, and the pauses of a loop that does
not answer, are read from the cluster's ConfigMaps.
Exit code: 0 when nothing is broken, 1 when something is or could not be read (prices alone are no reason), 2 for options that cannot be read.`,
    )
    .action(async (options: Options) => {
      process.exitCode = await status(options)
    })
}

async function status(options: Options): Promise<number> {
  // Loaded late: the clients of Temporal and Kubernetes would be most of the time of --help.
  const [
    { openTemporal },
    { temporalMissing, temporalStatus },
    { statusDocument, statusJson },
    { isWell, statusParts },
    { pictureOf },
    { readPicture },
  ] = await Promise.all([
    import('../operate/temporal-access.ts'),
    import('../../picture/from-temporal.ts'),
    import('./table.ts'),
    import('./status.ts'),
    import('../access/cluster.ts'),
    import('../../picture/picture.ts'),
  ])
  const now = Date.now()
  const [opened, known] = await Promise.all([openTemporal(options), pictureOf(options, statusParts, now)])
  const { nodeClaims: claims } = known
  if (opened.kind === 'problem' && (opened.exitCode === 2 || claims === undefined)) {
    console.error(opened.message)
    return opened.exitCode
  }
  const isOpen = opened.kind === 'open'
  const again = async () => (await pictureOf(options, { claims: statusParts.nodeClaims }, now)).claims
  const report = isOpen
    ? {
        cluster: opened.access.cluster,
        ...(await readPicture({ access: opened.access, now }, temporalStatus(claims, again))),
      }
    : { missing: [temporalMissing(opened.message)] }
  if (isOpen) await opened.close()
  // What keeps from Temporal has lines to copy.
  const unread = isOpen ? missingLines(report.missing) : [opened.message]
  note(...[...unread, ...missingLines(known.missing)].flatMap((text) => `not read: ${text}`.split('\n')))
  const list = isOpen ? uiList(opened.access, options.temporalUi) : undefined
  const json = { ...statusJson(report, known, now), temporal: list ?? null }
  await print(options.output, {
    json,
    document: () => [...statusDocument(report, known, now), list === undefined ? [] : [uiListPart(list)]],
  })
  return isWell(report, known) ? 0 : 1
}

/** The list of Joiner's workflows in the Temporal UI, without its sweeps. */
interface UiList {
  readonly query: string
  /** Unset when the address of the UI is not known. */
  readonly url?: string
}

/** `--temporal-ui`. */
export function temporalUiOption(): Option {
  return new Option('--temporal-ui <url>', 'address of the Temporal UI, for links to workflows')
    .env('JOINER_TEMPORAL_UI')
    .argParser(uiAddress)
}

function uiAddress(text: string): string {
  // Set to nothing by a chart.
  if (text === '') return ''
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.search !== '' || url.hash !== '')
    throw new InvalidArgumentError('It has to be an address such as https://temporal.example.com.')
  return url.href.replace(/\/+$/, '')
}

/** Returns the list of a cluster's nodes, commands and loops. `ui`: address of the UI. */
export function uiList(
  { namespace, cluster }: { readonly namespace: string; readonly cluster: string },
  ui?: string,
): UiList {
  const query = withoutSweeps(cluster)
  if (!ui) return { query }
  return {
    query,
    url: `${ui}/namespaces/${encodeURIComponent(namespace)}/workflows?query=${encodeURIComponent(query)}`,
  }
}

/** The list in words. */
export function uiListPart({ query, url }: UiList): Part {
  return url === undefined
    ? {
        title: 'in the Temporal UI, nodes, commands and loops without sweeps (--temporal-ui URL makes a link of it):',
        items: [query],
      }
    : { title: 'nodes, commands and loops in the Temporal UI, to save as a view:', items: [url] }
}
