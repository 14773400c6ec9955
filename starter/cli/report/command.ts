import { type Command, InvalidArgumentError, Option } from 'commander'
import { temporalOptions } from '../operate/temporal-options.ts'
import { sinceOption } from '../shared/since.ts'
import type { ReportOptions } from './run.ts'

/** Adds what `report` takes. */
export function registerReport(command: Command): void {
  sinceOption(temporalOptions(command), '7d')
    .addOption(
      new Option('-o, --output <format>', 'output format').choices(['markdown', 'html', 'json']).default('markdown'),
    )
    .option('--output-file <file>', 'file to write instead of standard output')
    .option('--prometheus <url>', 'address of a Prometheus API, for the time that pods waited', prometheusUrl)
    .option(
      '--prometheus-match <label=value>',
      "label that series must have, where Prometheus has several clusters' metrics; repeatable",
      matcher,
      {},
    )
    .addHelpText(
      'after',
      `
Nothing is changed. Markdown can be pasted into an issue, HTML is one file. Nodes come from Temporal, which keeps lifecycles that ended for the
retention of its namespace (docs/report.md); the report says how far it goes.

Examples:
  joiner history report
  joiner history report --since 30d -o html --output-file october.html
  joiner history report --since 12h --prometheus http://127.0.0.1:9090

Exit code: 0, 1 when Temporal or the named Prometheus does not answer, 2 for options that cannot be read.`,
    )
    .action(async (options: ReportOptions) => {
      const { report } = await import('./run.ts')
      process.exitCode = await report(options)
    })
}

function prometheusUrl(text: string): URL {
  const url = URL.parse(text)
  if (url === null || !['http:', 'https:'].includes(url.protocol))
    throw new InvalidArgumentError('Write an address such as http://127.0.0.1:9090.')
  if (url.username !== '' || url.password !== '')
    throw new InvalidArgumentError('It cannot log in; make it reachable, for example by kubectl port-forward.')
  return url
}

function matcher(text: string, before: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const [, label, value] = /^([a-zA-Z_][a-zA-Z0-9_]*)=(.+)$/s.exec(text) ?? []
  if (label === undefined || value === undefined)
    throw new InvalidArgumentError('Write a label and its value, such as cluster=prod.')
  return { ...before, [label]: value }
}
