import { conditionOf } from '../../../core/conditions.ts'
import { evictionBlockedBy } from '../../../core/disruption/budgets/pod-disruption-budgets.ts'
import { evictionCost } from '../../../core/disruption/costs.ts'
import { podsOf } from '../../../core/disruption/verdicts/cause.ts'
import { protectedUntil } from '../../../core/pods/do-not-disrupt.ts'
import {
  hasDoNotDisrupt,
  isActive,
  isDaemonPod,
  isMirrorPod,
  isTerminating,
  podName,
  toleratesDisruption,
} from '../../../core/pods/pod-rules.ts'
import { annotations } from '../../../core/requirements/labels.ts'
import { selects } from '../../../core/scheduling/topology/label-selector.ts'
import { timeText } from '../../../core/values/time.ts'
import type { EventFacts } from '../../picture/events.ts'
import { missingLines } from '../../picture/missing.ts'
import type { PodPicture } from '../../picture/pod-picture.ts'
import { type ShownMove, shownMove } from '../shared/shown-move.ts'
import { nodeReport } from './node-report.ts'
import { budgetText, remediesOf } from './remedies.ts'
import { type WaitingReport, waitingReport } from './waiting.ts'

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
    remedies: node === undefined ? waitingRemedies(facts) : remediesOf(moves, node),
    events: events.slice(0, mostEvents),
    notRead: [...new Set([...missingLines(facts.missing ?? []), ...(facts.damaged ?? []), ...(report?.notRead ?? [])])],
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
  return [
    ...(isTerminating(pod) ? [`being deleted since ${pod.metadata.deletionTimestamp}`] : []),
    ...(isDaemonPod(pod) ? ['of a DaemonSet: it goes with its node and needs no other place'] : []),
    ...(isMirrorPod(pod) ? ['a static pod of its kubelet: it goes with its node'] : []),
    ...(toleratesDisruption(pod) ? ['tolerates karpenter.sh/disrupted: it is not evicted'] : []),
    ...(until !== undefined && until <= now
      ? [`its protection by ${annotations.doNotDisrupt} ended ${timeText(until)}`]
      : []),
    ...(node === undefined ? ['its node is gone'] : []),
  ]
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
  return [
    ...(found === undefined ? [] : [`annotation ${found}: "${pod.metadata.annotations[found]}"`]),
    ...(pod.priority === undefined || pod.priority === 0
      ? []
      : [`priority ${pod.priority}${pod.priorityClassName === undefined ? '' : ` (${pod.priorityClassName})`}`]),
  ]
}

function waitingRemedies({ pod, events, waiting }: PodPicture): readonly string[] {
  if (pod.nodeName !== undefined || waiting !== undefined) return []
  if (events.some(({ reason }) => reason === 'Nominated')) return ['a node is meant for it (see the event Nominated)']
  return ['joiner simulate says which requirement is in the way, and what would be bought for it']
}
