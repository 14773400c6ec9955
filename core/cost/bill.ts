import type { Life, VmSpan } from '../history/life.ts'

export const hourMs = 3_600_000

/** Epoch ms: `[fromMs, toMs)`. */
export interface TimeRange {
  readonly fromMs: number
  readonly toMs: number
}

/** A time that a VM cost, with its life. Spans of one NodeClaim never overlap. */
export interface BilledSpan extends TimeRange {
  readonly life: Life
  readonly vm: VmSpan
}

export interface BillLine {
  readonly key: string
  readonly usd: number
  readonly nodeHours: number
  /** Node-hours of sizes whose price is not known; they add nothing to `usd`. */
  readonly unpricedHours: number
  /** What the spot VMs among them would have cost more on demand, in USD, where both prices are known. */
  readonly spotDiscount: number
}

export interface BillTotal extends Omit<BillLine, 'key'> {
  readonly lines: readonly BillLine[]
}

/** Returns USD an hour of a size on demand; undefined when no list names it. */
export type OnDemandPrice = (instanceType: string) => number | undefined

/**
 * Returns the times that VMs cost within a window. A NodeClaim has one VM at a time: of two spans that overlap, the earlier one ends where the later
 * one begins, so a lifecycle that was started again is not billed twice. A span without an end lasts as long as its lifecycle runs; a lifecycle
 * that was terminated without one is billed to where its successor begins, or not at all.
 */
export function billedSpans(lives: readonly Life[], window: TimeRange): readonly BilledSpan[] {
  return [...Map.groupBy(lives, ({ workflowId }) => workflowId).values()].flatMap((ofClaim) => {
    const spans = ofClaim
      .flatMap((life) => life.vms.map((vm) => ({ life, vm })))
      .toSorted((a, b) => a.vm.fromMs - b.vm.fromMs)
    return spans.flatMap(({ life, vm }, at) => {
      const next = spans[at + 1]?.vm.fromMs ?? Number.POSITIVE_INFINITY
      const fromMs = Math.max(vm.fromMs, window.fromMs)
      const toMs = Math.min(endOf(life, vm, next), next, window.toMs)
      return toMs > fromMs ? [{ life, vm, fromMs, toMs }] : []
    })
  })
}

function endOf(life: Life, vm: VmSpan, nextMs: number): number {
  const known = vm.toMs ?? life.endedMs
  if (known !== undefined) return known
  return life.isRunning || Number.isFinite(nextMs) ? Number.POSITIVE_INFINITY : vm.fromMs
}

/** Returns what spans cost, in lines by key, the most expensive first. */
export function billOf(
  spans: readonly BilledSpan[],
  keyOf: (span: BilledSpan) => string,
  onDemand: OnDemandPrice,
): BillTotal {
  const lines = [...Map.groupBy(spans, keyOf)]
    .map(([key, own]) => ({ key, ...sumOf(own, onDemand) }))
    .toSorted((a, b) => b.usd - a.usd || b.nodeHours - a.nodeHours || (a.key < b.key ? -1 : 1))
  return { ...sumOf(spans, onDemand), lines }
}

function sumOf(spans: readonly BilledSpan[], onDemand: OnDemandPrice): Omit<BillLine, 'key'> {
  let [usd, nodeHours, unpricedHours, spotDiscount] = [0, 0, 0, 0]
  for (const { vm, fromMs, toMs } of spans) {
    const hours = (toMs - fromMs) / hourMs
    const { pricePerHour: price } = vm
    nodeHours += hours
    if (price === undefined) unpricedHours += hours
    else usd += price * hours
    const full = vm.capacityType === 'spot' ? onDemand(vm.instanceType) : undefined
    if (price !== undefined && full !== undefined) spotDiscount += Math.max(0, full - price) * hours
  }
  return { usd, nodeHours, unpricedHours, spotDiscount }
}

/** USD by key in one hour of the clock. */
export interface HourBill {
  /** Epoch ms: when the hour begins. */
  readonly atMs: number
  readonly byKey: Readonly<Record<string, number>>
}

/** Returns what spans cost in each hour of a window, the oldest first; hours without cost are empty. */
export function billByHour(
  spans: readonly BilledSpan[],
  window: TimeRange,
  keyOf: (span: BilledSpan) => string,
): readonly HourBill[] {
  const hours = new Map<number, Map<string, number>>()
  for (let atMs = hourOf(window.fromMs); atMs < window.toMs; atMs += hourMs) hours.set(atMs, new Map())
  for (const span of spans) {
    const key = keyOf(span)
    for (let atMs = hourOf(span.fromMs); atMs < span.toMs; atMs += hourMs) {
      const own = hours.get(atMs)
      const ms = Math.min(span.toMs, atMs + hourMs) - Math.max(span.fromMs, atMs)
      own?.set(key, (own.get(key) ?? 0) + ((span.vm.pricePerHour ?? 0) * ms) / hourMs)
    }
  }
  return [...hours].map(([atMs, byKey]) => ({ atMs, byKey: Object.fromEntries(byKey) }))
}

/** Returns the beginning of the hour of the clock that a time is in. */
export function hourOf(ms: number): number {
  return Math.floor(ms / hourMs) * hourMs
}
