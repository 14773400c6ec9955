import type { CostReport } from '../ui/contract.ts'
import type { ReadCost } from './read-cost.ts'

const otherKeys = '(other)'

/** Returns the report as the page shows it. Hours of which nothing is known are left out. */
export function costReport({ notes, hours, total, shares, savings, forecastMonth }: ReadCost): CostReport {
  const other =
    shares === undefined || shares.otherNamespaces === 0 ? [] : [{ key: otherKeys, usd: shares.otherNamespaces }]
  return {
    notes,
    hours: hours.filter(({ knownMs }) => knownMs > 0).map(({ atMs, byNodePool }) => ({ atMs, byNodePool })),
    byNodePool: total.lines.map(({ key, usd, nodeHours }) => ({ key, usd, nodeHours })),
    byNamespace: [...(shares?.namespaces ?? []), ...other],
    ...(shares === undefined ? {} : { idle: shares.idle }),
    total: total.usd,
    saved: savings.reduce((sum, { usd }) => sum + usd, 0),
    ...(forecastMonth === undefined ? {} : { forecastMonth }),
  }
}
