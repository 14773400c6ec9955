import { existsSync, globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Area, parseAreas, parseMapping, type UpstreamTest } from './mapping.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const here = join(root, 'test/upstream')

export const pagePath = join(root, 'docs/upstream-tests.md')

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
