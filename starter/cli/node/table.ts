import type { Condition, NodeClaim } from '../../../core/objects.ts'
import { timeText } from '../../../core/values/time.ts'
import type { LifecycleStatus } from '../../../workflows/messages.ts'
import { type Document, type Part, section } from '../../document/document.ts'
import { ago, shortened } from '../../document/words.ts'
import type { EventFacts } from '../../picture/events.ts'
import { answerOf, type LifecycleFacts, type NodeRow } from './report.ts'

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
  readonly events?: readonly EventFacts[]
}

/** One node in full, for people. */
export function detailsDocument({ row, claim, lifecycle, events = [] }: NodeDetails, now: number): Document {
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
      section('what can be done', remediesOf(row, lifecycle)),
      section('conditions', (claim?.status.conditions ?? []).map(conditionText)),
      section('workflow', [row.workflowId]),
      section(
        'events',
        events
          .slice(0, mostEvents)
          .map(
            ({ at, reason, message, times }) =>
              `${ago(now - at)} ago  ${reason}${times > 1 ? ` (${times}x)` : ''}: ${message}`,
          ),
      ),
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

function remediesOf(row: NodeRow, lifecycle: LifecycleFacts | undefined): readonly string[] {
  const isLeaving = row.phase === 'Draining' || row.phase === 'Terminating'
  return [
    ...((lifecycle?.retried ?? []).some(({ againMs }) => againMs !== undefined)
      ? [`try at once: joiner node retry ${row.nodeClaim}`]
      : []),
    ...(row.hold === undefined ? [] : [`end the hold: joiner node release ${row.nodeClaim}`]),
    ...(isLeaving ? [`give it up, as a last resort: joiner node force-finish ${row.nodeClaim} --reason TEXT`] : []),
  ]
}

function conditionText({ type, status, reason, message, lastTransitionTime }: Condition): string {
  const why = reason === undefined || reason === type ? '' : ` ${reason}`
  return `${type}=${status}${why} since ${lastTransitionTime ?? 'unknown'}${message ? `: ${message}` : ''}`
}

/** For programs: with times instead of milliseconds. */
export function rowJson({ sinceMs, againMs, ...row }: NodeRow): Readonly<Record<string, unknown>> {
  return {
    ...row,
    ...(sinceMs === undefined ? {} : { since: timeText(sinceMs) }),
    ...(againMs === undefined ? {} : { again: timeText(againMs) }),
  }
}

export function detailsJson({ row, claim, lifecycle, events }: NodeDetails): unknown {
  return {
    ...rowJson(row),
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

function drainJson(lifecycle: LifecycleFacts | undefined): object {
  const drain = answerOf(lifecycle)?.drain
  if (drain === undefined) return {}
  const on = drain.on.map(({ what, sinceMs }) => ({ what, since: timeText(sinceMs) }))
  return { drain: { on, more: drain.more } }
}
