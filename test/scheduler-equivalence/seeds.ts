/** How many clusters are drawn. `CLUSTERS=20000 FIRST_CLUSTER=100000` looks at others, and at more of them; `npm run test:all` at 3,000. */
const clusters = Number(process.env['CLUSTERS'] ?? 200)
const first = Number(process.env['FIRST_CLUSTER'] ?? 0)

/** The seeds of this run. */
export const seeds = Array.from({ length: clusters }, (_, index) => first + index)

/** The seeds in groups of at most so many, each with its first. */
export function batchesOf(size: number): readonly (readonly [first: number, seeds: readonly number[]])[] {
  return [...Map.groupBy(seeds, (seed) => Math.floor((seed - first) / size)).values()].map((all) => [
    all[0] ?? first,
    all,
  ])
}
