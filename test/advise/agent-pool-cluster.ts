// A small cluster of agent pools, and what is advised about it.
import { PriceList } from '../../activities/azure/catalogue/pricing.ts'
import { decodeNodeClass, decodeNodeOverlay } from '../../activities/kubernetes/cache/decode.ts'
import { isObject } from '../../core/values/json.ts'
import { type Advice, adviceOn } from '../../starter/cli/advise/advice.ts'
import { placeOf, sizesOfNodes } from '../../starter/cli/advise/azure/market.ts'
import type { SeenCluster } from '../../starter/cli/advise/cluster/read.ts'
import { sizeCatalog } from '../../starter/files/catalog.ts'
import { clusterObjects, type Json, withMetadata, withStatus } from '../../starter/files/cluster-objects.ts'

const now = Date.parse('2026-03-01T12:00:00Z')
const vmssId =
  'azure:///subscriptions/s/resourceGroups/MC_g_c_westus2/providers/Microsoft.Compute/virtualMachineScaleSets/x/virtualMachines'
const prices = new PriceList(
  new Map([
    ['Standard_D2s_v5', 0.1],
    ['Standard_D4s_v5', 0.2],
  ]),
  new Map(),
)

interface NodeOptions {
  readonly pool?: string
  readonly mode?: string
  readonly size?: string
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
  readonly taints?: readonly object[]
}

/** A Node of an agent pool of AKS. */
export function agentNode(name: string, options: NodeOptions = {}): Json {
  const {
    pool = 'user1',
    mode = 'user',
    size = 'Standard_D4s_v5',
    labels = {},
    annotations = {},
    taints = [],
  } = options
  const cpu = size.includes('D2') ? '2' : '4'
  const amounts = { cpu, memory: `${Number(cpu) * 4 - 1}Gi`, pods: '110', 'ephemeral-storage': '124Gi' }
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name,
      annotations,
      labels: {
        'kubernetes.io/hostname': name,
        'kubernetes.io/os': 'linux',
        'kubernetes.io/arch': 'amd64',
        'node.kubernetes.io/instance-type': size,
        'topology.kubernetes.io/region': 'westus2',
        'topology.kubernetes.io/zone': 'westus2-1',
        'kubernetes.azure.com/agentpool': pool,
        'kubernetes.azure.com/mode': mode,
        ...labels,
      },
    },
    spec: { providerID: `${vmssId}/${name}`, taints },
    status: { capacity: amounts, allocatable: amounts, conditions: [{ type: 'Ready', status: 'True' }] },
  }
}

interface PodOptions {
  readonly node?: string
  readonly cpu?: string
  readonly annotations?: Readonly<Record<string, string>>
}

/** A pod of the namespace `shop`; without a node it waits for one. */
export function pod(name: string, { node, cpu = '500m', annotations = {} }: PodOptions = {}): Json {
  const containers = [{ name: 'main', resources: { requests: { cpu } } }]
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'shop', labels: { app: name }, annotations },
    spec: { containers, ...(node === undefined ? {} : { nodeName: node }) },
  }
}

/** The report on a cluster of these objects. `more`: what else was seen. */
export async function adviceAbout(objects: readonly Json[], more: Partial<SeenCluster> = {}): Promise<Advice> {
  const whole = objects.map((object) => withStatus(withMetadata(object, new Date(now).toISOString())))
  const cluster = clusterObjects(whole)
  // The reader keeps Cluster Autoscaler's annotation of pods.
  const pods = cluster.pods.map((one) => {
    const source = whole.find(
      ({ kind, metadata }) => kind === 'Pod' && isObject(metadata) && metadata['uid'] === one.metadata.uid,
    )
    const { annotations } = (source?.['metadata'] ?? {}) as { readonly annotations?: Readonly<Record<string, string>> }
    return { ...one, metadata: { ...one.metadata, annotations: annotations ?? {} } }
  })
  const seen: SeenCluster = {
    server: 'https://cluster',
    cluster: { ...cluster, pods },
    nodeClasses: whole.filter(({ kind }) => kind === 'AKSNodeClass').map(decodeNodeClass),
    nodeOverlays: whole.filter(({ kind }) => kind === 'NodeOverlay').map(decodeNodeOverlay),
    deployments: [],
    unread: [],
    isPlannable: true,
    areClaimsKnown: true,
    ...more,
  }
  const sizes = sizesOfNodes([
    ...cluster.nodes,
    ...clusterObjects([withMetadata(agentNode('d2', { size: 'Standard_D2s_v5' }), '')]).nodes,
  ])
  return adviceOn({
    seen,
    arm: { unread: [] },
    market: {
      catalog: await sizeCatalog({ region: 'westus2', sizes: [...sizes.values()], prices }),
      sizes,
      source: { kind: 'file', text: 'prices.json' },
      priceOf: ({ metadata }) => prices.onDemand.get(metadata.labels['node.kubernetes.io/instance-type'] ?? ''),
      remarks: [],
    },
    region: placeOf(cluster.nodes).region,
    budget: '100%',
    now,
    clock: () => 0,
  })
}
