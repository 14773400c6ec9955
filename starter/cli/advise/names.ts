// How people read the report's parts, in a terminal as on a page.
import type { PoolBill } from './bill.ts'
import type { Holder } from './planner/held.ts'

/** A part of a whole, in parentheses; nothing of nothing. */
export function shareText(part: number, whole: number): string {
  return whole > 0 ? ` (${((100 * part) / whole).toFixed(1)} %)` : ''
}

/** A pool as its row names it. */
export function poolName({ kind, name }: Pick<PoolBill, 'kind' | 'name'>): string {
  return kind === 'other' ? 'without a pool' : `${kind} ${name}`
}

/** A share in percent; nothing where it is not known. */
export function percent(share: number | undefined): string {
  return share === undefined ? '' : `${Math.round(share * 100)} %`
}

/** What keeps nodes, as its row names it. */
export function holderName({ kind, name, annotation }: Holder): string {
  if (kind === 'PodDisruptionBudget') return `${kind} ${name}`
  return kind === 'node annotation' ? `${annotation} on nodes` : `${annotation} on pods of ${name}`
}
