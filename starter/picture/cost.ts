import type { KubernetesClient } from '../../activities/kubernetes/client/client.ts'
import { hourMs, hourOf } from '../../core/cost/bill.ts'
import type { LedgerHours } from '../../core/cost/ledger-format.ts'
import { type Cost, costOf } from '../../core/cost/report.ts'
import type { History } from '../../core/history/life.ts'
import { timeText } from '../../core/values/time.ts'
import { present } from '../document/words.ts'
import type { TemporalAccess } from '../temporal/connect.ts'
import type { CostReport } from '../ui/contract.ts'
import { missingLines } from './gaps.ts'
import { historyOf } from './history.ts'
import { type KeptPrices, ledgerOf, prices } from './kept.ts'
import { readPicture } from './picture.ts'

export interface CostSources {
  readonly access: TemporalAccess
  readonly kubernetes: KubernetesClient
  /** Joiner's, in Kubernetes. */
  readonly namespace: string
}

export interface CostTime {
  /** Epoch ms; the hour of the clock that it is in counts whole. */
  readonly sinceMs: number
  readonly nowMs: number
}

/** What nodes cost, with what there is to know about the numbers, a sentence each. */
export interface ReadCost extends Cost {
  readonly notes: readonly string[]
}

/** Hours before now that may not be stored yet are not worth a note. */
const unstoredMs = 2 * 60_000

/**
 * Reads what nodes cost: lifecycles from Temporal, shares and prices from Joiner's ConfigMaps. What of the cluster cannot be read is named in the notes. Errors:
 * Temporal's.
 */
export async function readCost(
  { access, kubernetes, namespace }: CostSources,
  { sinceMs, nowMs }: CostTime,
): Promise<ReadCost> {
  const window = { fromMs: hourOf(sinceMs), toMs: nowMs }
  const [history, picture] = await Promise.all([
    historyOf(access, { sinceMs: window.fromMs, nowMs }),
    readPicture({ client: kubernetes, namespace, now: nowMs }, { ledger: ledgerOf(window), prices }),
  ])
  const { ledger } = picture
  const list = picture.prices?.list
  const cost = costOf({ history, priceOf: list?.priceOf ?? (() => undefined), window, ...(ledger && { ledger }) })
  const lost = [...missingLines(picture.missing).map((line) => `Not known: ${line}`), ...picture.damaged].map(
    (line) => `${line}.`,
  )
  return { ...cost, notes: [...lost, ...notesOf(cost, { history, ledger, prices: picture.prices })] }
}

interface Known {
  readonly history: History
  readonly ledger: LedgerHours | undefined
  readonly prices: { readonly list: KeptPrices | undefined } | undefined
}

function notesOf(cost: Cost, { history, ledger, prices }: Known): readonly string[] {
  const { window, total, knownSinceMs = window.toMs, shares } = cost
  const { retentionMs, unreadable } = history
  const estimates = cost.spans.filter(({ vm }) => vm.isEstimate === true).length
  const unwatchedMs = window.toMs - window.fromMs - (shares?.watchedMs ?? 0)
  return present(
    `Prices are in USD, of VMs alone, without discounts of a contract: ${priceSource(prices, window.toMs)}. A VM keeps the price of its launch.`,
    knownSinceMs > window.fromMs &&
      `Temporal keeps ended lifecycles for ${hours(retentionMs ?? 0)} h: what was before ${timeText(knownSinceMs)} comes from the planners' ledger, which goes back 30 days and knows no labels and no spot discount.`,
    ledger !== undefined &&
      unwatchedMs > unstoredMs &&
      `Planners watched ${hours(shares?.watchedMs ?? 0)} of ${hours(window.toMs - window.fromMs)} h; who shared the rest is unknown.`,
    total.unpricedHours > 0.005 &&
      `${total.unpricedHours.toFixed(2)} node-hours of sizes without a known price are not in the sums.`,
    estimates > 0 && `${estimates} VMs have an estimated price: no price list had been read at their launch.`,
    unreadable > 0 &&
      `${unreadable} lifecycles have no readable facts and are not in the sums: terminated runs, or an older version of Joiner.`,
  )
}

function priceSource(prices: Known['prices'], now: number): string {
  if (prices === undefined) return 'whether a price list is stored in the cluster is not known'
  const { list } = prices
  if (list === undefined) return 'no price list is stored in the cluster'
  return `Azure's retail list of ${list.region}, read ${hours(now - list.readAtMs)} h ago`
}

function hours(ms: number): string {
  return String(Math.round((ms / hourMs) * 10) / 10)
}

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
