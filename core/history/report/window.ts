import type { TimeRange } from '../../cost/bill.ts'
import type { Life } from '../life.ts'

/** What a NodePool is called that a NodeClaim does not have. */
export const noPool = '(none)'

export function isWithin({ fromMs, toMs }: TimeRange, ms: number | undefined): boolean {
  return ms !== undefined && ms >= fromMs && ms < toMs
}

/** Returns when a lifecycle ended; infinity while it runs. An end before the beginning, as only forged facts have it, is the beginning. */
export function endOf({ createdMs, endedMs }: Pick<Life, 'createdMs' | 'endedMs'>): number {
  return endedMs === undefined ? Number.POSITIVE_INFINITY : Math.max(createdMs, endedMs)
}

/** Orders by several keys: the first that differs decides. */
export function inOrder<T>(...keys: readonly ((item: T) => number | string)[]): (a: T, b: T) => number {
  return (a, b) => {
    for (const key of keys) {
      const [left, right] = [key(a), key(b)]
      if (left !== right) return left < right ? -1 : 1
    }
    return 0
  }
}
