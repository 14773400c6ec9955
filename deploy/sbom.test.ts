import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { expect, test } from 'vitest'
import { makeSbom, sbomErrors } from './sbom.ts'

const lockfile = readFileSync(new URL('../package-lock.json', import.meta.url), 'utf8')

interface Sbom {
  readonly metadata: { readonly component: { readonly name: string; readonly type: string } }
  readonly components: readonly {
    readonly 'bom-ref': string
    readonly name: string
    readonly version: string
    readonly purl: string
    readonly hashes?: readonly object[]
    readonly licenses?: readonly object[]
  }[]
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn?: readonly string[] }[]
}

test('the bill of materials holds what production installs, each with its hash, and is the same each time', async () => {
  const [text, again] = await Promise.all([makeSbom(lockfile), makeSbom(lockfile)])
  expect(again).toBe(text)
  const { packages } = JSON.parse(lockfile) as {
    readonly packages: Readonly<Record<string, { readonly version: string; readonly dev?: boolean }>>
  }
  const installed = Object.entries(packages)
    .filter(([path, { dev = false }]) => path !== '' && !dev)
    .map(([path, { version }]) => `${path} ${version}`)
  const { metadata, components, dependencies } = JSON.parse(text) as Sbom
  expect(installed.length).toBeGreaterThan(100)
  expect(components.map((one) => `${one['bom-ref']} ${one.version}`).toSorted()).toEqual(installed.toSorted())
  expect(components.filter(({ hashes = [] }) => hashes.length === 0)).toEqual([])
  expect(components.filter(({ licenses = [] }) => licenses.length > 0).length).toBeGreaterThan(installed.length * 0.9)
  expect(metadata.component).toMatchObject({ name: 'joiner', type: 'application' })
  const { dependencies: direct } = createRequire(import.meta.url)('../package.json') as {
    readonly dependencies: Readonly<Record<string, string>>
  }
  const own = dependencies.find(({ ref }) => ref === 'joiner')?.dependsOn ?? []
  expect(own.toSorted()).toEqual(
    Object.keys(direct)
      .map((name) => `node_modules/${name}`)
      .toSorted(),
  )
  expect(components.find(({ name }) => name === '@azure/identity')?.purl).toMatch(/^pkg:npm\/%40azure\/identity@/)
  expect(dependencies.find(({ ref }) => ref === 'node_modules/fastify')?.dependsOn).toContain(
    'node_modules/find-my-way',
  )
}, 30_000)

test('what is no bill of materials is found by the schema', async () => {
  const text = await makeSbom(lockfile)
  expect(await sbomErrors(text)).toBeUndefined()
  expect(await sbomErrors(text.replace('"bomFormat": "CycloneDX"', '"bomFormat": "Cyclone"'))).toContain('bomFormat')
  expect(await sbomErrors(text.replace('"version": 1', '"version": "one"'))).toContain('version')
}, 30_000)
