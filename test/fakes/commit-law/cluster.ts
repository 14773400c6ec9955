import type { Json } from '../../../activities/kubernetes/client/answers.ts'
import type { Draw } from '../../scheduler-equivalence/draw.ts'
import { FakeCluster } from '../cluster.ts'
import { budgetJson, claimJson, condition, goingClaim, nodeClassJson, nodeJson, podJson, poolJson } from '../objects.ts'

/** What the pods of a node need when it goes: nothing, room on any other node, or a node that has to be made for them. */
type Load = 'empty' | 'light' | 'pinned'

/** Why a node may not become part of a command, or takes up budgets before any command. */
type Trouble = 'none' | 'not ready' | 'deleting' | 'of an older command'

export interface DrawnNode {
  /** Of the NodeClaim. */
  readonly name: string
  readonly pool: string
  readonly isStatic: boolean
  readonly load: Load
  readonly isDrifted: boolean
}

export interface DrawnCluster {
  readonly cluster: FakeCluster
  readonly nodes: readonly DrawnNode[]
}

/** The size of a cluster. */
const nodeCount = 20
/** Nodes that Joiner makes have this label, and the nodes that are there have not. */
const fresh = { fresh: 'true' }
const image = '/CommunityGalleries/g/images/2204gen2containerd/versions/202601.01.0'

/** The names of PodDisruptionBudgets, by how many disruptions they allow now. */
const podBudgets = { exhausted: 0, open: 1 }

/** A cluster of 20 nodes in 2 to 4 NodePools, all of which somebody would like to disrupt. */
export function drawnCluster(draw: Draw): DrawnCluster {
  const cluster = new FakeCluster()
  cluster.put('aksnodeclasses', nodeClassJson())
  for (const [name, allowed] of Object.entries(podBudgets))
    cluster.put('poddisruptionbudgets', budgetJson(name, allowed))
  const pools = draw.many(2, 4, (index) => `pool${index}`)
  const staticPool = draw.chance(0.4) ? pools[0] : undefined
  const nodes = Array.from({ length: nodeCount }, (_, index): DrawnNode => {
    const pool = draw.pick(pools)
    return {
      name: `n${index}`,
      pool,
      isStatic: pool === staticPool,
      load: draw.pick(['empty', 'empty', 'light', 'pinned', 'pinned', 'pinned']),
      isDrifted: pool === staticPool || draw.chance(0.4),
    }
  })
  for (const name of pools)
    putPool(
      cluster,
      draw,
      nodes.filter(({ pool }) => pool === name),
      name,
    )
  for (const node of nodes) putNode(cluster, draw, node)
  return { cluster, nodes }
}

function putPool(cluster: FakeCluster, draw: Draw, own: readonly DrawnNode[], name: string): void {
  const isStatic = own.some((node) => node.isStatic)
  const limits = isStatic
    ? { nodes: String(own.length + draw.below(3)) }
    : draw.pick([
        {},
        {},
        { nodes: String(own.length + draw.below(2)) },
        { cpu: String(own.length * 4 + draw.below(2)) },
        { nodes: String(own.length), cpu: String(own.length * 4) },
      ])
  cluster.put(
    'nodepools',
    poolJson(name, {
      spec: {
        template: {
          metadata: { labels: fresh },
          spec: {
            nodeClassRef: { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' },
            requirements: [],
          },
        },
        disruption: { consolidateAfter: '0s', budgets: draw.many(1, 2, () => budget(draw)) },
        limits,
        ...(isStatic && { replicas: own.length }),
      },
    }),
  )
}

function budget(draw: Draw): Json {
  return {
    nodes: draw.pick(['0', '1', '2', '3', '4', '5', '34%', '50%', '67%', '100%', '100%']),
    ...draw.fields(0.6, () => ({ reasons: draw.someOf(['Empty', 'Drifted', 'Underutilized']) })),
  }
}

function putNode(cluster: FakeCluster, draw: Draw, drawn: DrawnNode): void {
  const { name, pool, isDrifted } = drawn
  const trouble = draw.pick<Trouble>([...Array(27).fill('none'), 'not ready', 'deleting', 'of an older command'])
  const isOld = trouble === 'of an older command'
  const own = {
    'karpenter.sh/nodepool': pool,
    'karpenter.sh/capacity-type': 'on-demand',
    'topology.kubernetes.io/zone': 'zone-1',
    'node.kubernetes.io/instance-type': 'Standard_D4s_v5',
  }
  const conditions = [
    ...['Launched', 'Registered', 'Initialized'].map((type) => condition(type)),
    ...draw.maybe(0.95, () => condition('Consolidatable')),
    ...(isDrifted ? [condition('Drifted')] : []),
    ...(isOld ? [condition('DisruptionReason', 'True', 0, 'Drifted')] : []),
  ]
  const change = {
    metadata: { labels: own, annotations: isOld ? { 'joiner.sh/disruption-command': olderCommand } : {} },
    spec: draw.fields(0.15, () => ({ terminationGracePeriod: '1h' })),
    status: { imageID: image, conditions },
  }
  cluster.put('nodeclaims', trouble === 'deleting' ? goingClaim(name, change) : claimJson(name, change))
  const hosts = { 'kubernetes.io/hostname': `aks-${name}`, 'kubernetes.io/os': 'linux', 'kubernetes.io/arch': 'amd64' }
  const joined = { 'karpenter.sh/registered': 'true', 'karpenter.sh/initialized': 'true' }
  cluster.put(
    'nodes',
    nodeJson(name, {
      metadata: { labels: { ...own, ...hosts, ...joined } },
      spec: isOld ? { taints: [{ key: 'karpenter.sh/disrupted', effect: 'NoSchedule' }] } : {},
      ...(trouble === 'not ready' && { status: { conditions: [condition('Ready', 'False')] } }),
    }),
  )
  putPods(cluster, draw, drawn)
}

/** A command that was committed before the case begins. */
export const olderCommand = 'drift-00000000aa-00000000'

function putPods(cluster: FakeCluster, draw: Draw, { name, pool, load }: DrawnNode): void {
  if (load === 'empty') return
  const needs = load === 'pinned' ? fresh : {}
  for (const pod of draw.many(1, 2, (index) => `${name}-${index}`)) {
    const nodeSelector = { ...needs, ...draw.fields(0.8, () => ({ 'karpenter.sh/nodepool': pool })) }
    cluster.put('pods', podJson(pod, name, { metadata: guard(draw), spec: { nodeSelector } }))
  }
}

/** What protects a pod: nothing, itself, or a PodDisruptionBudget. */
function guard(draw: Draw): Json {
  if (draw.chance(0.7)) return {}
  if (draw.chance(0.7)) return { labels: { app: 'open' } }
  return draw.pick([{ labels: { app: 'exhausted' } }, { annotations: { 'karpenter.sh/do-not-disrupt': 'true' } }])
}

/** Binds another pod to a node, as the scheduler does in the moment before it sees a taint. */
export function bindLatePod(cluster: FakeCluster, node: string, draw: Draw): void {
  const metadata = draw.pick([
    { annotations: { 'karpenter.sh/do-not-disrupt': 'true' } },
    { labels: { app: 'exhausted' } },
    {},
  ])
  cluster.put('pods', podJson(`${node}-late`, node, { metadata }))
}
