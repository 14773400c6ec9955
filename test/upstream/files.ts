import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { withTable } from '../../deploy/marked-table.ts'
import { lastRun, pagePart, readmeLine } from '../upstream-e2e/record.ts'
import { type Area, parseAreas, parseMapping, type UpstreamTest } from './mapping.ts'
import { pageOf } from './page.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const here = join(root, 'test/upstream')

/** Returns a file of this repository; undefined when there is none. */
export function readOwn(path: string): string | undefined {
  return existsSync(join(root, path)) ? readFileSync(join(root, path), 'utf8') : undefined
}

/** Returns areas and mappings, by name, as they are stored. Errors: a row is malformed. */
export function stored(): {
  readonly areas: readonly Area[]
  readonly mappings: ReadonlyMap<string, readonly UpstreamTest[]>
} {
  const files = globSync('mapping/*.tsv', { cwd: here }).sort()
  return {
    areas: parseAreas(readFileSync(join(here, 'areas.tsv'), 'utf8')),
    mappings: new Map(
      files.map((file) => [basename(file, '.tsv'), parseMapping(readFileSync(join(here, file), 'utf8'))]),
    ),
  }
}

/** The pages that follow from areas, mappings and the last whole run of Karpenter's own suites, by path. */
function pages(): ReadonlyMap<string, string> {
  const { areas, mappings } = stored()
  const run = lastRun()
  const readme = withTable(readOwn('README.md') ?? '', { name: 'README.md', mark: 'upstream-e2e' }, readmeLine(run))
  return new Map([
    ['docs/upstream-tests.md', pageOf(areas, mappings, pagePart(run))],
    ['README.md', readme],
  ])
}

export function writePages(): void {
  for (const [path, text] of pages()) writeFileSync(join(root, path), text)
}

/** Returns a line for each page that is not what it follows from. */
export function problemsOfPages(): readonly string[] {
  return [...pages()].flatMap(([path, text]) =>
    readOwn(path) === text ? [] : [`${path} is not what the sources say; run "npm run generate"`],
  )
}
