import type { LaunchLatency } from '../../../core/history/report/launches.ts'
import type { Spread } from '../../../core/history/report/spread.ts'
import type { Measured } from './prometheus.ts'
import type { Reported } from './report-document.ts'

/** Returns the report for programs: times in RFC 3339, durations in seconds, money in USD. */
export function reportJson({ cluster, facts, askedMs, measured }: Reported) {
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
  return {
    ...row,
    steps: Object.fromEntries(Object.entries(steps).map(([step, spread]) => [step, inSeconds(spread)])),
  }
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
