/** How far the build of one family of servers is. */
export interface BuildState {
  readonly servers: readonly string[]
  readonly phase: 'fetching' | 'waiting' | 'building' | 'built'
  /** Go files that it compiles, beside those that Go has kept from before; 0 while it is fetching. */
  readonly files: number
  readonly compiled: number
}

/** The 8 servers of the demo have 35,000 files, which took 11 minutes on 2 cores. */
const filesPerCoreSecond = 27
/** Below this share the machine's own speed is not known: the standard library comes first, and is quick. */
const knownFrom = 0.05

/** Builds with the most to compile first, so that no long one is left for the end, when it would be alone. */
export function longestFirst<T extends Pick<BuildState, 'files'>>(builds: readonly T[]): readonly T[] {
  return builds.toSorted((one, other) => other.files - one.files)
}

/** Says what is built, how much is left, and how long that takes. `buildingMs`: since the first build began. */
export function progressText(builds: readonly BuildState[], buildingMs: number, cores: number): string {
  const fetching = builds.filter(({ phase }) => phase === 'fetching')
  if (fetching.length > 0) return `fetching the source of ${serversOf(fetching)}`
  const sum = (pick: (build: BuildState) => number) => builds.reduce((total, build) => total + pick(build), 0)
  const files = sum((build) => build.files)
  const compiled = sum((build) => (build.phase === 'built' ? build.files : build.compiled))
  const share = files === 0 ? 1 : compiled / files
  const leftMs =
    share < knownFrom ? (1000 * (files - compiled)) / (filesPerCoreSecond * cores) : (buildingMs * (1 - share)) / share
  const now = builds.filter(({ phase }) => phase === 'building')
  const waiting = builds.filter(({ phase }) => phase === 'waiting')
  return [
    `${percent(share)} of the servers are compiled, about ${Math.max(1, Math.round(leftMs / 60_000))} min left: `,
    now
      .map((build) => `${serversOf([build])} (${percent(build.files === 0 ? 1 : build.compiled / build.files)})`)
      .join(', '),
    waiting.length === 0 ? '' : `; then ${serversOf(waiting)}`,
  ].join('')
}

function serversOf(builds: readonly BuildState[]): string {
  return builds.flatMap(({ servers }) => servers).join(', ')
}

/** Whole percent. What is compiled is linked afterwards, so it is not at its end before it is built. */
function percent(share: number): string {
  return `${Math.min(99, Math.floor(100 * share))}%`
}
