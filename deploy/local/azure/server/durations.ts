import { createHash } from 'node:crypto'

/**
 * How long something takes, in milliseconds: always the same, evenly between two bounds, or log-normal, as waits in a cloud are, with a median
 * and a 99th percentile.
 */
export type Duration =
  | number
  | { readonly kind: 'uniform'; readonly minMs: number; readonly maxMs: number }
  | { readonly kind: 'lognormal'; readonly p50Ms: number; readonly p99Ms: number }

/** Standard deviations from the median to the 99th percentile. */
const z99 = 2.326347874

/** A duration for one VM: the same seed, VM and subject always give the same. */
export function sampleMs(duration: Duration | undefined, seed: number | string, subject: string): number {
  if (duration === undefined) return 0
  if (typeof duration === 'number') return duration
  const [first, second] = draws(`${seed}/${subject}`)
  if (duration.kind === 'uniform') return Math.round(duration.minMs + first * (duration.maxMs - duration.minMs))
  const normal = Math.sqrt(-2 * Math.log(1 - first)) * Math.cos(2 * Math.PI * second)
  const spread = Math.log(duration.p99Ms / duration.p50Ms) / z99
  return Math.round(duration.p50Ms * Math.exp(spread * normal))
}

/** A time after which something that happens so often an hour happens first. */
export function sampleEventMs(perHour: number, seed: number | string, subject: string): number {
  return Math.round((-Math.log(1 - draws(`${seed}/${subject}`)[0]) / perHour) * 3_600_000)
}

/** Two numbers from 0 to 1, 1 excluded, that follow from a text. */
function draws(text: string): readonly [number, number] {
  const hash = createHash('sha256').update(text).digest()
  return [hash.readUInt32BE(0) / 2 ** 32, hash.readUInt32BE(4) / 2 ** 32]
}
