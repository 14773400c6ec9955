import { whyUnowned } from '../../../core/conditions.ts'
import {
  headlineText,
  type NodeState,
  notesOf,
  remediesOf,
  remedyText,
  stateOfLifecycle,
} from '../../../core/history/headline.ts'
import { waitsText } from '../../../core/node-claim/drain-waits.ts'
import { phaseOf, phases } from '../../../core/node-claim/phase.ts'
import type { Condition, NodeClaim } from '../../../core/objects.ts'
import { labels } from '../../../core/requirements/labels.ts'
import { lifecycleKey } from '../../../core/task-queues.ts'
import { defined } from '../../../core/values/defined.ts'
import { timeText } from '../../../core/values/time.ts'
import type { LifecycleStatus } from '../../../workflows/messages.ts'
import { stillHeldUpBy } from '../../answers/drain-story.ts'
import { causeParts, eventSection, type NodeReport, nodeReport } from '../../answers/node-report.ts'
import { type Document, type Part, section } from '../../document/document.ts'
import { ago, shortened } from '../../document/words.ts'
import type { EventFacts } from '../../picture/events.ts'
import { stateOf } from '../../picture/headline.ts'
import { answerOf, type LifecycleFacts } from '../../picture/lifecycles.ts'
import type { NodePicture } from '../../picture/node-picture.ts'

/** One NodeClaim in the one place where an operator looks. */
export interface NodeRow {
  readonly nodeClaim: string
  /** Of a NodeClaim that is gone the first eight characters. */
  readonly uid: string
  readonly node?: string
  readonly nodePool?: string
  readonly phase: string
  /** Epoch ms. */
  readonly sinceMs?: number
  /** What is said first of a node, wherever it is shown; absent: its NodeClaim is gone, or could not be read. */
  readonly headline?: string
  /** Of that what neither hold nor note say; absent: nothing. */
  readonly because?: string
  /** In words; absent: nothing. */
  readonly waitsFor?: string
  /** What is tried for how manieth time, such as `launch 3`. */
  readonly attempt?: string
  readonly lastFailure?: string
  /** When what failed is tried again, in epoch ms. */
  readonly againMs?: number
  readonly hold?: string
  readonly workflowId?: string
  /** What is odd about it: no lifecycle, one that does not answer, a NodeClaim that is gone. */
  readonly note?: string
  /** What its headline and its remedies follow from. */
  readonly state: NodeState
}

/** What is known of all NodeClaims; either list is absent where it could not be read. */
export interface NodeFacts {
  readonly claims?: readonly NodeClaim[]
  readonly lifecycles?: readonly LifecycleFacts[]
}

/** A row for each NodeClaim, and for each lifecycle whose NodeClaim is gone: those that wait for something first, the longest wait on top. */
export function nodeRows({ claims, lifecycles }: NodeFacts, now: number): readonly NodeRow[] {
  const byKey = new Map((lifecycles ?? []).map((lifecycle) => [lifecycleKey(lifecycle), lifecycle]))
  const known = new Set((claims ?? []).map(({ metadata }) => lifecycleKey(metadata)))
  const rows = [
    ...(claims ?? []).map((claim) =>
      rowOf(
        claim,
        { lifecycle: byKey.get(lifecycleKey(claim.metadata)), hasLifecycles: lifecycles !== undefined },
        now,
      ),
    ),
    ...(lifecycles ?? [])
      .filter((lifecycle) => !known.has(lifecycleKey(lifecycle)))
      .map((lifecycle) => rowOfLifecycle(lifecycle, claims !== undefined)),
  ]
  const isResting = ({ phase }: NodeRow) => (phase === 'Ready' ? 1 : 0)
  return rows.sort(
    (a, b) =>
      isResting(a) - isResting(b) || (a.sinceMs ?? now) - (b.sinceMs ?? now) || (a.nodeClaim < b.nodeClaim ? -1 : 1),
  )
}

/** The row of the Node or NodeClaim of that name. */
export function rowNamed(rows: readonly NodeRow[], name: string): NodeRow | undefined {
  return rows.find(({ nodeClaim }) => nodeClaim === name) ?? rows.find(({ node }) => node === name)
}

function rowOf(
  claim: NodeClaim,
  { lifecycle, hasLifecycles }: { readonly lifecycle: LifecycleFacts | undefined; readonly hasLifecycles: boolean },
  now: number,
): NodeRow {
  const { metadata, status } = claim
  const state = { ...stateOf({ claim }, now), ...saidOf(claim, lifecycle) }
  const { phase, sinceMs, waitsFor, hold } = state
  const note =
    lifecycle === undefined && hasLifecycles ? noLifecycle : (silence(lifecycle) ?? whyUnowned(status.conditions))
  return {
    nodeClaim: metadata.name,
    uid: metadata.uid,
    ...defined({ node: status.nodeName, nodePool: metadata.labels[labels.nodePool] }),
    phase,
    sinceMs,
    headline: headlineText(state),
    ...defined({ because: notesOf(state).find((each) => each !== note && each !== hold), waitsFor }),
    ...tried(lifecycle),
    ...defined({ hold: hold && withoutWord(hold) }),
    state,
    ...defined({ workflowId: lifecycle?.workflowId, note }),
  }
}

/** Phases of a node that comes, in their order. */
const coming: readonly string[] = phases.slice(0, phases.indexOf('Ready'))

/** Returns what a lifecycle adds to the state of its NodeClaim. */
function saidOf(claim: NodeClaim, lifecycle: LifecycleFacts | undefined): Partial<NodeState> {
  const answer = answerOf(lifecycle)
  const isRetried = isTriedAgain(lifecycle)
  if (answer === undefined) return { isRetried }
  const own = phaseOf(claim)
  // The NodeClaim says who holds it now, and the lifecycle who held it when it last looked.
  const { hold: _, waitsFor, ...said } = stateOfLifecycle(claim.metadata.name, answer)
  // One step of a lifecycle lasts from the choice of a VM to the ready Node; the conditions of its NodeClaim report it in three.
  const isBehind = coming.includes(said.phase) && coming.indexOf(own.phase) > coming.indexOf(said.phase)
  const { phase, sinceMs } = isBehind ? own : said
  return {
    ...said,
    phase,
    sinceMs,
    ...defined({ waitsFor: own.because ?? (own.phase === 'Ready' ? undefined : waitsFor) }),
    isRetried: isRetried || said.isRetried === true,
  }
}

const isTriedAgain = (lifecycle: LifecycleFacts | undefined) =>
  lifecycle?.retried.some(({ againMs }) => againMs !== undefined) === true

const noLifecycle = 'no lifecycle runs; a running Joiner starts it again within 5 minutes (joiner status)'

const withoutWord = (hold: string) => hold.replace(/^held /, '')

function silence(lifecycle: LifecycleFacts | undefined): string | undefined {
  return lifecycle?.status === 'silent'
    ? 'its lifecycle does not answer: no worker of the role core works for it (joiner status)'
    : undefined
}

/** A lifecycle without a NodeClaim: `isGone` says whether the cluster was asked. */
function rowOfLifecycle(lifecycle: LifecycleFacts, isGone: boolean): NodeRow {
  const { name, uid, phase, nodeName, nodePool, workflowId } = lifecycle
  const said = answerOf(lifecycle)
  const note = isGone ? 'its NodeClaim is gone; the lifecycle ends at its next look' : silence(lifecycle)
  return {
    nodeClaim: name,
    uid,
    ...defined({ node: nodeName, nodePool }),
    phase: said?.phase ?? phase,
    ...(said === undefined ? {} : { sinceMs: said.sinceMs }),
    ...(said === undefined || said.phase === 'Ready' ? {} : { waitsFor: said.waitingFor }),
    ...tried(lifecycle),
    ...(said?.hold === undefined ? {} : { hold: withoutWord(said.hold) }),
    workflowId,
    ...(note === undefined ? {} : { note }),
    state: {
      ...(said === undefined ? { nodeClaim: name, phase, sinceMs: Number.NaN } : stateOfLifecycle(name, said)),
      isRetried: isTriedAgain(lifecycle),
    },
  }
}

/** What fails now stands before what failed in an earlier attempt to launch. */
function tried(lifecycle: LifecycleFacts | undefined): Pick<NodeRow, 'attempt' | 'lastFailure' | 'againMs'> {
  const [first] = lifecycle?.retried ?? []
  if (first !== undefined)
    return {
      attempt: `${first.step} ${first.attempt}`,
      lastFailure: first.failure,
      ...defined({ againMs: first.againMs }),
    }
  const { attempt = 0, lastCapacityFailure: lastFailure } = answerOf(lifecycle) ?? {}
  return defined({ attempt: attempt === 0 ? undefined : `launch ${attempt}`, lastFailure })
}

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
    ...(row.because === undefined ? [] : [row.because]),
    ...(row.waitsFor === undefined || row.because?.endsWith(row.waitsFor) ? [] : [row.waitsFor]),
    ...(row.lastFailure === undefined || row.phase === 'Ready' ? [] : [`last failure${again}: ${row.lastFailure}`]),
  ]
  return parts.length === 0 ? '-' : parts.join('; ')
}

/** All that is known of one NodeClaim; what is absent could not be read. */
interface NodeDetails {
  readonly row: NodeRow
  readonly claim?: NodeClaim
  readonly lifecycle?: LifecycleFacts
  /** What `joiner why node` says of it. */
  readonly report?: NodeReport
  readonly events?: readonly EventFacts[]
}

/** What is read of one node beside the list; what is absent could not be read. */
interface NodeSources {
  readonly picture?: NodePicture
  readonly events?: readonly EventFacts[]
}

/** Returns all that is known of the NodeClaim of a row. */
export function detailsOf(listed: NodeRow, facts: NodeFacts, { picture, events }: NodeSources): NodeDetails {
  const claim = facts.claims?.find(({ metadata }) => metadata.uid === listed.uid)
  const own = facts.lifecycles?.find(({ workflowId }) => workflowId === listed.workflowId)
  const lifecycle = own && picture && upToDate(own, picture)
  const row = claim && picture && lifecycle ? rowOf(claim, { lifecycle, hasLifecycles: true }, picture.now) : listed
  return {
    row,
    ...defined({ claim, lifecycle: lifecycle ?? own, report: picture && nodeReport(picture, row.state), events }),
  }
}

/** Returns a lifecycle that waits for nothing that the cluster shows to be over. */
function upToDate(lifecycle: LifecycleFacts, picture: NodePicture): LifecycleFacts {
  const status = answerOf(lifecycle)
  if (status?.drain === undefined) return lifecycle
  const drain = stillHeldUpBy(status.drain, picture)
  return { ...lifecycle, status: { ...status, waitingFor: waitsText(drain) || 'pods to leave the Node', drain } }
}

/** Whether cluster and Temporal have answered. Joiner's own identity, with which the command runs in the pod, may write events and not read them. */
export function isWhole({ claim, lifecycle }: NodeDetails): boolean {
  return claim !== undefined && lifecycle !== undefined && lifecycle.status !== 'silent'
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
        report?.headline ?? headlineText(row.state),
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
      section('what can be done', helpsOf(details)),
      section('conditions', (claim?.status.conditions ?? []).map(conditionText)),
      section('workflow', [row.workflowId]),
      eventSection(events.slice(0, mostEvents), now),
      section('not known', report?.notRead ?? []),
    ],
  ]
}

/** What helps, as `joiner why node`, the page and Temporal's UI say it. */
function helpsOf({ row, report }: NodeDetails): readonly string[] {
  return report?.remedies ?? remediesOf(row.state).map(remedyText)
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
  const { state: _, ...shown } = row
  return {
    ...shown,
    ...(sinceMs === undefined ? {} : { since: timeText(sinceMs) }),
    ...(againMs === undefined ? {} : { again: timeText(againMs) }),
  }
}

export function detailsJson(details: NodeDetails) {
  const { row, claim, lifecycle, report, events } = details
  return {
    ...rowJson(row),
    remedies: helpsOf(details),
    ...(report && { headline: report.headline, report }),
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
