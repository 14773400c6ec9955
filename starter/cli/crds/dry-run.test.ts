import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { parse } from 'yaml'
import type { Json } from '../../../activities/kubernetes/client/answers.ts'
import { applyCrds, releaseCrds } from './run.ts'

const from = fileURLToPath(new URL('../../../deploy/crds', import.meta.url))
const crdOf = (file: string) => parse(readFileSync(join(from, file), 'utf8')) as Json & { readonly spec: Json }
const pools = crdOf('karpenter.sh_nodepools.yaml')
const conversion = pools.spec['conversion']
const metadata = { resourceVersion: '1' }
/** NodePools are of an older version, NodeClaims of this one; there are no others. */
const installed: Readonly<Record<string, Json>> = {
  'nodepools.karpenter.sh': {
    ...pools,
    metadata: { ...metadata, name: 'nodepools.karpenter.sh' },
    spec: { ...pools.spec, names: {} },
    status: { storedVersions: ['v1beta1', 'v1'] },
  },
  'nodeclaims.karpenter.sh': {
    ...crdOf('karpenter.sh_nodeclaims.yaml'),
    metadata: { ...metadata, name: 'nodeclaims.karpenter.sh' },
  },
}

const folder = mkdtempSync(join(tmpdir(), 'joiner-crds-'))
const kubeconfig = join(folder, 'config')
const writes: string[] = []
const server = createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? '', 'http://a')
  const name = pathname.split('/').at(-1) ?? ''
  const isNamespace = pathname.includes('/namespaces/')
  const found = isNamespace ? { metadata: { name, uid: 'u', ...metadata } } : installed[name]
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    if (request.method !== 'GET' && searchParams.get('dryRun') !== 'All') writes.push(`${request.method} ${pathname}`)
    const patch = chunks.length === 0 ? [] : (JSON.parse(String(Buffer.concat(chunks))) as readonly Json[])
    const value = patch[0]?.['value']
    response.writeHead(found === undefined ? 404 : 200, { 'content-type': 'application/json' })
    const status = { kind: 'Status', reason: 'NotFound', code: 404 }
    response.end(
      JSON.stringify(found === undefined ? status : { ...found, ...(value === undefined ? {} : { spec: value }) }),
    )
  })
})

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const cluster = { name: 'a', cluster: { server: `http://127.0.0.1:${port}` } }
  const context = { name: 'a', context: { cluster: 'a', user: 'a' } }
  const users = [{ name: 'a', user: { token: 'a' } }]
  writeFileSync(
    kubeconfig,
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [cluster],
      contexts: [context],
      users,
      'current-context': 'a',
    }),
  )
})
afterAll(() => {
  server.close()
  rmSync(folder, { recursive: true })
})

async function printed(run: () => Promise<number>): Promise<string> {
  const out = vi.spyOn(process.stdout, 'write').mockReturnValue(true)
  try {
    expect(await run()).toBe(0)
    return out.mock.calls.map(([text]) => String(text)).join('')
  } finally {
    out.mockRestore()
  }
}

const options = { kubeconfig, joinerNamespace: 'joiner', release: 'joiner', dryRun: true } as const

test('a dry run of crds apply says what would become of each CRD, and writes nothing', async () => {
  expect(conversion).toBeDefined()
  const text = await printed(() => applyCrds({ ...options, from }))
  expect(text).toContain('nodepools.karpenter.sh would be updated\n')
  expect(text).toContain('nodeclaims.karpenter.sh unchanged\n')
  expect(text).toContain('aksnodeclasses.karpenter.azure.com would be created\n')
  expect(writes).toEqual([])
})

test('a dry run of crds release says which are stored first, and writes nothing', async () => {
  const text = await printed(() => releaseCrds(options))
  expect(text).toContain(
    'nodepools.karpenter.sh would be converted by nobody, and v1beta1 not served, once its v1beta1 objects are stored as v1\n',
  )
  expect(text).toContain('nodeclaims.karpenter.sh would be converted by nobody, and v1beta1 not served\n')
  expect(writes).toEqual([])
})
