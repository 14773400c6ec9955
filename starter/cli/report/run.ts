import { writeFile } from 'node:fs/promises'
import { reportOf } from '../../../core/history/report/report.ts'
import { piecesOf } from '../../document/print.ts'
import { readHistory } from '../../history/lives.ts'
import { withTemporal } from '../operate/temporal-access.ts'
import { CommandError } from '../shared/command-error.ts'
import { reportJson } from './json.ts'
import type { ReportFormat, ReportOptions } from './options.ts'
import { type Measured, measuredWaits } from './prometheus.ts'
import { type Reported, reportDocument } from './report-document.ts'

const listMs = 60_000

/** Reads, sums up and prints or writes. Returns the exit code. */
export async function report({
  since,
  output,
  outputFile,
  prometheus,
  prometheusMatch,
  ...where
}: ReportOptions): Promise<number> {
  return withTemporal(where, async ({ client, connection, cluster }) => {
    const nowMs = Date.now()
    const history = await connection.withDeadline(nowMs + listMs, () =>
      readHistory(client, { cluster, sinceMs: since, nowMs }),
    )
    const measured: Measured =
      prometheus === undefined
        ? { kind: 'unasked' }
        : // Prometheus has a retention of its own, so that of Temporal does not limit it.
          await measuredWaits({ url: prometheus, match: prometheusMatch }, { sinceMs: since, untilMs: nowMs })
    const text = await reportText({ cluster, facts: reportOf(history), askedMs: since, measured }, output)
    if (outputFile === undefined) process.stdout.write(text)
    else await writeTo(outputFile, text)
    if (measured.kind !== 'failed') return 0
    console.error(`report: --prometheus: ${measured.why}; the time that all pods waited is missing`)
    return 1
  })
}

/** Errors: `CommandError` that names the file. */
async function writeTo(file: string, text: string): Promise<void> {
  try {
    await writeFile(file, text)
  } catch (error) {
    throw new CommandError(`--output-file ${file}: cannot be written: ${(error as Error).message}`)
  }
}

/** Returns a report in a format, with a line feed at its end. */
export async function reportText(reported: Reported, format: ReportFormat): Promise<string> {
  return [...(await piecesOf(format, { json: reportJson(reported), document: () => reportDocument(reported) }))].join(
    '',
  )
}
