// What the API server has converted of NodeClaims: nothing, unless a value asks for v1beta1 or something is stored in it.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { World } from '../world.ts'

const crdPath = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/nodeclaims.karpenter.sh'
const claims = (version: string) => `/apis/karpenter.sh/${version}/nodeclaims`
const asked = { 'conversion.nodeClaims.serveV1beta1': true }

type Json = Readonly<Record<string, unknown>>
interface Crd {
  readonly spec: {
    readonly conversion: { readonly webhook: { readonly clientConfig: { readonly caBundle?: string } } }
    readonly versions: readonly { readonly name: string; readonly served: boolean }[]
  }
  readonly status: { readonly storedVersions: readonly string[] }
}

let world: World

beforeAll(async () => {
  world = await World.start()
  // Nothing listens there: nothing but the conversion is needed, and nobody else writes to the claims.
  world.startJoiner('joiner', { TEMPORAL_ADDRESS: '127.0.0.1:1' })
  await world.until('NodePools are converted', () => createPool(true))
  await world.until('the API server trusts the webhook for NodeClaims', async () => {
    const { spec } = await crd()
    return spec.conversion.webhook.clientConfig.caBundle !== undefined
  })
})

afterAll(() => world.stop())

const crd = () => world.operator.api<Crd>('GET', crdPath)
const served = async () => (await crd()).spec.versions.filter((version) => version.served).map(({ name }) => name)
const isGone = () =>
  world.operator.api('GET', claims('v1beta1')).then(
    () => false,
    (error: unknown) => String(error).includes(' 404 '),
  )

const requirements = [{ key: 'kubernetes.io/os', operator: 'In', values: ['linux'] }]

function createPool(isDry: boolean): Promise<Json> {
  const spec = { template: { spec: { nodeClassRef: { name: 'default' }, requirements } } }
  return world.operator.api('POST', `/apis/karpenter.sh/v1beta1/nodepools${isDry ? '?dryRun=All' : ''}`, {
    apiVersion: 'karpenter.sh/v1beta1',
    kind: 'NodePool',
    metadata: { generateName: 'old-' },
    spec,
  })
}

/** Creates claims in v1, changes them and writes their status. */
async function write(prefix: string, count: number): Promise<void> {
  const nodeClassRef = { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' }
  for (let index = 0; index < count; index++) {
    const name = `${prefix}-${index}`
    await world.operator.api('POST', claims('v1'), {
      apiVersion: 'karpenter.sh/v1',
      kind: 'NodeClaim',
      metadata: { name },
      spec: { nodeClassRef, requirements },
    })
    await world.operator.api('PATCH', `${claims('v1')}/${name}`, { metadata: { labels: { 'example.com/a': 'b' } } })
    await world.operator.api('PATCH', `${claims('v1')}/${name}/status`, { status: { nodeName: name } })
  }
}

/** How often the API server has called the webhook for a kind since it started. */
async function conversions(plural: string): Promise<number> {
  const text = await world.operator.kubectl(['get', '--raw', '/metrics'])
  const counts = text
    .split('\n')
    .filter((line) => line.startsWith('apiserver_crd_conversion_webhook_duration_seconds_count{'))
    .filter((line) => line.includes(`crd_name="${plural}.karpenter.sh"`))
  return counts.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
}

describe('by default', () => {
  it('v1beta1 serves NodePools and no NodeClaims', async () => {
    expect(await served()).toEqual(['v1'])
    expect(await isGone()).toBe(true)
    const { resources } = await world.operator.api<{ resources: readonly { name: string }[] }>(
      'GET',
      '/apis/karpenter.sh/v1beta1',
    )
    expect(resources.map(({ name }) => name.split('/')[0])).toContain('nodepools')
    expect(resources.map(({ name }) => name.split('/')[0])).not.toContain('nodeclaims')
  })

  it('writes of NodeClaims cause no call of the webhook', async () => {
    const [before, poolsBefore] = [await conversions('nodeclaims'), await conversions('nodepools')]
    await write('plain', 50)
    // Shows that calls are counted, and that what the API server still had to do is done.
    await createPool(false)
    const pools = await world.until('a NodePool is converted', async () => {
      const made = (await conversions('nodepools')) - poolsBefore
      return made > 0 && made
    })
    const made = (await conversions('nodeclaims')) - before
    console.log(`150 writes of NodeClaims caused ${made} conversions, one of a NodePool of v1beta1 ${pools}`)
    expect(made).toBe(0)
  })
})

describe('with the value that asks for v1beta1', () => {
  it('NodeClaims are served and converted, and no longer when the value is gone', async () => {
    await world.installation.applyRights(asked)
    const list = await world.until('v1beta1 is served', () =>
      world.operator.api<{ items: readonly { apiVersion: string; spec: Json }[] }>('GET', claims('v1beta1')),
    )
    expect(new Set(list.items.map(({ apiVersion }) => apiVersion))).toEqual(new Set(['karpenter.sh/v1beta1']))
    // By this, people find out whether somebody reads it (docs/limits.md).
    const metrics = await world.operator.kubectl(['get', '--raw', '/metrics'])
    expect(metrics).toMatch(/^apiserver_requested_deprecated_apis\{.*resource="nodeclaims".*version="v1beta1"\} 1$/m)
    const before = await conversions('nodeclaims')
    await write('converted', 10)
    const made = await world.until('each write is converted', async () => {
      const count = (await conversions('nodeclaims')) - before
      return count >= 30 && count
    })
    console.log(`30 writes of NodeClaims caused ${made} conversions`)

    // As an upgrade of the CRDs does.
    await world.operator.api('PATCH', crdPath, {
      spec: { versions: (await crd()).spec.versions.map((each) => ({ ...each, served: each.name === 'v1' })) },
    })
    await world.until('it is served again', async () => (await served()).includes('v1beta1'))

    await world.installation.applyRights()
    await world.until('v1beta1 is not served', isGone)
    expect(await served()).toEqual(['v1'])
  })
})

describe('NodeClaims that are stored as v1beta1', () => {
  const store = (version: string) =>
    world.operator.kubectl([
      'patch',
      'crd',
      'nodeclaims.karpenter.sh',
      '--type=json',
      '-p',
      JSON.stringify(
        ['v1', 'v1beta1'].map((name, at) => ({
          op: 'replace',
          path: `/spec/versions/${at}/storage`,
          value: name === version,
        })),
      ),
    ])

  it('are read as v1 though v1beta1 is not served, and leave it when they are stored anew', async () => {
    await store('v1beta1')
    await world.until('v1beta1 is stored', async () => (await crd()).status.storedVersions.includes('v1beta1'))
    const before = await conversions('nodeclaims')
    await world.until('a NodeClaim is stored as v1beta1', async () => {
      await write(`stored-${Date.now()}`, 1)
      return (await conversions('nodeclaims')) > before
    })
    await store('v1')
    const read = async () => {
      const { items } = await world.operator.api<{ items: readonly { metadata: { name: string }; spec: Json }[] }>(
        'GET',
        claims('v1'),
      )
      return items.filter(({ metadata }) => metadata.name.startsWith('stored-'))
    }
    const found = await world.until('they are read', async () => {
      const items = await read()
      return items.length > 0 && items
    })
    for (const { spec } of found)
      expect(spec['nodeClassRef']).toEqual({ group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' })
    expect(await served()).toEqual(['v1'])

    // What joiner doctor says to run, and what docs/limits.md says of older API servers.
    const patched = (args: readonly string[]) =>
      world.operator.kubectl(['patch', 'crd', 'nodeclaims.karpenter.sh', ...args])
    const path = '/spec/versions/1'
    const operations = [
      { op: 'test', path: `${path}/name`, value: 'v1beta1' },
      { op: 'remove', path },
    ]
    const removed = ['--type=json', '-p', JSON.stringify(operations)]
    await expect(patched(removed)).rejects.toThrow(/storedVersions/)
    await world.operator.kubectl(
      ['replace', '-f', '-'],
      await world.operator.kubectl(['get', 'nodeclaims', '-o', 'json']),
    )
    await patched(['--subresource=status', '--type=merge', '-p', '{"status":{"storedVersions":["v1"]}}'])
    await patched(removed)
    await world.until('they are read without that version', async () => {
      const items = await read()
      return items.length === found.length && (await served()).length === 1
    })
    await write('later', 1)
  })
})
