import type { History } from '../history/life.ts'
import {
  type BilledSpan,
  type BillLine,
  type BillTotal,
  billByHour,
  billedSpans,
  billOf,
  hourMs,
  hourOf,
  type OnDemandPrice,
  type TimeRange,
} from './bill.ts'
import type { LedgerHours } from './ledger-format.ts'
import { type Saving, savingsIn } from './savings.ts'
import { type LedgerHour, sumOfPools } from './slice.ts'

/** USD an hour now; undefined when no list names the size. */
export type PriceOf = (instanceType: string, capacityType: string) => number | undefined

export interface CostInput {
  /** What Temporal knows; absent: it was not asked or did not answer. */
  readonly history?: History
  /** What planners stored; absent: it could not be read. */
  readonly ledger?: LedgerHours
  readonly priceOf: PriceOf
  readonly window: TimeRange
}

interface CostHour extends KnownHour {
  readonly byNodePool: Readonly<Record<string, number>>
  /** USD that no pod requested; absent: no planner watched. */
  readonly idle?: number
}

export interface ShareLine {
  readonly key: string
  readonly usd: number
}

/** How the price of the nodes was shared, as far as planners watched. */
interface CostShares {
  readonly namespaces: readonly ShareLine[]
  /** Namespaces beyond those that are kept by name. */
  readonly otherNamespaces: number
  readonly workloads: readonly ShareLine[]
  readonly otherWorkloads: number
  readonly idle: number
  /** What nodes cost less all of these: nobody watched. */
  readonly unknown: number
  /** The time that was watched, in ms. */
  readonly watchedMs: number
}

export interface Cost {
  readonly window: TimeRange
  /** The oldest first. */
  readonly hours: readonly CostHour[]
  readonly total: BillTotal
  /** Each VM with its time; only of the time that Temporal knows. */
  readonly spans: readonly BilledSpan[]
  /** Epoch ms from which Temporal knows everything; absent: it was not asked. */
  readonly knownSinceMs?: number
  /** Absent: the ledger could not be read. */
  readonly shares?: CostShares
  readonly savings: readonly Saving[]
  readonly onDemand: OnDemandPrice
  readonly forecastMonth?: number
}

/**
 * Returns what nodes cost in a window, which begins with an hour of the clock. NodePools come from Temporal as far back as it knows everything, and before that from the ledger.
 * The shares of namespaces come from the ledger; what it lacks of the price is `unknown`.
 */
export function costOf({ history, ledger, priceOf, window }: CostInput): Cost {
  const knownSinceMs = history === undefined ? undefined : firstKnown(history, window)
  const billed = { fromMs: knownSinceMs ?? window.toMs, toMs: window.toMs }
  const spans = billedSpans(history?.lives ?? [], billed).map((span) => priced(span, priceOf))
  const onDemand: OnDemandPrice = (size) => priceOf(size, 'on-demand')
  const hours = hoursOf(spans, { window, billed, ledger: ledger ?? new Map() })
  const before = [...(ledger ?? [])].filter(([atMs]) => atMs < billed.fromMs).map(([, hour]) => hour)
  const total = totalOf(billOf(spans, poolOfSpan, onDemand), before)
  const forecast = forecastMonth(hours, window.toMs)
  return {
    window,
    hours,
    total,
    spans,
    ...(knownSinceMs === undefined ? {} : { knownSinceMs }),
    ...(ledger === undefined ? {} : { shares: sharesOf(ledger, total.usd) }),
    onDemand,
    savings: history === undefined ? [] : savingsIn(history.commands, history.lives, window),
    ...(forecast === undefined ? {} : { forecastMonth: forecast }),
  }
}

/** The first hour of the clock of which Temporal knows everything. */
function firstKnown({ sinceMs }: History, window: TimeRange): number {
  return sinceMs <= window.fromMs ? window.fromMs : Math.min(window.toMs, Math.ceil(sinceMs / hourMs) * hourMs)
}

/** A VM that was launched a moment ago has its price from the list of now. */
function priced(span: BilledSpan, priceOf: PriceOf): BilledSpan {
  const { vm } = span
  if (vm.pricePerHour !== undefined) return span
  const pricePerHour = priceOf(vm.instanceType, vm.capacityType)
  return pricePerHour === undefined ? span : { ...span, vm: { ...vm, pricePerHour } }
}

function poolOfSpan({ life }: BilledSpan): string {
  return life.nodePool ?? ''
}

interface HoursInput {
  readonly window: TimeRange
  /** The part of the window that Temporal knows. */
  readonly billed: TimeRange
  readonly ledger: LedgerHours
}

function hoursOf(spans: readonly BilledSpan[], { window, billed, ledger }: HoursInput): readonly CostHour[] {
  const known = new Map(billByHour(spans, billed, poolOfSpan).map(({ atMs, byKey }) => [atMs, byKey]))
  const hours: CostHour[] = []
  for (let atMs = hourOf(window.fromMs); atMs < window.toMs; atMs += hourMs) {
    const stored = ledger.get(atMs)
    const byNodePool = known.get(atMs) ?? poolsOf(stored)
    const idle = stored === undefined ? {} : { idle: sumOfPools(stored.pools.values()).idle }
    const wholeMs = Math.min(window.toMs, atMs + hourMs) - Math.max(window.fromMs, atMs)
    const knownMs = known.has(atMs) ? wholeMs : coveredMs(stored)
    hours.push({ atMs, byNodePool, usd: sum(Object.values(byNodePool)), knownMs, ...idle })
  }
  return hours
}

function poolsOf(hour: LedgerHour | undefined): Readonly<Record<string, number>> {
  return Object.fromEntries([...(hour?.pools ?? [])].map(([pool, { usd }]) => [pool, usd]))
}

function coveredMs(hour: LedgerHour | undefined): number {
  return sum((hour?.covered ?? []).map(({ fromMs, toMs }) => toMs - fromMs))
}

/** The bill with what the ledger knows of the time before. */
function totalOf(bill: BillTotal, before: readonly LedgerHour[]): BillTotal {
  const lines = new Map<string, BillLine>(bill.lines.map((line) => [line.key, line]))
  for (const [key, cost] of before.flatMap(({ pools }) => [...pools]))
    lines.set(key, { key, ...added(lines.get(key) ?? { ...nothing, key }, cost) })
  const earlier = sumOfPools(before.flatMap(({ pools }) => [...pools.values()]))
  return {
    ...added(bill, earlier),
    lines: [...lines.values()].toSorted((a, b) => b.usd - a.usd || (a.key < b.key ? -1 : 1)),
  }
}

const nothing = { usd: 0, nodeHours: 0, unpricedHours: 0, spotDiscount: 0 }
type Amounts = typeof nothing

function added(to: Amounts, { usd, nodeHours, unpricedHours }: Omit<Amounts, 'spotDiscount'>): Amounts {
  return {
    usd: to.usd + usd,
    nodeHours: to.nodeHours + nodeHours,
    unpricedHours: to.unpricedHours + unpricedHours,
    spotDiscount: to.spotDiscount,
  }
}

function sharesOf(ledger: LedgerHours, totalUsd: number): CostShares {
  const hours = [...ledger.values()]
  const { usd, idle } = sumOfPools(hours.flatMap(({ pools }) => [...pools.values()]))
  return {
    namespaces: linesOf(hours.map(({ namespaces }) => namespaces.byKey)),
    otherNamespaces: sum(hours.map(({ namespaces }) => namespaces.other)),
    workloads: linesOf(hours.map(({ workloads }) => workloads.byKey)),
    otherWorkloads: sum(hours.map(({ workloads }) => workloads.other)),
    idle,
    unknown: totalUsd - usd,
    watchedMs: sum(hours.map(coveredMs)),
  }
}

function linesOf(maps: readonly ReadonlyMap<string, number>[]): readonly ShareLine[] {
  const sums = new Map<string, number>()
  for (const [key, usd] of maps.flatMap((map) => [...map])) sums.set(key, (sums.get(key) ?? 0) + usd)
  return [...sums].map(([key, usd]) => ({ key, usd })).toSorted((a, b) => b.usd - a.usd || (a.key < b.key ? -1 : 1))
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}

/** What an hour of the clock cost; absent from a list: not known. */
interface KnownHour {
  readonly atMs: number
  readonly usd: number
  /** The part of the hour that is known, in ms. */
  readonly knownMs: number
}

/** Shortest known time that a month can be told from. */
const leastMs = hourMs

/**
 * Returns the cost of the calendar month (UTC) of `now`: what is known of it, and the rest at the average of the known hours, the oldest of which is first.
 * Known hours before the first node are no part of the average, and nothing was before them. Undefined when less than an hour with nodes is known.
 */
export function forecastMonth(hours: readonly KnownHour[], now: number): number | undefined {
  const month = monthOf(now)
  const first = hours.findIndex(({ usd }) => usd > 0)
  const since = first < 0 ? hours : hours.slice(first)
  const knownMs = sum(since.map((hour) => hour.knownMs))
  if (knownMs < leastMs) return undefined
  const average = sum(since.map(({ usd }) => usd)) / knownMs
  const inMonth = since.filter(({ atMs }) => atMs >= month.fromMs && atMs < month.toMs)
  const wasNothing = hours.slice(0, Math.max(0, first)).some((hour) => hour.knownMs > 0)
  const fromMs = wasNothing ? Math.max(month.fromMs, since[0]?.atMs ?? 0) : month.fromMs
  const restMs = month.toMs - fromMs - sum(inMonth.map((hour) => hour.knownMs))
  return sum(inMonth.map(({ usd }) => usd)) + Math.max(0, restMs) * average
}

/** Returns the calendar month (UTC) that a time is in. */
function monthOf(ms: number): TimeRange {
  const date = new Date(ms)
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()]
  return { fromMs: Date.UTC(year, month), toMs: Date.UTC(year, month + 1) }
}
