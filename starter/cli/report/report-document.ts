import type { ReportFacts } from '../../../core/history/report/report.ts'
import { timeText } from '../../../core/values/time.ts'
import { type Document, foreign, type Part } from '../../document/document.ts'
import { counted, hoursText, latency, usd } from '../../document/words.ts'
import { disruptionSection, interruptionsSection, waitsSection } from './disruption-sections.ts'
import { launchesSection, nodesSection, refusalsSection, usdText } from './nodes-sections.ts'
import type { Measured } from './prometheus.ts'

export interface Reported {
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
