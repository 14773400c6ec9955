import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { buildWorkflowBundle, bundleDigest, withoutSourceMap } from '../workers/bundle.ts'
import { bundlesDir, keptBundle, keptVersions } from './bundles/kept.ts'
import { recordedHistories } from './histories/corpus.ts'

/**
 * Keeps what a release runs: its workflow bundle without source map, and its recorded histories, in `test/bundles/VERSION/`. The replay gate
 * holds all later workflow code against them (docs/workflow-versions.md). Errors: the version of package.json is kept already.
 */
async function keepRelease(): Promise<void> {
  const { version } = JSON.parse(await readFile(new URL('../package.json', import.meta.url), 'utf8')) as {
    readonly version: string
  }
  if ((await keptVersions()).some((kept) => kept.version === version))
    throw new Error(
      `version ${version} is kept already and a release does not change; raise the version in package.json`,
    )
  const code = await buildWorkflowBundle()
  const histories = join(bundlesDir, version, 'histories')
  await mkdir(histories, { recursive: true })
  for (const { name, text } of await recordedHistories())
    await writeFile(join(histories, `${name}.json.gz`), packed(text))
  await writeFile(keptBundle(version), packed(withoutSourceMap(code)))
  console.log(`${dirname(histories)}: workflow code ${bundleDigest(code)}`)
}

function packed(text: string): Buffer {
  return gzipSync(text, { level: 9 })
}

await keepRelease()
