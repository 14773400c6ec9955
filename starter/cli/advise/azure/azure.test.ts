import { describe, expect, test } from 'vitest'
import { decodeNode } from '../../../../activities/kubernetes/cache/decode.ts'
import type { Node } from '../../../../core/objects.ts'
import { agentNode } from '../../../../test/advise/agent-pool-cluster.ts'
import { withMetadata } from '../../../files/cluster-objects.ts'
import { capacityTypeOf, marketLabels, placeOf, readMarket, sizesOfNodes } from './market.ts'

const node = (...given: Parameters<typeof agentNode>): Node => decodeNode(withMetadata(agentNode(...given), ''))
const bytes = (value: unknown) => new TextEncoder().encode(JSON.stringify(value))
const unreachable = { JOINER_PRICES_ENDPOINT: 'http://127.0.0.1:1' }
const question = { place: { region: 'westus2' }, arm: { unread: [] }, env: unreachable, now: 0, prices: [] }

test('a cluster is where most of its nodes are', () => {
  const away = { ...node('c'), providerId: 'azure:///subscriptions/other/resourceGroups/g/providers/x' }
  expect(placeOf([node('a'), away, node('b')])).toEqual({
    subscriptionId: 's',
    nodeResourceGroup: 'MC_g_c_westus2',
    region: 'westus2',
  })
  expect(placeOf([])).toEqual({})
})

test('sizes are what nodes report, with the memory that the size has', () => {
  const sizes = sizesOfNodes([
    node('a'),
    node('b', { labels: { 'topology.kubernetes.io/zone': 'westus2-3' } }),
    node('x', { size: 'odd' }),
  ])
  expect([...sizes.keys()]).toEqual(['Standard_D4s_v5'])
  expect(sizes.get('Standard_D4s_v5')).toMatchObject({
    vCpus: 4,
    memoryGib: 16,
    arch: 'amd64',
    seriesFamily: 'D',
    zones: ['1', '3'],
  })
})

test('a fault domain is no zone, and AKS names spot nodes in a label of its own', () => {
  const spot = { 'kubernetes.azure.com/scalesetpriority': 'spot', 'topology.kubernetes.io/zone': '2' }
  expect(capacityTypeOf(spot)).toBe('spot')
  expect(marketLabels(spot)).toMatchObject({ 'karpenter.sh/capacity-type': 'spot', 'topology.kubernetes.io/zone': '0' })
  expect(marketLabels({ 'topology.kubernetes.io/zone': 'westus2-2' })).toMatchObject({
    'karpenter.sh/capacity-type': 'on-demand',
    'topology.kubernetes.io/zone': 'westus2-2',
  })
})

describe('prices', () => {
  test('are estimates where no list can be had, and it is said', async () => {
    const nodes = [node('a')]
    const market = await readMarket({ ...question, nodes })
    expect(market.source.kind).toBe('estimate')
    expect(market.remarks.join('\n')).toMatch(/prices are modelled: .*--prices FILE/)
    expect(market.remarks.join('\n')).toMatch(/new nodes are only of sizes that the cluster has already/)
    expect(market.priceOf(node('a'))).toBeGreaterThan(0.1)
  })

  test('are those of a file, for Linux', async () => {
    const items = [{ armSkuName: 'Standard_D4s_v5', armRegionName: 'westus2', retailPrice: 0.2, skuName: 'D4s v5' }]
    const prices = [{ file: 'prices.json', bytes: bytes({ Items: items, NextPageLink: null }) }]
    const market = await readMarket({ ...question, nodes: [node('a')], prices })
    expect(market.source).toEqual({ kind: 'file', text: 'prices.json' })
    expect(market.priceOf(node('a'))).toBe(0.2)
    expect(market.priceOf(node('w', { labels: { 'kubernetes.io/os': 'windows' } }))).toBeUndefined()
    expect(market.priceOf(node('b', { size: 'Standard_D2s_v5' }))).toBeUndefined()
  })

  test('are those of a list of instance types', async () => {
    const requirement = (key: string, value: string) => ({ key, operator: 'In', values: [value] })
    const requirements = [
      requirement('topology.kubernetes.io/zone', 'westus2-1'),
      requirement('karpenter.sh/capacity-type', 'on-demand'),
    ]
    const type = {
      name: 'Standard_D4s_v5',
      requirements: [requirement('node.kubernetes.io/instance-type', 'Standard_D4s_v5')],
      offerings: [{ requirements, price: 0.3, available: true }],
      capacity: { cpu: '4', memory: '16Gi', pods: '110' },
    }
    const catalog = { file: 'types.json', bytes: bytes({ instanceTypes: [type] }) }
    const market = await readMarket({ ...question, nodes: [node('a')], catalog })
    expect(market.priceOf(node('a'))).toBe(0.3)
    expect(market.priceOf(node('b', { labels: { 'topology.kubernetes.io/zone': 'westus2-9' } }))).toBeUndefined()
  })
})
