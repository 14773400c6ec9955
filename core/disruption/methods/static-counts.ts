import type { NodePool } from '../../objects.ts'
import { labels } from '../../requirements/labels.ts'
import { type DisruptionView, isMarked } from '../candidates.ts'

/** How many nodes of a static pool stay, leave, and are being deleted. */
export interface Counts {
  readonly active: number
  readonly leaving: number
  readonly deleting: number
}

/** Counts the nodes of a static pool. */
export function countsOf(pool: string, view: DisruptionView): Counts {
  const own = view.nodes.filter(({ claim }) => claim?.metadata.labels[labels.nodePool] === pool)
  const deleting = own.filter(({ claim }) => claim?.metadata.deletionTimestamp !== undefined).length
  const leaving = own.filter(
    ({ claim, node }) =>
      claim !== undefined &&
      node !== undefined &&
      claim.metadata.deletionTimestamp === undefined &&
      isMarked(claim, node, view),
  ).length
  return { active: own.length - deleting - leaving, leaving, deleting }
}

/** Returns how many more nodes the limit of a pool allows. */
export function roomOf({ limits }: NodePool, { active, leaving, deleting }: Counts): number {
  const limit = limits['nodes']
  if (limit === undefined) return Number.POSITIVE_INFINITY
  return Math.max(0, Number(limit.nano / 1_000_000_000n) - active - leaving - deleting)
}
