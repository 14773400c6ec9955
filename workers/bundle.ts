import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, rename, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { gunzipSync } from 'node:zlib'
import { asciiCode } from '../core/values/ascii-code.ts'

const run = promisify(execFile)
const root = fileURLToPath(new URL('..', import.meta.url))

/**
 * Two bundles of the same workflows. In the `encrypted` one messages of failures are a payload, which a codec can encrypt; without a codec that would
 * only hide them from readers.
 */
export type BundleKind = 'plain' | 'encrypted'

/** Where `npm run bundle` leaves the bundles that the image ships. */
const bundlePaths: Readonly<Record<BundleKind, string>> = {
  plain: join(root, 'build', 'workflow-bundle.js'),
  encrypted: join(root, 'build', 'workflow-bundle-encrypted.js'),
}

const workflowsPath = join(root, 'workflows', 'index.ts')
const payloadConverterPath = join(root, 'starter', 'temporal', 'payload-converter.ts')
const unreadablePath = join(root, 'workflows', 'unreadable.ts')

/** Not by import: where the program is bundled, it is another file. */
const failureConverterPath = join(root, 'starter', 'temporal', 'failure-converter.ts')

const limitsPath = join(root, 'core', 'node-claim', 'limits.ts')

/**
 * Bundles the workflows. The exact text runs in production, in tests and in the replay gate. `limits`: path of a module with other time limits than
 * `core/node-claim/limits.ts`, for tests. Errors: a workflow that imports what the sandbox forbids fails here.
 */
export async function buildWorkflowBundle(kind: BundleKind = 'plain', limits?: string): Promise<string> {
  // Only here: its bundler is large, and most processes find what was bundled.
  const { bundleWorkflowCode } = await import('@temporalio/worker')
  const { code } = await bundleWorkflowCode({
    workflowsPath,
    payloadConverterPath,
    workflowInterceptorModules: [unreadablePath],
    ...(kind === 'encrypted' ? { failureConverterPath } : {}),
    // No module of the workflows keeps anything between two calls, so all lifecycles share one copy of them (docs/adr/0015).
    preloadModules: [workflowsPath, unreadablePath],
    // Modules are called by their paths from here: the same text comes out wherever the process was started.
    webpackConfigHook: (config) => ({
      ...config,
      context: root,
      resolve: {
        ...config.resolve,
        alias: Object.assign({}, config.resolve?.alias, limits && { [limitsPath]: limits }),
      },
    }),
    logger: { trace() {}, debug() {}, info() {}, log() {}, warn: console.warn, error: console.error },
  })
  return asciiCode(code)
}

const sourceMapMark = '//# sourceMappingURL=data:'

/** What of a bundle runs: without the source map, which holds every source and its path. */
export function withoutSourceMap(code: string): string {
  const at = code.lastIndexOf(sourceMapMark)
  return at < 0 ? code : code.slice(0, at)
}

/** The workflows that a process runs, and the digest of their code. */
export interface WorkflowBundle {
  readonly code: string
  readonly digest: string
}

/** A bundle whose digest is taken once: that costs as much as a hundred modules. */
export function digested(code: string): WorkflowBundle {
  return { code, digest: bundleDigest(code) }
}

/** Twelve hexadecimal digits that tell one workflow code from another, wherever it was built. */
export function bundleDigest(code: string): string {
  return digestOf(withoutSourceMap(code))
}

function digestOf(code: string | Buffer): string {
  return createHash('sha256').update(code).digest('hex').slice(0, 12)
}

/**
 * A bundle from a file, such as that of a released version (`test/bundles/`); `.gz` is unpacked. The SDK insists on a source map, so a bundle
 * that is kept without one gets one that is empty. Errors: the file cannot be read or unpacked.
 */
export async function readBundle(path: string): Promise<string> {
  return unpacked(path, await readFile(path))
}

/** The bundle that a file holds. */
export function unpacked(path: string, bytes: Buffer): string {
  const code = (path.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString('utf8')
  if (code.includes(sourceMapMark)) return code
  const map = { version: 3, file: 'workflow-bundle.js', sources: [], names: [], mappings: '' }
  return `${code}${sourceMapMark}application/json;base64,${Buffer.from(JSON.stringify(map)).toString('base64')}`
}

/**
 * The bundle that was built last, unless a source is younger; then it is built again and kept for the next process. With a path, the bundle that
 * lies there.
 */
export async function workflowBundle(path?: string, kind: BundleKind = 'plain'): Promise<WorkflowBundle> {
  if (path !== undefined) return digested(await readBundle(path))
  // The bundler takes a hundred megabytes, which a process of its own gives back.
  if (!(await isFresh(bundlePaths[kind]))) await run(process.execPath, [join(root, 'workers', 'bundle.ts'), kind])
  const bytes = await readFile(bundlePaths[kind])
  // Without a source map it is the file, whose bytes need not be made from text again.
  return { code: unpacked(bundlePaths[kind], bytes), digest: digestOf(bytes) }
}

async function isFresh(bundlePath: string): Promise<boolean> {
  const built = await stat(bundlePath).catch(() => undefined)
  if (built === undefined) return false
  // A program that is itself a bundle was built with those of its workflows (`deploy/build-program.ts`).
  if (!import.meta.filename.endsWith('.ts')) return true
  const sources = await Promise.all(
    ['workflows', 'core', 'activities', 'starter/temporal'].map(async (folder) =>
      (await readdir(join(root, folder), { recursive: true, withFileTypes: true }))
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name)),
    ),
  )
  const changed = await Promise.all(
    [...sources.flat(), fileURLToPath(import.meta.url), join(root, 'node_modules', '.package-lock.json')].map(
      async (file) => (await stat(file)).mtimeMs,
    ),
  )
  return changed.every((mtimeMs) => mtimeMs <= built.mtimeMs)
}

/** Several processes may do this at once: none ever reads half a bundle. */
async function storeBundle(bundlePath: string, code: string): Promise<void> {
  await mkdir(dirname(bundlePath), { recursive: true })
  const partial = `${bundlePath}.${process.pid}.tmp`
  await writeFile(partial, code)
  await rename(partial, bundlePath)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  // All bundles, or those that are asked for unless they are there and no source is younger.
  const asked = process.argv.slice(2)
  for (const [kind, path] of Object.entries(bundlePaths) as [BundleKind, string][]) {
    if (asked.length > 0 && (!asked.includes(kind) || (await isFresh(path)))) continue
    // A source map would be most of it, and each start would read it: names in stack traces are those of the sources, lines those of the bundle.
    const code = withoutSourceMap(await buildWorkflowBundle(kind))
    await storeBundle(path, code)
    console.log(`${path} ${code.length} bytes sha256 ${bundleDigest(code)}`)
  }
}
