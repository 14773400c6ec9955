import type { Command } from 'commander'
import { note, print } from '../../document/print.ts'
import { type TemporalOptions, temporalOptions } from '../operate/temporal-options.ts'
import { type OutputFormat, outputOption } from '../shared/options.ts'
import { temporalUiOption, uiList, uiListPart } from './ui-link.ts'

interface Options extends TemporalOptions {
  readonly temporalUi?: string
  readonly output: OutputFormat
}

/** Adds what `status` takes. */
export function registerStatus(command: Command): void {
  outputOption(temporalOptions(command))
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
    { problemsOf, statusParts },
    { pictureOf, readPicture },
    { missingLines },
  ] = await Promise.all([
    import('../operate/temporal-access.ts'),
    import('../../picture/from-temporal.ts'),
    import('./table.ts'),
    import('./status.ts'),
    import('../../picture/picture.ts'),
    import('../../picture/missing.ts'),
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
  const json = { ...statusJson(report, known), temporal: list ?? null }
  await print(options.output, {
    json,
    document: () => [...statusDocument(report, known, now), list === undefined ? [] : [uiListPart(list)]],
  })
  // Prices adorn the answer: without them a column is unknown.
  const lacking = known.missing.filter(({ what }) => what !== statusParts.prices.what)
  return problemsOf(report, known).length + report.missing.length + lacking.length === 0 ? 0 : 1
}
