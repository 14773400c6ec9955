import type { Condition, NodeClaim } from '../../../core/objects.ts'
import { timeText } from '../../../core/values/time.ts'
import type { LifecycleStatus } from '../../../workflows/messages.ts'
import { type Document, type Part, section } from '../../document/document.ts'
import { ago, shortened } from '../../document/words.ts'
import type { EventFacts } from '../../picture/events.ts'
import type { NodeReport } from '../why/node-report.ts'
import { causeParts, eventSection } from '../why/node-text.ts'
import { answerOf, type LifecycleFacts, type NodeRow, remediesOf } from './report.ts'

const longest = 90
const mostEvents = 10

/** All nodes for people. `now`: epoch ms. */
export function listTable(rows: readonly NodeRow[], now: number): Part {
  if (rows.length === 0) return 'no NodeClaims'
  return {
    header: ['NODECLAIM', 'NODE', 'NODEPOOL', 'PHASE', 'SINCE', 'ATTEMPT', 'WAITS FOR'],
    drop: ['NODEPOOL', 'ATTEMPT', 'NODE'],
    rows: rows.map((row) => [
      row.nodeClaim,
      row.node,
      row.nodePool,
      row.phase,
      row.sinceMs === undefined ? undefined : ago(now - row.sinceMs),
      row.attempt,
      shortened(waitText(row, now).replaceAll(/\s+/g, ' '), longest),
    ]),
  }
}

/** What it waits for, what failed last, and what holds it, on one line. */
function waitText(row: NodeRow, now: number): string {
  const again = row.againMs === undefined ? '' : ` (again in ${ago(row.againMs - now)})`
  const parts = [
    ...(row.note === undefined ? [] : [`! ${row.note}`]),
    ...(row.hold === undefined ? [] : [`HELD ${row.hold}`]),
    ...(row.waitsFor === undefined ? [] : [row.waitsFor]),
    ...(row.lastFailure === undefined || row.phase === 'Ready' ? [] : [`last failure${again}: ${row.lastFailure}`]),
  ]
  return parts.length === 0 ? '-' : parts.join('; ')
}

/** All that is known of one NodeClaim; what is absent could not be read. */
export interface NodeDetails {
  readonly row: NodeRow
  readonly claim?: NodeClaim
  readonly lifecycle?: LifecycleFacts
  /** What `joiner why node` says of it. */
  readonly report?: NodeReport
  readonly events?: readonly EventFacts[]
}

/** One node in full, for people. */
export function detailsDocument(details: NodeDetails, now: number): Document {
  const { row, claim, lifecycle, report, events = [] } = details
  const status = answerOf(lifecycle)
  return [
    [
      `NodeClaim ${row.nodeClaim}${row.node === undefined ? '' : ` (Node ${row.node})`}${row.nodePool === undefined ? '' : ` of NodePool ${row.nodePool}`}`,
      section('now', [
        row.note && `! ${row.note}`,
        `${row.phase}${row.sinceMs === undefined ? '' : ` since ${timeText(row.sinceMs)} (${ago(now - row.sinceMs)})`}`,
        row.waitsFor && `waits for: ${row.waitsFor}`,
        status?.attempt ? `launch attempt ${status.attempt}` : undefined,
        status?.lastCapacityFailure && `last failed launch: ${status.lastCapacityFailure}`,
        row.hold && `held ${row.hold}`,
      ]),
      section('held up by', drainLines(status, now)),
      section(
        'tried again and again',
        (lifecycle?.retried ?? []).map(
          ({ step, attempt, failure, againMs }) =>
            `${step}, attempt ${attempt}, ${againMs === undefined ? 'now' : `again in ${ago(againMs - now)}`}: ${failure}`,
        ),
      ),
      ...(report === undefined ? [] : causeParts(report, now)),
      section('what can be done', remediesOf(details)),
      section('conditions', (claim?.status.conditions ?? []).map(conditionText)),
      section('workflow', [row.workflowId]),
      eventSection(events.slice(0, mostEvents), now),
      section('not known', report?.notRead ?? []),
    ],
  ]
}

function drainLines(status: LifecycleStatus | undefined, now: number): readonly string[] {
  const { on = [], more = 0 } = status?.drain ?? {}
  return [
    ...on.map(({ what, sinceMs }) => `${what}, for ${ago(now - sinceMs)}`),
    ...(more === 0 ? [] : [`and ${more} more`]),
  ]
}

function conditionText({ type, status, reason, message, lastTransitionTime }: Condition): string {
  const why = reason === undefined || reason === type ? '' : ` ${reason}`
  return `${type}=${status}${why} since ${lastTransitionTime ?? 'unknown'}${message ? `: ${message}` : ''}`
}

/** For programs: with times instead of milliseconds. */
export function rowJson({ sinceMs, againMs, ...row }: NodeRow) {
  return {
    ...row,
    ...(sinceMs === undefined ? {} : { since: timeText(sinceMs) }),
    ...(againMs === undefined ? {} : { again: timeText(againMs) }),
  }
}

export function detailsJson(details: NodeDetails) {
  const { row, claim, lifecycle, report, events } = details
  return {
    ...rowJson(row),
    remedies: remediesOf(details),
    ...(report && { report }),
    ...drainJson(lifecycle),
    retried: (lifecycle?.retried ?? []).map(({ againMs, ...retried }) => ({
      ...retried,
      ...(againMs === undefined ? {} : { again: timeText(againMs) }),
    })),
    ...(claim === undefined ? {} : { conditions: claim.status.conditions }),
    ...(events === undefined
      ? {}
      : { events: events.slice(0, mostEvents).map(({ at, ...event }) => ({ ...event, at: timeText(at) })) }),
  }
}

function drainJson(lifecycle: LifecycleFacts | undefined) {
  const drain = answerOf(lifecycle)?.drain
  if (drain === undefined) return {}
  const on = drain.on.map(({ what, sinceMs }) => ({ what, since: timeText(sinceMs) }))
  return { drain: { on, more: drain.more } }
}
