import { type Document, type Part, section } from '../../document/document.ts'
import { ago, counted } from '../../document/words.ts'
import { eventSection, movePart } from './node-text.ts'
import type { PodReport } from './pod-report.ts'
import type { WaitingReport } from './waiting.ts'

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
