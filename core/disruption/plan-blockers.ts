import { conditionOf, isTrue } from '../conditions.ts'
import { labels } from '../labels.ts'
import type { NodeClaim, NodePool } from '../objects.ts'
import { labelsOf, type StateNode } from '../scheduling/state-nodes.ts'
import { type DisruptionView, typeNamed } from './candidates.ts'
import { consolidatableAt } from './consolidatable.ts'
import { nodePrice } from './costs.ts'
import type { Evaluation } from './evaluate.ts'
import type { PlanBlocker, PlanOptions } from './plan.ts'

/** Every node within the options that an evaluation leaves alone, with what keeps it; the dearest first. */
export function planBlockers(
  evaluation: Evaluation,
  view: DisruptionView,
  options: PlanOptions,
): readonly PlanBlocker[] {
  const chosen = new Set(
    evaluation.commands.flatMap(({ candidates }) => candidates.map(({ nodeClaim }) => nodeClaim.metadata.name)),
  )
  const told = reasonsByClaim(evaluation, options)
  return view.nodes
    .flatMap((one): readonly PlanBlocker[] => {
      const { node, claim } = one
      const own = labelsOf(one)
      const nodePool = own[labels.nodePool]
      if (claim === undefined || nodePool === undefined || chosen.has(claim.metadata.name)) return []
      if (!isAskedFor(one, nodePool, options)) return []
      const reasons = told.get(claim.metadata.name) ?? [
        silentReason(claim, view.nodePools.get(nodePool), view, options),
      ]
      return [
        {
          nodeClaim: claim.metadata.name,
          ...(node === undefined ? {} : { node: node.metadata.name }),
          nodePool,
          reasons,
          forgone: nodePrice(own, typeNamed(view.instanceTypes.get(nodePool) ?? [], own[labels.instanceType])),
        },
      ]
    })
    .sort((a, b) => b.forgone - a.forgone || (a.nodeClaim < b.nodeClaim ? -1 : 1))
}

function isAskedFor({ node, claim }: StateNode, nodePool: string, { nodePools, nodes }: PlanOptions): boolean {
  if (nodePools?.includes(nodePool) === false) return false
  return (
    nodes === undefined ||
    [node?.metadata.name, claim?.metadata.name].some((name) => name !== undefined && nodes.includes(name))
  )
}

function reasonsByClaim(
  { blocked, notes, commands }: Evaluation,
  { budget }: PlanOptions,
): ReadonlyMap<string, readonly string[]> {
  const told = new Map<string, Set<string>>()
  const tell = (name: string, message: string) => told.set(name, (told.get(name) ?? new Set()).add(message))
  for (const { object, message } of blocked) if (object.kind === 'NodeClaim') tell(object.name, message)
  const taken = (pool: string) =>
    commands.flatMap(({ candidates }) => candidates).filter(({ nodePool }) => nodePool.metadata.name === pool).length
  for (const { candidate, outcome, message, event } of notes) {
    const pool = candidate.nodePool.metadata.name
    // What has an event stands among the blocked.
    if (outcome === 'chosen' || event !== undefined) continue
    const isOwn = outcome === 'budget' && budget !== undefined && taken(pool) >= budget
    tell(
      candidate.nodeClaim.metadata.name,
      isOwn ? `the budget that was asked for, ${budget} of each NodePool, is used up` : message,
    )
  }
  return new Map([...told].map(([name, messages]) => [name, [...messages]]))
}

/** Why nobody looked at a node, or said nothing about it. */
function silentReason(
  claim: NodeClaim,
  pool: NodePool | undefined,
  { now }: DisruptionView,
  { now: isForced = false, reasons }: PlanOptions,
): string {
  const at = pool === undefined ? undefined : consolidatableAt(claim, pool)
  const wanted = reasons === undefined ? '' : ` for reason ${reasons.join(' or ')}`
  if (!isForced && at !== undefined && (at > now || !isTrue(claim.status.conditions, 'Consolidatable')))
    return at > now
      ? `consolidateAfter of its NodePool is not over until ${new Date(at).toISOString()}; --now does not wait for it`
      : 'it is about to become consolidatable'
  if (
    reasons?.length === 1 &&
    reasons[0] === 'Drifted' &&
    conditionOf(claim.status.conditions, 'Drifted') === undefined
  )
    return 'it has not drifted'
  return `nothing is to be gained${wanted} beside what is planned`
}
