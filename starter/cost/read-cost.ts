import type { Client } from '@temporalio/client'
import { readLedger } from '../../activities/cost/ledger-store.ts'
import type { KubernetesClient } from '../../activities/kubernetes/client/client.ts'
import { faultText, type NoteFaults } from '../../api/kept/document.ts'
import { hourMs, hourOf } from '../../core/cost/bill.ts'
import type { LedgerHours } from '../../core/cost/ledger-format.ts'
import { type Cost, costOf } from '../../core/cost/report.ts'
import type { History } from '../../core/history/life.ts'
import { timeText } from '../../core/values/time.ts'
import { readHistory } from '../history/lives.ts'
import { Adornments, missingLines } from '../picture/missing.ts'
import { type FoundPrices, type KeptPrices, readPrices } from '../view/prices.ts'

export interface CostSources {
  /** Temporal's. */
  readonly client: Client
  readonly kubernetes: KubernetesClient
  /** Joiner's, in Kubernetes. */
  readonly namespace: string
  readonly cluster: string
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
export async function readCost(from: CostSources, { sinceMs, nowMs }: CostTime): Promise<ReadCost> {
  const { client, kubernetes, namespace, cluster } = from
  const window = { fromMs: hourOf(sinceMs), toMs: nowMs }
  const sources = new Adornments()
  const damaged: string[] = []
  const note: NoteFaults = (name, faults) =>
    damaged.push(...faults.map((fault) => `${faultText(name, namespace, fault)}.`))
  const source = { client: kubernetes, namespace, note }
  const [history, ledger, found] = await Promise.all([
    readHistory(client, { cluster, sinceMs: window.fromMs, nowMs }),
    sources.read('ConfigMaps joiner-cost-N (who shared)', readLedger(source, window)),
    sources.read(
      'ConfigMap joiner-prices',
      readPrices(source, () => nowMs),
    ),
  ])
  const prices = found?.kind === 'read' ? found : undefined
  const cost = costOf({
    history,
    priceOf: prices?.priceOf ?? (() => undefined),
    window,
    ...(ledger === undefined ? {} : { ledger }),
  })
  const missing = missingLines(sources.missing).map((line) => `Not known: ${line}.`)
  return { ...cost, notes: [...missing, ...damaged, ...notesOf(cost, { history, ledger, prices, found })] }
}

interface Known {
  readonly history: History
  readonly ledger: LedgerHours | undefined
  readonly prices: KeptPrices | undefined
  readonly found: FoundPrices | undefined
}

function notesOf(cost: Cost, { history, ledger, prices, found }: Known): readonly string[] {
  const { window, total, knownSinceMs = window.toMs, shares } = cost
  const { retentionMs, unreadable } = history
  const estimates = cost.spans.filter(({ vm }) => vm.isEstimate === true).length
  const unwatchedMs = window.toMs - window.fromMs - (shares?.watchedMs ?? 0)
  return [
    `Prices are in USD, of VMs alone, without discounts of a contract: ${priceSource(prices, found, window.toMs)}. A VM keeps the price of its launch.`,
    ...(knownSinceMs > window.fromMs
      ? [
          `Temporal keeps ended lifecycles for ${hours(retentionMs ?? 0)} h: what was before ${timeText(knownSinceMs)} comes from the planners' ledger, which goes back 30 days and knows no labels and no spot discount.`,
        ]
      : []),
    ...(ledger !== undefined && unwatchedMs > unstoredMs
      ? [
          `Planners watched ${hours(shares?.watchedMs ?? 0)} of ${hours(window.toMs - window.fromMs)} h; who shared the rest is unknown.`,
        ]
      : []),
    ...(total.unpricedHours > 0.005
      ? [`${total.unpricedHours.toFixed(2)} node-hours of sizes without a known price are not in the sums.`]
      : []),
    ...(estimates > 0
      ? [`${estimates} VMs have an estimated price: no price list had been read at their launch.`]
      : []),
    ...(unreadable > 0
      ? [
          `${unreadable} lifecycles have no readable facts and are not in the sums: terminated runs, or an older version of Joiner.`,
        ]
      : []),
  ]
}

function priceSource(prices: KeptPrices | undefined, found: FoundPrices | undefined, now: number): string {
  if (found === undefined) return 'whether a price list is stored in the cluster is not known'
  if (prices === undefined) return 'no price list is stored in the cluster'
  return `Azure's retail list of ${prices.region}, read ${hours(now - prices.readAtMs)} h ago`
}

function hours(ms: number): string {
  return String(Math.round((ms / hourMs) * 10) / 10)
}
