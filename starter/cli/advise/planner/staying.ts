import type { DisruptionView } from '../../../../core/disruption/candidates.ts'
import type { Evaluation } from '../../../../core/disruption/evaluate.ts'
import type { PlanOptions } from '../../../../core/disruption/plan/plan.ts'
import { planBlockers } from '../../../../core/disruption/plan/plan-blockers.ts'
import { causeTitle } from '../../../../core/disruption/verdicts/cause-text.ts'
import type { Node } from '../../../../core/objects.ts'

/** Nodes that a pass leaves alone for causes of one kind. */
export interface StayingNodes {
  readonly cause: string
  /** Of the first of them. */
  readonly example: string
  readonly firstNode: string
  readonly nodes: number
  /** USD an hour. */
  readonly perHour: number
}

/** Returns why nodes stay, by the first obstacle of each, the most expensive first. */
export function stayingNodes(
  evaluation: Evaluation,
  view: DisruptionView,
  { options, priceOf }: { readonly options: PlanOptions; readonly priceOf: (node: Node) => number | undefined },
): readonly StayingNodes[] {
  const nodes = new Map(
    view.nodes.flatMap(({ node }) => (node === undefined ? [] : [[node.metadata.name, node] as const])),
  )
  const found = new Map<string, StayingNodes>()
  for (const { node: name = '', moves } of planBlockers(evaluation, view, options)) {
    const [move] = moves
    const node = nodes.get(name)
    if (move === undefined || node === undefined) continue
    const { kind } = move.cause
    const before = found.get(kind) ?? {
      cause: kind,
      example: causeTitle(move.cause),
      firstNode: name,
      nodes: 0,
      perHour: 0,
    }
    found.set(kind, { ...before, nodes: before.nodes + 1, perHour: before.perHour + (priceOf(node) ?? 0) })
  }
  return [...found.values()].toSorted((a, b) => b.perHour - a.perHour || b.nodes - a.nodes)
}
