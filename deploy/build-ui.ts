// npm run build-ui: bundles the page of `joiner ui` from starter/ui/page/ into starter/ui/dist/.
import { createHash } from 'node:crypto'
import { globSync } from 'node:fs'
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import lockfile from 'proper-lockfile'
import { build } from 'vite'

const root = fileURLToPath(new URL('..', import.meta.url))
const ui = join(root, 'starter/ui')
const page = join(ui, 'page')
/** Where the server finds the page. */
const dist = join(ui, 'dist')

/** Bundles the page unless it is there, built from these very sources. Returns its folder. */
export async function buildUi(): Promise<string> {
  await mkdir(ui, { recursive: true })
  const release = await lockfile.lock(page, {
    stale: 30_000,
    update: 5000,
    retries: { retries: 120, minTimeout: 500, maxTimeout: 500 },
  })
  try {
    const wanted = await fingerprint()
    const present = await readFile(join(dist, '.sources'), 'utf8').catch(() => undefined)
    if (present !== wanted) await bundle(wanted)
    return dist
  } finally {
    await release()
  }
}

/** A hash of all that the bundle is made of: the page, the packages' versions and this file. */
async function fingerprint(): Promise<string> {
  const files = [
    ...globSync('starter/ui/page/**/*.{ts,tsx,css,html,svg}', { cwd: root }).toSorted(),
    'package-lock.json',
    relative(root, fileURLToPath(import.meta.url)),
  ]
  const hash = createHash('sha256')
  for (const file of files) hash.update(`${file}\0`).update(await readFile(join(root, file)))
  return hash.digest('hex')
}

async function bundle(sources: string): Promise<void> {
  const next = `${dist}.next`
  await build({
    root: page,
    configFile: false,
    logLevel: 'warn',
    base: './',
    oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
    build: {
      outDir: next,
      emptyOutDir: true,
      target: 'es2023',
      // Everything is a file of the page's origin: its Content-Security-Policy allows nothing else.
      assetsInlineLimit: 0,
      modulePreload: false,
    },
  })
  await writeFile(join(next, '.sources'), sources)
  await rm(dist, { recursive: true, force: true })
  await rename(next, dist)
}

if (import.meta.main) console.log(`the page is in ${relative(process.cwd(), await buildUi())}`)
