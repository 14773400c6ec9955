import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type RecordedHistory, recordedHistories } from '../histories/corpus.ts'

/** Where `npm run release-bundle` keeps what each release ran and recorded: a folder named after the version. */
export const bundlesDir = fileURLToPath(new URL('.', import.meta.url))

/** All kept versions together, packed: enough for some seven releases. When it is reached, the oldest that nobody runs any more may go. */
export const bundlesLimitBytes = 1_500_000

export interface KeptVersion {
  readonly version: string
  /** The workflow bundle, packed and without source map; `readBundle` reads it. */
  readonly bundle: string
  readonly histories: readonly RecordedHistory[]
}

/** Every version that is kept, with its histories. */
export async function keptVersions(): Promise<readonly KeptVersion[]> {
  const folders = (await readdir(bundlesDir, { withFileTypes: true })).filter((entry) => entry.isDirectory())
  return Promise.all(
    folders
      .map(({ name }) => name)
      .toSorted()
      .map(async (version) => ({
        version,
        bundle: keptBundle(version),
        histories: await recordedHistories(join(bundlesDir, version, 'histories')),
      })),
  )
}

/** Where a version's bundle lies. */
export function keptBundle(version: string): string {
  return join(bundlesDir, version, 'workflow-bundle.js.gz')
}
