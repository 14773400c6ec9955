import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, rename, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bundleWorkflowCode } from '@temporalio/worker'

const root = fileURLToPath(new URL('..', import.meta.url))

/** Where `npm run bundle` leaves the bundle that the image ships. */
export const bundlePath = join(root, 'build', 'workflow-bundle.js')

/**
 * Bundles the workflows. The exact text runs in production, in tests and in the replay gate.
 * Errors: a workflow that imports what the sandbox forbids fails here.
 */
export async function buildWorkflowBundle(): Promise<string> {
  const { code } = await bundleWorkflowCode({
    workflowsPath: join(root, 'workflows', 'index.ts'),
    logger: { trace() {}, debug() {}, info() {}, log() {}, warn: console.warn, error: console.error },
  })
  return code
}

/** The bundle that was built last, unless a source is younger; then it is built anew and kept for the next process. */
export async function workflowBundle(): Promise<{ code: string }> {
  if (await isFresh()) return { code: await readFile(bundlePath, 'utf8') }
  const code = await buildWorkflowBundle()
  await storeBundle(code)
  return { code }
}

async function isFresh(): Promise<boolean> {
  const built = await stat(bundlePath).catch(() => undefined)
  if (built === undefined) return false
  const sources = await Promise.all(
    ['workflows', 'core', 'activities'].map(async (folder) =>
      (await readdir(join(root, folder), { recursive: true, withFileTypes: true }))
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name)),
    ),
  )
  const changed = await Promise.all(
    [...sources.flat(), join(root, 'node_modules', '.package-lock.json')].map(
      async (file) => (await stat(file)).mtimeMs,
    ),
  )
  return changed.every((mtimeMs) => mtimeMs <= built.mtimeMs)
}

/** Several processes may do this at once: none ever reads half a bundle. */
async function storeBundle(code: string): Promise<void> {
  await mkdir(dirname(bundlePath), { recursive: true })
  const partial = `${bundlePath}.${process.pid}.tmp`
  await writeFile(partial, code)
  await rename(partial, bundlePath)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const code = await buildWorkflowBundle()
  await storeBundle(code)
  console.log(
    `${bundlePath} ${code.length} bytes sha256 ${createHash('sha256').update(code).digest('hex').slice(0, 12)}`,
  )
}
