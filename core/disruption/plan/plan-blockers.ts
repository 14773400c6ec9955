import { labels } from '../../requirements/labels.ts'
import type { DisruptionView } from '../candidates.ts'
import { consolidatableAt } from '../consolidatable.ts'
import type { Evaluation } from '../evaluate.ts'
import type { Move, Verdict } from '../verdicts/verdict.ts'
import { verdictsOf } from '../verdicts/verdicts.ts'
import type { PlanBlocker, PlanOptions } from './plan.ts'

/** Obstacles to disrupting a node that could go. Without one, only causes that are not about the node are listed. */
const weighty: ReadonlySet<Move['outcome']> = new Set(['blocked', 'hindered', 'rejected', 'budget'])

/** Returns every node within the options that an evaluation leaves alone, with its obstacles as in verdicts; the most expensive first. */
export function planBlockers(
  evaluation: Evaluation,
  view: DisruptionView,
  options: PlanOptions,
): readonly PlanBlocker[] {
  const chosen = new Set(
    evaluation.commands.flatMap(({ candidates }) => candidates.map(({ nodeClaim }) => nodeClaim.metadata.name)),
  )
  const waits = options.now === true ? new Map<string, string>() : windowEnds(view)
  return verdictsOf(evaluation, view, () => undefined)
    .filter(({ nodeClaim, nodePool }) => nodePool !== '' && !chosen.has(nodeClaim))
    .map((verdict) => {
      const waitsUntil = waits.get(verdict.nodeClaim)
      return { ...blocker(verdict, evaluation, options), ...(waitsUntil === undefined ? {} : { waitsUntil }) }
    })
    .sort((a, b) => b.price - a.price || (a.nodeClaim < b.nodeClaim ? -1 : 1))
}

function blocker(
  { nodeClaim, node, nodePool, price = 0, moves }: Verdict,
  { commands }: Evaluation,
  { budget }: PlanOptions,
): PlanBlocker {
  const taken = commands
    .flatMap(({ candidates }) => candidates)
    .filter((each) => each.nodePool.metadata.name === nodePool).length
  const isOwnBudget = budget !== undefined && taken >= budget
  const reported = moves.filter(({ outcome }) => weighty.has(outcome))
  return {
    nodeClaim,
    ...(node === undefined ? {} : { node }),
    nodePool,
    price,
    moves: (reported.length === 0 ? moves : reported).map((move) =>
      move.outcome === 'budget' && isOwnBudget ? { ...move, cause: { kind: 'requested-budget', nodes: budget } } : move,
    ),
    forgone: Math.max(0, ...moves.map(({ savingsForgone = 0 }) => savingsForgone)),
  }
}

/** Returns until when nodes are left alone because pods came or went, by NodeClaim. */
function windowEnds({ nodes, nodePools, now }: DisruptionView): ReadonlyMap<string, string> {
  return new Map(
    nodes.flatMap(({ claim }) => {
      const pool = nodePools.get(claim?.metadata.labels[labels.nodePool] ?? '')
      const at = claim === undefined || pool === undefined ? undefined : consolidatableAt(claim, pool)
      return claim === undefined || at === undefined || at <= now
        ? []
        : [[claim.metadata.name, new Date(at).toISOString()] as const]
    }),
  )
}
