import pino from 'pino'
import { describe, expect, test } from 'vitest'
import { sampleClaim } from '../../../test/samples/sample-objects.ts'
import { ClusterCache } from '../cache/cluster-cache.ts'
import { ApiError } from '../client/api-error.ts'
import { liveNodes } from './claim-nodes.ts'

const group = 'azure:///subscriptions/s/resourceGroups/mc/providers/Microsoft.Compute/virtualMachines'

/** Returns the Node that is found where the API server has `nodes`: provider ids by name. They joined, and registered with `labels`. */
async function found(
  nodes: Readonly<Record<string, string>>,
  status: object,
  labels: Readonly<Record<string, string>> = { 'karpenter.sh/nodepool': 'general' },
): Promise<string | undefined> {
  const get = async (path: string) => {
    const name = path.slice(path.lastIndexOf('/') + 1)
    const providerID = nodes[name]
    if (providerID === undefined) throw new ApiError(404, 'NotFound', path)
    return { metadata: { name, uid: name, resourceVersion: '1', labels }, spec: { providerID } }
  }
  const cache = new ClusterCache({} as never, pino({ level: 'silent' }))
  const sample = sampleClaim('', { metadata: { name: 'general-x1' } })
  const { nodeName: _, providerId: __, ...rest } = sample.status
  const claim = { ...sample, status: { ...rest, ...status } }
  return (await liveNodes({ cache, client: { get } } as never, claim))[0]?.metadata.name
}

describe('the Node of a claim, where the cache has none', () => {
  const own = { 'aks-general-x1': `${group}/aks-general-x1` }
  const other = { 'aks-general-x1': `${group}/aks-other` }
  test.each([
    ['its provider id names it', own, { providerId: `${group.toLowerCase()}/aks-general-x1` }, 'aks-general-x1'],
    ['another VM has its name', other, { providerId: `${group}/aks-general-x1` }, undefined],
    ['the answer to its launch was lost', own, {}, 'aks-general-x1'],
    ['the answer was lost, and another VM has the name', other, {}, undefined],
    ['there is none', {}, {}, undefined],
  ])('%s', async (_, nodes, status, name) => {
    expect(await found(nodes, status)).toBe(name)
  })
  test.each([
    ['a name that no Node has', { providerId: `${group}/${'x'.repeat(200_000)}` }],
    ['a path upwards', { providerId: `${group}/..` }],
    ['a line break', { nodeName: 'aks-general-x1\n' }],
  ])('nothing is asked for where its status holds %s', async (_, status) => {
    const everywhere = new Proxy({}, { get: () => expect.fail('the API server was asked') })
    expect(await found(everywhere, status)).toBeUndefined()
  })
  test("a Node of an AKS node pool is not the claim's, though it has the name and the provider id of its VM", async () => {
    const status = { providerId: `${group}/aks-general-x1` }
    expect(await found(own, status, { 'kubernetes.azure.com/agentpool': 'general' })).toBeUndefined()
    expect(await found(own, {}, { 'kubernetes.azure.com/agentpool': 'general' })).toBeUndefined()
  })
})
