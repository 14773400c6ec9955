import { writeFile } from 'node:fs/promises'
import type { LaunchLatency } from '../../../core/history/report/launches.ts'
import { type ReportFacts, reportOf } from '../../../core/history/report/report.ts'
import type { Spread } from '../../../core/history/report/spread.ts'
import { timeText } from '../../../core/values/time.ts'
import { type Document, foreign, type Part } from '../../document/document.ts'
import { piecesOf } from '../../document/print.ts'
import { CommandError } from '../../document/reported-error.ts'
import { counted, hoursText, latency, usd } from '../../document/words.ts'
import { historyOf } from '../../picture/history.ts'
import { withTemporal } from '../operate/temporal-access.ts'
import type { TemporalOptions } from '../operate/temporal-options.ts'
import { disruptionSection, interruptionsSection, waitsSection } from './disruption-sections.ts'
import { launchesSection, nodesSection, refusalsSection, usdText } from './nodes-sections.ts'
import { type Measured, measuredWaits } from './prometheus.ts'

/** Reads, sums up and prints or writes. Returns the exit code. */
export async function report(options: ReportOptions): Promise<number> {
  const { since, output, outputFile, prometheus, prometheusMatch, ...where } = options
  return withTemporal(where, async (access) => {
    const nowMs = Date.now()
    const history = await historyOf(access, { sinceMs: since, nowMs })
    const measured: Measured =
      prometheus === undefined
        ? { kind: 'unasked' }
        : // Prometheus has a retention of its own, so that of Temporal does not limit it.
          await measuredWaits({ url: prometheus, match: prometheusMatch }, { sinceMs: since, untilMs: nowMs })
    const text = await reportText(
      { cluster: access.cluster, facts: reportOf(history), askedMs: since, measured },
      output,
    )
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

type ReportFormat = 'markdown' | 'html' | 'json'

export interface ReportOptions extends TemporalOptions {
  /** Epoch ms. */
  readonly since: number
  readonly output: ReportFormat
  readonly outputFile?: string
  readonly prometheus?: URL
  readonly prometheusMatch: Readonly<Record<string, string>>
}

/** Returns the report for programs: times in RFC 3339, durations in seconds, money in USD. */
function reportJson({ cluster, facts, askedMs, measured }: Reported) {
  const { sinceMs, untilMs, retentionMs, latencies, refusals, undone, interruptions, plannedWaits, ...counts } = facts
  return {
    cluster,
    asked: iso(askedMs),
    since: iso(sinceMs),
    until: iso(untilMs),
    // Null: Temporal does not say.
    retentionHours: retentionMs === undefined ? null : retentionMs / 3_600_000,
    ...counts,
    latencies: {
      all: latencies.all === undefined ? null : latencyJson(latencies.all).steps,
      rows: latencies.rows.map(latencyJson),
    },
    refusals,
    undone: undone.map(({ lastMs, ...row }) => ({ ...row, last: iso(lastMs) })),
    interruptions: interruptions.map(({ noticedMs, goneMs, replacement, ...row }) => ({
      ...row,
      noticed: iso(noticedMs),
      gone: isoOrNull(goneMs),
      replacement: replacement && { nodeClaim: replacement.nodeClaim, ready: isoOrNull(replacement.readyMs) },
    })),
    podWaits: {
      plannedOntoNewNodes: plannedWaits === undefined ? null : inSeconds(plannedWaits),
      measured: measuredJson(measured),
    },
  }
}

function latencyJson({ steps, ...row }: LaunchLatency) {
  return { ...row, steps: Object.fromEntries(Object.entries(steps).map(([step, spread]) => [step, inSeconds(spread)])) }
}

function inSeconds({ count, min, p50, p90, p99, max }: Spread): Spread {
  return { count, min: min / 1000, p50: p50 / 1000, p90: p90 / 1000, p99: p99 / 1000, max: max / 1000 }
}

function measuredJson(measured: Measured) {
  if (measured.kind === 'unasked') return null
  if (measured.kind === 'failed') return { error: measured.why }
  return measured.waits.map(({ metric, what, pods, averageMs, p50Ms, p90Ms, p99Ms }) => ({
    metric,
    what,
    pods,
    average: secondsOrNull(averageMs),
    p50: secondsOrNull(p50Ms),
    p90: secondsOrNull(p90Ms),
    p99: secondsOrNull(p99Ms),
  }))
}

function secondsOrNull(ms: number | undefined): number | null {
  return ms === undefined ? null : ms / 1000
}

function isoOrNull(ms: number | undefined): string | null {
  return ms === undefined ? null : iso(ms)
}

function iso(ms: number): string {
  return new Date(ms).toISOString()
}

interface Reported {
  readonly cluster: string
  readonly facts: ReportFacts
  /** Epoch ms: the beginning that was asked for. */
  readonly askedMs: number
  readonly measured: Measured
}

/** Returns the report for people. The same facts give the same document. */
export function reportDocument({ cluster, facts, askedMs, measured }: Reported): Document {
  return [
    [
      {
        heading: ['Joiner report: ', foreign(cluster), `, ${timeText(facts.sinceMs)} to ${timeText(facts.untilMs)}`],
        isOfAll: true,
      },
      { items: [...summaryOf(facts), ...coverageOf(facts, askedMs)] },
    ],
    nodesSection(facts),
    launchesSection(facts),
    refusalsSection(facts),
    disruptionSection(facts),
    interruptionsSection(facts),
    waitsSection(facts, measured),
  ]
}

function summaryOf(facts: ReportFacts): readonly string[] {
  const { nodes, launches, latencies, refusals, methods, interruptionCounts: interrupted } = facts
  const total = latencies.all?.steps.total
  const sum = (of: (row: (typeof methods)[number]) => number) => methods.reduce((all, row) => all + of(row), 0)
  const failed = refusals.rows.reduce((all, { times }) => all + times, 0)
  return [
    `Nodes: ${nodes.atStart} at the start, ${nodes.created} created, ${nodes.ended} ended, ${nodes.atEnd} at the end; ${hoursText(nodes.nodeHours)} node-hours, ${usdText(nodes)} USD`,
    `Launches: ${launches.ready} of ${counted(launches.created, 'NodeClaim')} became ready, ${launches.gaveUp} gave up` +
      (total === undefined
        ? ''
        : `; created to ready p50 ${latency(total.p50)}, p90 ${latency(total.p90)}, p99 ${latency(total.p99)}`),
    `Capacity failures: ${failed === 0 ? 'none' : `${counted(failed, 'launch', 'launches')} failed, for ${counted(refusals.rows.length, 'offering and reason', 'offerings and reasons')}`}`,
    `Disruption: ${counted(
      sum(({ done }) => done),
      'command',
    )} done, ${sum(({ undone }) => undone)} undone; ${usd(sum(({ saved }) => saved))} USD saved`,
    `Interruptions: ${counted(interrupted.nodes, 'node')}${interrupted.nodes === 0 ? '' : `, ${interrupted.inTime} with a replacement in time`}`,
  ]
}

/** What the history does not contain. */
function coverageOf({ sinceMs, retentionMs, unreadable }: ReportFacts, askedMs: number): readonly Part[] {
  const isShort = sinceMs > askedMs && retentionMs !== undefined
  return [
    isShort
      ? `Incomplete: asked for since ${timeText(askedMs)}, but Temporal keeps ended lifecycles for ${counted(Math.round(retentionMs / 3_600_000), 'hour')} in this namespace`
      : undefined,
    retentionMs === undefined
      ? 'Temporal did not say how long it keeps ended lifecycles: the beginning may be incomplete'
      : undefined,
    unreadable === 0
      ? undefined
      : `Incomplete: ${counted(unreadable, 'lifecycle has', 'lifecycles have')} no readable facts: terminated, begun under another version, or encrypted with a key that is missing here (JOINER_TEMPORAL_ENCRYPTION_KEYS)`,
  ]
}
