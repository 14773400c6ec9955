// Which group each test file belongs to, and what a group may cost.
import { matchesGlob } from 'node:path'

export type GroupName = 'matrix' | 'scenarios' | 'unit' | 'servers' | 'all' | 'parity'

/** Tests of one kind. They run together, and no others beside them. */
export interface Group {
  readonly name: GroupName
  /** Wall time on 2 cores, in minutes. Unset: the group is no part of `npm test`. */
  readonly minutes?: number
  readonly files: readonly string[]
}

/** How many suites of `npm test` may start a world of real servers. */
export const mostWorlds = 12

/** In the order in which they run. A file belongs to the first group that has it. */
export const groups: readonly Group[] = [
  // Of its five files two take most of the time; a group of one file would leave a core idle.
  {
    name: 'matrix',
    minutes: 2,
    files: ['test/fast/**/*crash*.test.ts', 'test/{chaos,fast,scenarios}/**/*seeds.test.ts'],
  },
  { name: 'scenarios', minutes: 1, files: ['test/scenarios/**/*.scenario.ts'] },
  { name: 'unit', minutes: 2.5, files: ['**/+([^.]).test.ts'] },
  { name: 'servers', minutes: 6, files: ['**/+([^.]).servers.test.ts'] },
  { name: 'all', files: ['**/+([^.]).all.test.ts'] },
  { name: 'parity', files: ['test/fast/**/+([^.]).parity.test.ts'] },
]

/** The group of a file, by its path from the root of the repository. Undefined: nothing runs it. */
export function groupOf(path: string): Group | undefined {
  return groups.find(({ files }) => files.some((pattern) => path === pattern || matchesGlob(path, pattern)))
}

/** The budget of a group in minutes, if it has one. */
export function budgetOf(name: string): number | undefined {
  return groups.find((group) => group.name === name)?.minutes
}

/** What the runner has to know to find the files of a group. `leftOut`: files that do not run. */
export function filesOf(
  name: GroupName,
  leftOut: readonly string[] = [],
): { readonly include: string[]; readonly exclude: string[] } {
  const at = groups.findIndex((group) => group.name === name)
  const earlier = groups.slice(0, at).flatMap(({ files }) => files)
  return { include: [...(groups[at]?.files ?? [])], exclude: ['**/node_modules/**', ...earlier, ...leftOut] }
}
