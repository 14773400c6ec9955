import { conditionOf, isTrue, whyUnowned } from '../../core/conditions.ts'
import { consolidatableAt } from '../../core/disruption/consolidatable.ts'
import { type BlockingPod, podDisruptionBudgetsOf, podsOf } from '../../core/disruption/verdicts/cause.ts'
import { causeTitle } from '../../core/disruption/verdicts/cause-text.ts'
import type { Move } from '../../core/disruption/verdicts/verdict.ts'
import { headlineText, type NodeState, remediesOf, remedyText } from '../../core/history/headline.ts'
import { holdOf, holdText } from '../../core/node-claim/hold.ts'
import { isReady } from '../../core/node-claim/registration.ts'
import type { NodeClaim } from '../../core/objects.ts'
import { pauseText } from '../../core/pauses/pauses.ts'
import { protectedUntil } from '../../core/pods/do-not-disrupt.ts'
import { hasDoNotDisrupt, isActive, isReschedulable, podName } from '../../core/pods/pod-rules.ts'
import { annotations, labels, taintKeys } from '../../core/requirements/labels.ts'
import { disruptionCommandId } from '../../core/task-queues.ts'
import { defined } from '../../core/values/defined.ts'
import { timeText } from '../../core/values/time.ts'

import { type Document, type Part, section } from '../document/document.ts'
import { ago, counted, monthly } from '../document/words.ts'
import type { EventFacts } from '../picture/events.ts'
import { gapLines } from '../picture/gaps.ts'
import { standingOf, stateOf } from '../picture/headline.ts'
import type { NodePicture } from '../picture/node-picture.ts'
import { drainStory } from './drain-story.ts'
import { helpsOf } from './remedies.ts'

/** A move with the text of its cause, as people and scripts read it. */
export interface ShownMove extends Move {
  readonly message: string
}

/** Returns the move with the text of its cause. */
export function shownMove(move: Move): ShownMove {
  return { ...move, message: causeTitle(move.cause) }
}

/** A command that the node is part of. */
interface CommandFacts {
  readonly id: string
  readonly workflow: string
  readonly reason?: string
  readonly since?: string
}

interface Evaluated {
  /** When the cluster was evaluated last, up to a minute late. */
  readonly lastMs?: number
  /** Since when the node has been found to be so. */
  readonly since: string
  readonly moves: readonly ShownMove[]
}

/** Why a node is as it is. Prices in USD an hour. */
export interface NodeReport {
  /** Its phase, and what matters most, as lists of nodes say it. */
  readonly headline: string
  readonly node?: string
  readonly nodeClaim?: string
  readonly nodePool?: string
  readonly instanceType?: string
  readonly zone?: string
  readonly capacityType?: string
  readonly price?: number
  /** Pods that run on it, and those of them that would have to move. */
  readonly pods: number
  readonly movingPods: number
  /** What is to be known of it, a line each. */
  readonly state: readonly string[]
  /** How far its drain has come, a line each; absent: its NodeClaim is not being deleted. */
  readonly drain?: readonly string[]
  readonly command?: CommandFacts
  readonly pauses: readonly string[]
  readonly evaluation?: Evaluated
  /** Why there is no evaluation, or why it may be old. */
  readonly warning?: string
  /** At most so much is not saved by leaving it alone, in USD an hour. */
  readonly savingsForgone?: number
  readonly remedies: readonly string[]
  readonly again: readonly string[]
  readonly events: readonly EventFacts[]
  /** What adorns the report and could not be read, with the remedy, a line each. */
  readonly notRead: readonly string[]
}

/** Where nothing changes the cluster is evaluated each 5 minutes; twice as long says that nobody does. */
const oldMs = 11 * 60_000
const mostEvents = 8

/** `own`: the state of its NodeClaim, where its lifecycle was asked as well. */
export function nodeReport(facts: NodePicture, own?: NodeState): NodeReport {
  const { node, claim, verdict, lastPassMs, events } = facts
  const objects = stateOf({ node: node && standingOf(node), claim }, facts.now)
  const state: NodeState = { ...objects, ...own, ...defined({ oddities: objects.oddities }) }
  const known = (node ?? claim)?.metadata.labels ?? {}
  const moves = verdict?.moves ?? []
  const savingsForgone = Math.max(0, ...moves.map((move) => move.savingsForgone ?? 0))
  const active = facts.pods.filter(isActive)
  const drain = drainStory(facts)
  // The hold is part of the state.
  const others = moves.filter(({ cause }) => cause.kind !== 'held')
  const helps = drain?.helps ?? helpsOf(others, facts)
  return {
    ...defined({
      node: node?.metadata.name,
      nodeClaim: claim?.metadata.name,
      nodePool: known[labels.nodePool],
      instanceType: known[labels.instanceType],
      zone: known[labels.zone],
      capacityType: known[labels.capacityType],
      price: verdict?.price,
      drain: drain?.lines,
      command: commandOf(facts),
      warning: warningOf(facts),
    }),
    headline: headlineText(state),
    pods: active.length,
    movingPods: active.filter(isReschedulable).length,
    state: stateLines(facts),
    pauses: pausesOf(facts),
    ...(verdict === undefined
      ? {}
      : {
          evaluation: {
            since: verdict.since,
            moves: moves.map(shownMove),
            ...(lastPassMs === undefined ? {} : { lastMs: lastPassMs }),
          },
        }),
    ...(savingsForgone === 0 ? {} : { savingsForgone }),
    remedies: remediesOf({ ...state, ...(helps.length > 0 && helping(helps)) }).map(remedyText),
    again: againOf(facts),
    events: events.slice(0, mostEvents),
    notRead: gapLines(facts),
  }
}

/** What helps, where the cluster says more of it than the lifecycle does. */
const helping = (helps: readonly string[]) => ({ isHeldUp: true, helps: helps.map((what) => ({ what })) })

function deletionLines({ metadata: { deletionTimestamp, annotations: own } }: NodeClaim): readonly string[] {
  if (deletionTimestamp === undefined) return []
  const why = own[annotations.cancelledAt] === undefined ? '' : ', as its lifecycle was cancelled in Temporal'
  return [`its NodeClaim is being deleted since ${deletionTimestamp}${why}`]
}

function stateLines(facts: NodePicture): readonly string[] {
  const { node, claim } = facts
  const lines: string[] = []
  if (node !== undefined) lines.push(isReady(node) ? 'ready' : 'not ready')
  if (node?.unschedulable === true) lines.push('cordoned (spec.unschedulable)')
  if (claim === undefined) return lines
  const { conditions } = claim.status
  lines.push(...deletionLines(claim))
  for (const type of ['Launched', 'Registered', 'Initialized']) {
    const condition = conditionOf(conditions, type)
    if (condition?.status === 'True') continue
    lines.push(`not ${type.toLowerCase()} yet${saying(condition?.message)}`)
    break
  }
  lines.push(...unownedLines(claim))
  const drifted = conditionOf(conditions, 'Drifted')
  if (drifted?.status === 'True')
    lines.push(`drifted since ${drifted.lastTransitionTime}: ${drifted.reason}${saying(drifted.message)}`)
  if (isTrue(conditions, 'Initialized')) lines.push(consolidatableText(facts))
  const tainted = node?.taints.some(({ key }) => key === taintKeys.disrupted) === true
  if (tainted) lines.push(`tainted ${taintKeys.disrupted}: no new pods are bound to it`)
  const hold = holdOf(claim, facts.now)
  if (hold !== undefined) lines.push(holdText(hold))
  for (const object of [node, claim])
    if (object?.metadata.annotations[annotations.doNotDisrupt] === 'true')
      lines.push(`${object.kind} has the annotation ${annotations.doNotDisrupt}`)
  return lines
}

function unownedLines({ status }: NodeClaim): readonly string[] {
  const why = whyUnowned(status.conditions)
  return why === undefined ? [] : [`its VM is not its own: ${why}`]
}

const saying = (message: string | undefined) => (message ? `: ${message}` : '')

function consolidatableText({ claim, pool, now }: NodePicture): string {
  if (claim?.metadata.labels[labels.nodePool] === undefined)
    return 'made by hand, without a NodePool: never consolidated'
  if (pool === undefined) return 'its NodePool is gone'
  const { consolidateAfter, consolidationPolicy } = pool.disruption
  const at = consolidatableAt(claim, pool)
  if (at === undefined) return `not consolidated: consolidateAfter of its NodePool is ${consolidateAfter}`
  return at > now
    ? `consolidatable from ${timeText(at)}: ${consolidateAfter} after pods last came or went (consolidateAfter)`
    : `consolidatable since ${timeText(at)} (policy ${consolidationPolicy}, consolidateAfter ${consolidateAfter})`
}

function commandOf({ claim, cluster = 'CLUSTER' }: NodePicture): CommandFacts | undefined {
  const id = claim?.metadata.annotations[annotations.disruptionCommand]
  if (claim === undefined || id === undefined) return undefined
  const condition = conditionOf(claim.status.conditions, 'DisruptionReason')
  return {
    id,
    workflow: disruptionCommandId(cluster, id),
    ...defined({ reason: condition?.reason, since: condition?.lastTransitionTime }),
  }
}

function pausesOf({ claim, node, pauses }: NodePicture): readonly string[] {
  if (claim === undefined) return []
  const own = pauses.onNodeClaim(claim.metadata.name, node?.metadata.name)
  const pool = pauses.onNodePool(claim.metadata.labels[labels.nodePool] ?? '')
  return [...new Set([...pool, ...own])].map((pause) => pauseText('disruption', pause))
}

function warningOf({ claim, verdict, unread, lastPassMs, pauses, now }: NodePicture): string | undefined {
  if (claim === undefined)
    return 'it has no NodeClaim: it is not managed by Joiner, which leaves it alone and counts on its free room only'
  if (unread !== undefined) return `what the last evaluation found is not known: ${unread}`
  const isPaused = pauses.wholeLoop !== undefined
  if (verdict === undefined)
    return isPaused
      ? 'it has not been evaluated: disruption is paused as a whole'
      : 'it has not been evaluated yet: Joiner evaluates a change within seconds while it runs (joiner status), and writes what it found after 30 s at the latest'
  const age = now - (lastPassMs ?? Date.parse(verdict.since))
  if (age < oldMs) return undefined
  const minutes = Math.floor(age / 60_000)
  return `the last evaluation was ${minutes} minutes ago: ${isPaused ? 'disruption is paused as a whole' : 'Joiner does not seem to run (joiner status)'}`
}

/** When the node is read again, and what may change by itself until then. */
function againOf(facts: NodePicture): readonly string[] {
  const { claim, pool, pods, now, pauses } = facts
  if (claim === undefined) return []
  const wholeLoop = pauses.wholeLoop
  const lines =
    wholeLoop === undefined
      ? ['when something changes in the cluster, and every 5 minutes']
      : [`when disruption is resumed${wholeLoop.untilMs === undefined ? '' : `, at ${timeText(wholeLoop.untilMs)}`}`]
  const at = pool === undefined ? undefined : consolidatableAt(claim, pool)
  const holdEndMs = holdOf(claim, now)?.untilMs
  if (holdEndMs !== undefined) lines.push(`when the hold ends at ${timeText(holdEndMs)}, if nobody releases it before`)
  if (at !== undefined && at > now) lines.push(`for consolidation from ${timeText(at)} on, if no pods come or go`)
  for (const pod of pods) {
    const until = isActive(pod) && hasDoNotDisrupt(pod, now) ? protectedUntil(pod) : undefined
    if (until !== undefined) lines.push(`the protection of ${podName(pod)} ends at ${timeText(until)}`)
  }
  return lines
}

/** The report on a node for people. `now`: epoch ms. */
export function nodeDocument(report: NodeReport, now: number): Document {
  return [
    [
      heading(report),
      ...causeParts(report, now),
      section('what would let it go', report.remedies),
      section('looked at again', report.again),
      eventSection(report.events, now),
      section('not known', report.notRead),
    ],
  ]
}

/** How a node is, and what keeps it so, wherever it is shown. */
export function causeParts({ command, evaluation, warning, pauses, state, drain = [] }: NodeReport, now: number) {
  return [
    section('state', [...state, command && commandText(command), ...pauses]),
    section('its drain', drain),
    section(evaluation === undefined ? 'evaluation' : evaluationTitle(evaluation, now), [
      warning && `! ${warning}`,
      ...(evaluation?.moves ?? []).map(movePart),
    ]),
  ]
}

function heading(report: NodeReport): Part {
  const { node, nodeClaim, nodePool, instanceType, zone, capacityType, price, pods, movingPods, headline } = report
  const name = node === undefined ? `NodeClaim ${nodeClaim} without a Node yet` : `Node ${node}`
  const claim = node === undefined || nodeClaim === undefined ? '' : ` (NodeClaim ${nodeClaim})`
  const facts = [
    ...(nodePool === undefined ? [] : [`NodePool ${nodePool}`]),
    ...[instanceType, zone, capacityType].filter((one) => one !== undefined),
    ...(price === undefined ? [] : [`${monthly(price)} USD a month`]),
    `${counted(pods, 'pod')}, of which ${movingPods} would have to move`,
  ]
  return { title: `${name}${claim}`, items: [headline, facts.join(', ')] }
}

function commandText({ id, workflow, reason, since }: CommandFacts): string {
  const when = since === undefined ? '' : ` since ${since}`
  return `being disrupted by ${id}${reason === undefined ? '' : ` (${reason})`}${when}: workflow ${workflow}`
}

function evaluationTitle({ lastMs, since }: Evaluated, now: number): string {
  const last = lastMs === undefined ? 'last evaluation' : `last evaluation (${ago(now - lastMs)} ago)`
  return `${last}, the same since ${since.replace(/\.\d+Z$/, 'Z')}`
}

const words: Readonly<Record<Move['outcome'], string>> = {
  chosen: 'chosen',
  hindered: 'not possible',
  budget: 'waits for budgets',
  rejected: 'not worth it',
  blocked: 'blocked',
  unsuitable: 'does not apply',
  'not-looked-at': 'nothing found',
}

/** One thing that could have been done, with what stood in its way. */
export function movePart(move: ShownMove): Part {
  const { methods, outcome, cause, message, savingsForgone } = move
  const { pods, more } = podsOf(cause)
  const lost = savingsForgone === undefined ? '' : ` [up to ${monthly(savingsForgone)} USD a month not saved]`
  const title = `${methods.join(', ')}: ${words[outcome]}: ${message}${lost}`
  const behind = [
    ...pods.map(podText),
    ...(more === 0 ? [] : [`and ${counted(more, 'pod')} more`]),
    ...podDisruptionBudgetsOf(cause).map((name) => `PodDisruptionBudget ${name}`),
  ]
  return behind.length === 0 ? title : { title, items: behind }
}

function podText({ name, constraint }: BlockingPod): string {
  return `pod ${name}${constraint === undefined ? '' : `: ${constraint.trim()}`}`
}

export function eventSection(events: readonly EventFacts[], now: number): Part {
  return section(
    'events',
    events.map(
      ({ at, about, reason, message, times }) =>
        `${ago(now - at)} ago  ${about}  ${reason}${times > 1 ? ` (${times} times)` : ''}: ${message}`,
    ),
  )
}
