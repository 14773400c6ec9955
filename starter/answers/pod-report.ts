import { conditionOf } from '../../core/conditions.ts'
import { evictionBlockedBy } from '../../core/disruption/budgets/pod-disruption-budgets.ts'
import { evictionCost } from '../../core/disruption/costs.ts'
import { podsOf } from '../../core/disruption/verdicts/cause.ts'
import { claimWait } from '../../core/node-claim/claim-wait.ts'
import type { Pod } from '../../core/objects.ts'
import { pauseText } from '../../core/pauses/pauses.ts'
import { protectedUntil } from '../../core/pods/do-not-disrupt.ts'
import {
  hasDoNotDisrupt,
  isActive,
  isDaemonPod,
  isMirrorPod,
  isProvisionable,
  isTerminating,
  neverRuns,
  podName,
  toleratesDisruption,
} from '../../core/pods/pod-rules.ts'
import { annotations } from '../../core/requirements/labels.ts'
import type { WaitingClass } from '../../core/scheduling/explain/waiting-classes.ts'
import { selects } from '../../core/scheduling/topology/label-selector.ts'
import { timeText } from '../../core/values/time.ts'
import { type Document, type Part, section } from '../document/document.ts'
import { ago, counted, present } from '../document/words.ts'
import type { EventFacts } from '../picture/events.ts'
import { gapLines } from '../picture/gaps.ts'
import type { PodPicture, WaitingFacts } from '../picture/pod-picture.ts'
import { eventSection, movePart, nodeReport, type ShownMove, shownMove } from './node-report.ts'
import { budgetText, helpsOf } from './remedies.ts'

/** Why a pod waits, or what it means for its node. */
export interface PodReport {
  readonly pod: string
  readonly phase: string
  readonly node?: string
  readonly nodePool?: string
  /** Why it waits for a node, as the planner found it; absent: it has one. */
  readonly waiting?: WaitingReport
  /** What kube-scheduler says of it, or what is to be known of it, a line each. */
  readonly state: readonly string[]
  /** What of this pod keeps its node from going, a line each; none: nothing does. */
  readonly keeps: readonly string[]
  /** What the last evaluation found about its node because of this pod. */
  readonly moves: readonly ShownMove[]
  readonly budgets: readonly string[]
  /** From -10 to 10; 1 for a common pod; absent: it costs nothing, since it does not move. */
  readonly evictionCost?: number
  readonly costFrom: readonly string[]
  readonly remedies: readonly string[]
  readonly events: readonly EventFacts[]
  /** What adorns the report and could not be read, with the remedy, a line each. */
  readonly notRead: readonly string[]
}

const costAnnotations = ['karpenter.sh/disruption-cost', 'controller.kubernetes.io/pod-deletion-cost']
const mostEvents = 8

export function podReport(facts: PodPicture): PodReport {
  const { pod, budgets, node, events } = facts
  const name = podName(pod)
  const own = budgets.filter(
    ({ metadata, selector }) => metadata.namespace === pod.metadata.namespace && selects(selector, pod.metadata.labels),
  )
  const moves = (node?.verdict?.moves ?? []).filter(({ cause }) => podsOf(cause).pods.some((one) => one.name === name))
  const report = node && nodeReport(node)
  return {
    pod: name,
    phase: pod.phase,
    ...(pod.nodeName === undefined ? {} : { node: pod.nodeName }),
    ...(report?.nodePool === undefined ? {} : { nodePool: report.nodePool }),
    ...(facts.waiting === undefined ? {} : { waiting: waitingReport(pod, facts.waiting, facts.now) }),
    state: stateOf(facts),
    keeps: keepsOf(facts),
    moves: moves.map(shownMove),
    budgets: own.map(budgetText),
    ...(moving(facts) ? { evictionCost: evictionCost(pod) } : {}),
    costFrom: costFrom(facts),
    remedies: node === undefined ? waitingRemedies(facts) : helpsOf(moves, node),
    events: events.slice(0, mostEvents),
    notRead: [...new Set([...gapLines(facts), ...(report?.notRead ?? [])])],
  }
}

const moving = ({ pod }: PodPicture) =>
  pod.nodeName !== undefined && isActive(pod) && !isDaemonPod(pod) && !isMirrorPod(pod)

function stateOf({ pod, node, now }: PodPicture): readonly string[] {
  if (pod.nodeName === undefined) {
    const scheduled = conditionOf(pod.conditions, 'PodScheduled')
    if (scheduled === undefined) return ['the scheduler has not looked at it yet']
    const since = scheduled.lastTransitionTime === undefined ? '' : ` since ${scheduled.lastTransitionTime}`
    return [
      `waits${since}: ${scheduled.reason ?? ''}: ${scheduled.message ?? ''}`,
      ...(pod.nominatedNodeName === undefined ? [] : [`the scheduler makes room for it on ${pod.nominatedNodeName}`]),
    ]
  }
  const until = protectedUntil(pod)
  return present(
    isTerminating(pod) && `being deleted since ${pod.metadata.deletionTimestamp}`,
    isDaemonPod(pod) && 'of a DaemonSet: it goes with its node and needs no other place',
    isMirrorPod(pod) && 'a static pod of its kubelet: it goes with its node',
    toleratesDisruption(pod) && 'tolerates karpenter.sh/disrupted: it is not evicted',
    until !== undefined && until <= now && `its protection by ${annotations.doNotDisrupt} ended ${timeText(until)}`,
    node === undefined && 'its node is gone',
  )
}

/** As the pod is now, whatever the last evaluation found. */
function keepsOf({ pod, budgets, now }: PodPicture): readonly string[] {
  if (pod.nodeName === undefined) return []
  const lines: string[] = []
  if (isActive(pod) && hasDoNotDisrupt(pod, now)) {
    const until = protectedUntil(pod)
    const value = pod.metadata.annotations[annotations.doNotDisrupt]
    lines.push(
      `its annotation ${annotations.doNotDisrupt}: "${value}"${until === undefined ? '' : `, which holds until ${timeText(until)}`}`,
    )
  }
  const blocked = evictionBlockedBy(pod, budgets, now)
  if (blocked !== undefined)
    lines.push(
      blocked.podDisruptionBudgets.length > 1
        ? `more than one PodDisruptionBudget selects it, which no eviction can honour: ${blocked.podDisruptionBudgets.join(', ')}`
        : `PodDisruptionBudget ${blocked.podDisruptionBudgets[0]} lets none go now`,
    )
  return lines
}

function costFrom({ pod }: PodPicture): readonly string[] {
  const found = costAnnotations.find((key) => pod.metadata.annotations[key] !== undefined)
  return present(
    found !== undefined && `annotation ${found}: "${pod.metadata.annotations[found]}"`,
    pod.priority !== undefined &&
      pod.priority !== 0 &&
      `priority ${pod.priority}${pod.priorityClassName === undefined ? '' : ` (${pod.priorityClassName})`}`,
  )
}

function waitingRemedies({ pod, events, waiting }: PodPicture): readonly string[] {
  if (pod.nodeName !== undefined || waiting !== undefined) return []
  if (events.some(({ reason }) => reason === 'Nominated')) return ['a node is meant for it (see the event Nominated)']
  return ['joiner simulate says which requirement is in the way, and what would be bought for it']
}

/** The report on a pod for people. `now`: epoch ms. */
export function podDocument(report: PodReport, now: number): Document {
  const { pod, phase, node, nodePool, state, keeps, moves, budgets, evictionCost: cost, costFrom, remedies } = report
  const where =
    node === undefined ? 'on no node' : `on ${node}${nodePool === undefined ? '' : ` of NodePool ${nodePool}`}`
  const isHeld = keeps.length > 0 || moves.length > 0
  return [
    [
      `Pod ${pod}: ${phase}, ${where}`,
      ...(report.waiting === undefined ? [] : waitingParts(report.waiting, now)),
      section(report.waiting === undefined ? 'state' : 'kube-scheduler', state),
      node && section('keeps its node', isHeld ? keeps : ['nothing of this pod does']),
      section('found by the last evaluation', moves.map(movePart)),
      section('disruption budgets', budgets),
      cost === undefined
        ? undefined
        : section('cost of its eviction', [`${cost.toFixed(3)} (a common pod: 1)`, ...costFrom]),
      section(node === undefined ? 'what to do' : 'what would let the node go', remedies),
      node && `more about the node: joiner why node ${node}`,
      eventSection(report.events, now),
      section('not known', report.notRead),
    ],
  ]
}

/** What the planner found about a pod that waits. */
function waitingParts(waiting: WaitingReport, now: number): readonly Part[] {
  const { state, cause, finding, plannedOn, funnel, remedies, pods = 1, atMs } = waiting
  const others = pods > 1 ? [`${counted(pods - 1, 'pod')} like it ${pods === 2 ? 'waits' : 'wait'} too`] : []
  const age = atMs === undefined || state === 'unknown' ? [] : [`written ${ago(now - atMs)} ago`]
  const known = [...others, ...age]
  return [
    section('why it waits', [
      `${stateWords[state]}${cause === undefined ? '' : ` (${cause})`}${plannedOn === undefined ? '' : ` on ${plannedOn}`}: ${finding}`,
      known.join('; ') || undefined,
    ]),
    section('what each NodePool could do', funnel),
    section('what helps', remedies),
  ]
}

const stateWords: Readonly<Record<WaitingReport['state'], string>> = {
  planned: 'planned',
  unschedulable: 'unschedulable',
  held: 'held back',
  unknown: 'not planned',
}

/** Why a pod waits, for the report. */
export interface WaitingReport extends Pick<WaitingClass, 'cause' | 'finding' | 'funnel' | 'remedies'> {
  readonly state: WaitingClass['state'] | 'unknown'
  readonly plannedOn?: string
  /** Number of such pods, with this one. */
  readonly pods?: number
  readonly atMs?: number
}

/** Returns why a pending pod waits. What can be seen now counts more than what the planner wrote. */
function waitingReport(pod: Pod, { found, unread, atMs, pause, claim }: WaitingFacts, now: number): WaitingReport {
  if (neverRuns(pod)) return { funnel: [], state: 'unknown', ...over(pod) }
  const known = {
    funnel: found?.funnel ?? [],
    ...(found === undefined ? {} : { pods: found.count }),
    ...(atMs === undefined ? {} : { atMs }),
  }
  if (claim !== undefined && found?.state !== 'unschedulable') {
    const { text, remedies } = claimWait(claim, pod.unschedulable, now)
    return { ...known, state: 'planned', plannedOn: `NodeClaim ${claim.metadata.name}`, finding: text, remedies }
  }
  const paused = pause === undefined ? [] : [pauseText('provisioning', pause)]
  if (pause !== undefined && found?.state !== 'planned') {
    const finding = [...paused, ...(found === undefined || found.cause === 'paused' ? [] : [found.finding])].join('; ')
    const remedies = ['joiner resume --provisioning', ...(found?.remedies ?? [])]
    return { ...known, state: 'held', cause: 'paused', finding, remedies: [...new Set(remedies)] }
  }
  if (found === undefined && unread !== undefined)
    return {
      ...known,
      state: 'unknown',
      finding: `what the planner found is not known: ${unread.what}: ${unread.why}`,
      remedies: [unread.remedy],
    }
  return found === undefined ? { ...known, state: 'unknown', ...unknown(pod) } : { ...known, ...ofPlanner(found) }
}

function ofPlanner({ state, cause, finding, remedies, plannedOn }: WaitingClass) {
  const [only, ...others] = plannedOn
  return {
    state,
    ...(cause === undefined ? {} : { cause }),
    ...(only === undefined || others.length > 0 ? {} : { plannedOn: only }),
    finding,
    remedies,
  }
}

/** Whatever was planned for it before. */
function over(pod: Pod): Pick<WaitingReport, 'finding' | 'remedies'> {
  const { deletionTimestamp, finalizers } = pod.metadata
  if (!isTerminating(pod))
    return { finding: `it has ended (${pod.phase}), so nothing is planned for it`, remedies: ['delete it'] }
  const held = finalizers.length === 0 ? '' : `; finalizers hold it: ${finalizers.join(', ')}`
  return {
    finding: `it is being deleted since ${deletionTimestamp}, so kube-scheduler never binds it and nothing is planned for it${held}`,
    remedies: finalizers.length === 0 ? [] : ['let the components that set the finalizers remove them'],
  }
}

function unknown(pod: Pod): Pick<WaitingReport, 'finding' | 'remedies'> {
  const scheduled = pod.conditions.find(({ type }) => type === 'PodScheduled')
  if (scheduled?.reason === 'SchedulingGated')
    return {
      finding: 'its spec.schedulingGates keep kube-scheduler from it',
      remedies: ['let the component that set the gates remove them: kubectl get pod --output yaml names them'],
    }
  if (isProvisionable(pod))
    return {
      finding: 'the planner has not reported on it yet; it does so within 10 seconds while it runs',
      remedies: ['joiner status shows whether it runs'],
    }
  return { finding: 'kube-scheduler has not found it unschedulable, so Joiner plans nothing for it', remedies: [] }
}
