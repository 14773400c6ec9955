import type { Command } from 'commander'
import { type TemporalOptions, temporalOptions, whereToRun } from '../operate/temporal-options.ts'
import { type OutputFormat, outputOption } from '../shared/options.ts'
import { print } from '../shared/output.ts'
import { temporalUiOption, uiList, uiListText } from './ui-link.ts'

interface Options extends TemporalOptions {
  readonly temporalUi?: string
  readonly output: OutputFormat
}

/** Adds `status`. */
export function registerStatus(program: Command): void {
  outputOption(temporalOptions(program.command('status')))
    .addOption(temporalUiOption())
    .description('Show loops, pauses, disruption commands, nodes by phase, and problems')
    .addHelpText(
      'after',
      `
Nothing is changed. Prices a month, and the pauses of a loop that does not answer, are read from the cluster's ConfigMaps: they need a kubeconfig.
${whereToRun}
Exit code: 0 when nothing is broken, 1 when something is or Temporal cannot be asked, 2 for options that cannot be read.`,
    )
    .action(async (options: Options) => {
      process.exitCode = await status(options)
    })
}

async function status(options: Options): Promise<number> {
  // Loaded late: the clients of Temporal and Kubernetes would be most of the time of --help.
  const [{ withTemporal }, { readCluster, readStatus }, { statusJson, statusText }, { problemsOf }] = await Promise.all(
    [import('../operate/temporal-access.ts'), import('./read.ts'), import('./table.ts'), import('./status.ts')],
  )
  return withTemporal(options, async (access) => {
    const now = Date.now()
    const [report, known] = await Promise.all([readStatus(access, now), readCluster(options, now)])
    const list = uiList(access, options.temporalUi)
    const json = { ...statusJson(report, known), temporal: list }
    await print(options.output, json, () => `${statusText(report, known, now)}\n\n${uiListText(list)}`)
    return problemsOf(report, known).length === 0 ? 0 : 1
  })
}
