import { eventSection, moveLines, section } from './node-text.ts'
import type { PodReport } from './pod-report.ts'

/** The report on a pod for people. `now`: epoch ms. */
export function podText(report: PodReport, now: number): string {
  const { pod, phase, node, nodePool, state, keeps, moves, budgets, evictionCost: cost, costFrom, remedies } = report
  const where =
    node === undefined ? 'on no node' : `on ${node}${nodePool === undefined ? '' : ` of NodePool ${nodePool}`}`
  const isHeld = keeps.length > 0 || moves.length > 0
  return [
    `Pod ${pod}: ${phase}, ${where}`,
    ...section('state', state),
    ...(node === undefined ? [] : section('keeps its node', isHeld ? keeps : ['nothing of this pod does'])),
    ...section('found by the last evaluation', moves.flatMap(moveLines)),
    ...section('disruption budgets', budgets),
    ...(cost === undefined
      ? []
      : section('cost of its eviction', [`${cost.toFixed(3)} (a common pod: 1)`, ...costFrom])),
    ...section(node === undefined ? 'what to do' : 'what would let the node go', remedies),
    ...(node === undefined ? [] : [`more about the node: joiner why node ${node}`]),
    ...eventSection(report.events, now),
  ].join('\n')
}
