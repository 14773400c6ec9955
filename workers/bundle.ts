import { createHash } from 'node:crypto'
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
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

/** The prebuilt bundle where one was shipped, else one made now. */
export async function workflowBundle(): Promise<{ code: string }> {
  try {
    return { code: await readFile(bundlePath, 'utf8') }
  } catch {
    return { code: await buildWorkflowBundle() }
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const code = await buildWorkflowBundle()
  await mkdir(dirname(bundlePath), { recursive: true })
  await writeFile(`${bundlePath}.tmp`, code)
  await rename(`${bundlePath}.tmp`, bundlePath)
  console.log(
    `${bundlePath} ${code.length} bytes sha256 ${createHash('sha256').update(code).digest('hex').slice(0, 12)}`,
  )
}
