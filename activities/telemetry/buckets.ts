/** Upstream's buckets of durations, in seconds (reference/karpenter-core.md 6.1). */
export const durationBuckets = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.25, 1.5, 1.75, 2,
  2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60, 120, 150, 300, 450, 600,
]

/** `count` upper bounds, each twice the one before. */
export function doublingBuckets(first: number, count: number): number[] {
  return Array.from({ length: count }, (_, index) => first * 2 ** index)
}

/** Upstream's quantiles of summaries: smallest, median, 90 %, 99 %, largest. */
export const summaryQuantiles = [0, 0.5, 0.9, 0.99, 1]

const hour = 3600
const day = 24 * hour

/** Buckets of node lifetimes, in seconds: from a quarter of an hour to 30 days. */
export const lifetimeBuckets = [
  ...[0.25, 0.5, 0.75, 1, 2, 4, 6, 8, 10, 12, 16, 20].map((hours) => hours * hour),
  ...[1, 2, 3, 5, 10, 15, 20, 25, 30].map((days) => days * day),
]
