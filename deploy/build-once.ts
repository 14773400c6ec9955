import { createHash } from 'node:crypto'
import { globSync } from 'node:fs'
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import lockfile from 'proper-lockfile'

export const root = fileURLToPath(new URL('..', import.meta.url))

/** A folder of files that are made from others. */
export interface Built {
  /** Whole, or not there. */
  readonly folder: string
  /** Patterns of what it is made of, from the repository's root; the packages' versions count always. */
  readonly sources: readonly string[]
  /** Fills a folder that is empty. */
  readonly build: (folder: string) => Promise<unknown>
}

/** Builds a folder unless it is there, made from these very sources. Several processes may do so at once. Returns the folder. */
export async function buildOnce({ folder, sources, build }: Built): Promise<string> {
  await mkdir(dirname(folder), { recursive: true })
  const release = await lockfile.lock(folder, {
    realpath: false,
    stale: 30_000,
    update: 5000,
    retries: { retries: 120, minTimeout: 500, maxTimeout: 500 },
  })
  try {
    const wanted = await fingerprint(sources)
    if ((await readFile(join(folder, '.sources'), 'utf8').catch(() => undefined)) === wanted) return folder
    const next = `${folder}.next`
    await rm(next, { recursive: true, force: true })
    await mkdir(next)
    await build(next)
    await writeFile(join(next, '.sources'), wanted)
    await rm(folder, { recursive: true, force: true })
    await rename(next, folder)
    return folder
  } finally {
    await release()
  }
}

async function fingerprint(patterns: readonly string[]): Promise<string> {
  const files = globSync([...patterns], { cwd: root }).filter((path) => !path.endsWith('.test.ts'))
  const hash = createHash('sha256')
  for (const file of [...files.toSorted(), 'package-lock.json'])
    hash.update(`${file}\0`).update(await readFile(join(root, file)))
  return hash.digest('hex')
}
