import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { parseArgs } from 'node:util'
import { gzipSync } from 'node:zlib'
import { version } from '../workers/build-info.ts'
import { buildWorkflowBundle, bundleDigest, withoutSourceMap } from '../workers/bundle.ts'
import { bundlesDir, keptBundle, keptVersions } from './bundles/kept.ts'
import { recordedHistories } from './histories/corpus.ts'

/**
 * Keeps what a release runs: its workflow bundle without source map, and its recorded histories, in `test/bundles/VERSION/`. The replay gate
 * holds all later workflow code against them (docs/workflow-versions.md). `--replace`: also where the version of package.json is kept already,
 * which is right until it is released. Errors: it is kept already, and nobody said so.
 */
async function keepRelease(): Promise<void> {
  const { values } = parseArgs({ options: { replace: { type: 'boolean', default: false } } })
  const isKept = (await keptVersions()).some((kept) => kept.version === version)
  if (isKept && !values.replace)
    throw new Error(
      `version ${version} is kept already, and a release does not change: raise the version in package.json, or if it is not released yet give --replace`,
    )
  const [code, histories] = await Promise.all([buildWorkflowBundle(), recordedHistories()])
  const folder = join(bundlesDir, version)
  await rm(folder, { recursive: true, force: true })
  await mkdir(join(folder, 'histories'), { recursive: true })
  for (const { name, text } of histories) await keep(join(folder, 'histories', `${name}.json.gz`), text)
  await keep(keptBundle(version), withoutSourceMap(code))
  console.log(`version ${version}: workflow code ${bundleDigest(code)}, ${histories.length} histories`)
}

async function keep(path: string, text: string): Promise<void> {
  const packed = gzipSync(text, { level: 9 })
  await writeFile(path, packed)
  console.log(`${relative(process.cwd(), path)}  ${packed.length} bytes`)
}

await keepRelease()
