import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { problemsOf, readImage } from './contents.ts'

let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'joiner-contents-'))
})

afterEach(() => {
  rmSync(folder, { recursive: true })
})

/** Writes an image of one layer with these files. */
function image(files: Readonly<Record<string, string>>, command: string, User = '65532:65532'): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, 'files', path)), { recursive: true })
    writeFileSync(join(folder, 'files', path), text)
  }
  const packed = execFileSync('tar', ['-cz', '-C', join(folder, 'files'), ...Object.keys(files)])
  const history = [{ created_by: command }, { created_by: 'ENTRYPOINT', empty_layer: true }]
  const config = blob(JSON.stringify({ config: { User }, history }))
  const manifest = blob(JSON.stringify({ config, layers: [blob(packed)] }))
  writeFileSync(join(folder, 'index.json'), JSON.stringify({ manifests: [manifest] }))
}

function blob(content: string | Buffer): { readonly digest: string; readonly size: number } {
  const hash = createHash('sha256').update(content).digest('hex')
  const path = join(folder, 'blobs', 'sha256', hash)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, content)
  return { digest: `sha256:${hash}`, size: statSync(path).size }
}

const host = 'registry.corp.example'

test('an image of a bundle and the CRDs, for the user of the chart, has nothing wrong', async () => {
  image({ 'app/dist/joiner.js': 'code', 'app/deploy/crds/nodepools.yaml': 'a: b' }, 'COPY dir')
  const contents = await readImage(folder, [host])
  expect(contents.layers).toMatchObject([
    { createdBy: 'COPY dir', files: ['app/dist/joiner.js', 'app/deploy/crds/nodepools.yaml'] },
  ])
  expect(problemsOf(contents)).toEqual([])
})

test.each([
  ['a source', 'app/core/plan.ts'],
  ['a tool of the build', 'app/node_modules/webpack/index.js'],
  ["npm's settings", 'root/.npmrc'],
  ['the simulator', 'app/deploy/local/azure/main.js'],
])('%s has no place in it', async (_, path) => {
  image({ [path]: 'text' }, 'COPY dir')
  expect(problemsOf(await readImage(folder, []))).toEqual([`it holds ${path}`])
})

test('a host of a registry is found in the history and in a file, also across pieces of a layer', async () => {
  image(
    { 'app/dist/joiner.js': `${' '.repeat(16_384 - 512 - 5)}${host}` },
    `RUN npm install --registry https://${host}`,
  )
  expect(problemsOf(await readImage(folder, [host, 'other.example']))).toEqual([
    `"${host}" in the history`,
    `"${host}" in the layer of RUN npm install --registry https://${host}`,
  ])
})

test('more bytes than an image may have, and another user, are said', async () => {
  image({ 'app/dist/joiner.js': 'code' }, 'COPY dir', 'root')
  const { layers, ...rest } = await readImage(folder, [])
  const large = layers.map((layer) => ({ ...layer, unpacked: 300e6, compressed: 96e6 }))
  expect(problemsOf({ ...rest, layers: large })).toEqual([
    '300.0 MB unpacked, more than 280.0 MB',
    '96.0 MB compressed, more than 95.0 MB',
    'its user is "root", and the chart\'s is 65532:65532',
  ])
})
