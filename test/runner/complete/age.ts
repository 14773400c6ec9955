import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../../', import.meta.url))

/** How many commits may follow a complete run. */
export const mostCommits = 40

/** A warning when the last complete run is long ago, by its commit. Undefined: it is not, or this clone does not know. */
export function ageWarning(commit: string | undefined, folder = root): string | undefined {
  const remedy = 'run npm run test:all and commit docs/testing.md'
  if (commit === undefined) return `warning: docs/testing.md has no complete run; ${remedy}`
  const count = git(folder, 'rev-list', '--count', `${commit}..HEAD`)
  // A shallow clone, or none at all, has not all commits.
  if (count === undefined || git(folder, 'rev-parse', '--is-shallow-repository') === 'true') return undefined
  if (Number(count) <= mostCommits) return undefined
  return `warning: the last complete run is ${count} commits old (at most ${mostCommits}); ${remedy}`
}

function git(folder: string, ...words: readonly string[]): string | undefined {
  try {
    return execFileSync('git', words, { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
  } catch {
    return undefined
  }
}
