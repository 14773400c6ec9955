// How people read the report's parts, in a terminal as on a page.
import type { PoolBill } from './bill.ts'
import type { Holder } from './planner/held.ts'

/** A pool as its row names it. */
export function poolName({ kind, name }: Pick<PoolBill, 'kind' | 'name'>): string {
  return kind === 'other' ? 'without a pool' : `${kind} ${name}`
}

/** What keeps nodes, as its row names it. */
export function holderName({ kind, name, annotation }: Holder): string {
  if (kind === 'PodDisruptionBudget') return `${kind} ${name}`
  return kind === 'node annotation' ? `${annotation} on nodes` : `${annotation} on pods of ${name}`
}
