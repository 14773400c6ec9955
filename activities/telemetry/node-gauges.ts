import { holdersOf } from '../../core/machines-in-use.ts'
import { claimOfNode } from '../../core/node-claim/node-owner.ts'
import { asClaimed } from '../../core/node-claim/registration.ts'
import type { Node, NodeClaim, NodePool, Pod } from '../../core/objects.ts'
import { isDaemonPod, isTerminal } from '../../core/pods/pod-rules.ts'
import { labels, wellKnownLabels } from '../../core/requirements/labels.ts'
import { mergeResources, noResources, type Resources, subtractResources } from '../../core/resources.ts'
import { entryOf } from '../../core/values/records.ts'
import { type GaugeFamily, labelPairs, labelText } from './gauge-family.ts'
import { amountOf, type ResourceSamples, resourceSamples } from './resource-samples.ts'

/** The part of the watch cache that the gauges of nodes read. */
export interface ObservedNodes {
  readonly nodes: { values(): Iterable<Node> }
  readonly nodeClaims: { by(index: 'byProviderId', value: string): readonly NodeClaim[] }
  readonly nodePools: { values(): Iterable<NodePool> }
  readonly pods: { by(index: 'byNode', value: string): readonly Pod[] }
}

/** What the pods of a node request and are limited to: all pods, and those of DaemonSets alone. */
interface Totals {
  readonly requests: Resources
  readonly limits: Resources
  readonly daemonRequests: Resources
  readonly daemonLimits: Resources
}

/** Gauges of nodes, of the whole cluster and of NodePools, by Karpenter's names (reference/karpenter-core.md 6.1). `now` is in epoch ms. */
export function nodeGauges(cluster: ObservedNodes, now: () => number): readonly GaugeFamily[] {
  const samples = resourceSamples()
  const totals = memoized((node: Node) => totalsOf(cluster.pods.by('byNode', node.metadata.name)))
  const pairs = memoized((node: Node) => pairsOf(seenIn(cluster, node)))
  const perResource = (name: string, help: string, amounts: (node: Node) => Resources): GaugeFamily => ({
    name: `karpenter_nodes_${name}`,
    help,
    *samples() {
      for (const node of cluster.nodes.values()) yield* samples(pairs(node), amounts(node))
    },
  })
  return [
    perResource('allocatable', 'What a node has for pods.', ({ allocatable }) => allocatable),
    perResource('total_pod_requests', 'What the pods of a node request.', (node) => totals(node).requests),
    perResource('total_pod_limits', 'What the pods of a node are limited to.', (node) => totals(node).limits),
    perResource(
      'total_daemon_requests',
      'What the pods of DaemonSets on a node request.',
      (node) => totals(node).daemonRequests,
    ),
    perResource(
      'total_daemon_limits',
      'What the pods of DaemonSets on a node are limited to.',
      (node) => totals(node).daemonLimits,
    ),
    perResource('system_overhead', 'What of a node its system keeps from pods.', ({ capacity, allocatable }) =>
      subtractResources(capacity, allocatable),
    ),
    {
      name: 'karpenter_nodes_current_lifetime_seconds',
      help: 'Age of a node.',
      *samples() {
        for (const node of cluster.nodes.values())
          yield [labelText(pairs(node)), (now() - Date.parse(node.metadata.creationTimestamp)) / 1000] as const
      },
    },
    {
      name: 'karpenter_cluster_utilization_percent',
      help: 'Which part of what all nodes have for pods is requested, in percent.',
      samples: () => utilization(cluster, (node) => totals(node).requests),
    },
    ...wrongNodeGauges(cluster),
    ...nodePoolGauges(cluster, samples),
  ]
}

/** Gauges of Nodes that take another's place, or that stay though Joiner is done with them. */
function wrongNodeGauges(cluster: ObservedNodes): readonly GaugeFamily[] {
  return [
    {
      name: 'joiner_nodes_foreign_provider_id',
      help: "A Node with the provider id of a NodeClaim's VM that is not its Node: 1.",
      *samples() {
        for (const node of cluster.nodes.values()) {
          const claims = sameId(cluster, node)
          if (claims.length === 0 || claimOfNode(node, claims) !== undefined) continue
          const nodeclaim = claims[0]?.metadata.name
          yield [labelText(labelPairs({ node_name: node.metadata.name, nodeclaim })), 1] as const
        }
      },
    },
    {
      name: 'joiner_nodes_held_by_finalizers',
      help: 'A Node that is being deleted, that Joiner has let go and that finalizers of others hold: 1.',
      *samples() {
        for (const node of cluster.nodes.values())
          if (holdersOf(node).length > 0) yield [labelText(labelPairs({ node_name: node.metadata.name })), 1] as const
      },
    },
  ]
}

function nodePoolGauges({ nodePools }: ObservedNodes, samples: ResourceSamples): readonly GaugeFamily[] {
  const perPool = (name: string, help: string, amounts: (pool: NodePool) => Resources): GaugeFamily => ({
    name: `karpenter_nodepools_${name}`,
    help,
    *samples() {
      for (const pool of nodePools.values()) yield* samples(labelPairs({ nodepool: pool.metadata.name }), amounts(pool))
    },
  })
  return [
    perPool('limit', 'What a NodePool may have at most.', ({ limits }) => limits),
    perPool('usage', 'What the nodes of a NodePool have, by its status.', ({ resources }) => resources ?? noResources),
  ]
}

/** Returns a Node, with a NodeClaim as that has it. */
function seenIn(cluster: Pick<ObservedNodes, 'nodeClaims'>, node: Node) {
  const claim = claimOfNode(node, sameId(cluster, node))
  return claim === undefined ? { node, isManaged: false } : { node: asClaimed(node, claim), isManaged: true }
}

/** Returns the NodeClaims with a Node's provider id: its own, or the one whose VM it poses as. */
function sameId({ nodeClaims }: Pick<ObservedNodes, 'nodeClaims'>, { providerId }: Node): readonly NodeClaim[] {
  return providerId === undefined ? [] : nodeClaims.by('byProviderId', providerId.toLowerCase())
}

function totalsOf(pods: readonly Pod[]): Totals {
  const running = pods.filter((pod) => !isTerminal(pod))
  const daemons = running.filter(isDaemonPod)
  const sum = (of: readonly Pod[], amounts: (pod: Pod) => Resources) => mergeResources(...of.map(amounts))
  return {
    requests: sum(running, ({ requests }) => requests),
    limits: sum(running, ({ limits }) => limits),
    daemonRequests: sum(daemons, ({ requests }) => requests),
    daemonLimits: sum(daemons, ({ limits }) => limits),
  }
}

function* utilization(
  { nodes }: ObservedNodes,
  requests: (node: Node) => Resources,
): Generator<readonly [string, number]> {
  const all = [...nodes.values()]
  const available = mergeResources(...all.map(({ allocatable }) => allocatable))
  const used = mergeResources(...all.map(requests))
  for (const [name, amount] of Object.entries(available)) {
    if (amount.nano === 0n) continue
    const percent = (100 * amountOf(entryOf(used, name) ?? { ...amount, nano: 0n })) / amountOf(amount)
    yield [labelText(labelPairs({ resource_type: name.toLowerCase().replaceAll('-', '_') })), percent] as const
  }
}

/** Metric label by node label: the part after the slash, in snake case. Of two with the same name the first that is set counts. */
const shown = [...wellKnownLabels].flatMap((key) => {
  const [, name] = key.split('/')
  return name === undefined ? [] : [[key, name.toLowerCase().replaceAll('-', '_')] as const]
})

function pairsOf({ node: { metadata }, isManaged }: ReturnType<typeof seenIn>): string {
  const values: Record<string, string | undefined> = { node_name: metadata.name, managed: String(isManaged) }
  for (const [key, name] of shown) values[name] ||= metadata.labels[key]
  return labelPairs(values)
}

/** Labels of a pod's node, on the pod's series. */
export function placeOf(cluster: Pick<ObservedNodes, 'nodeClaims'>, node: Node | undefined) {
  const seen = node && seenIn(cluster, node)
  const own = seen?.node.metadata.labels ?? {}
  return {
    nodepool: own[labels.nodePool],
    zone: own[labels.zone],
    arch: own[labels.arch],
    capacity_type: own[labels.capacityType],
    instance_type: own[labels.instanceType],
    managed: String(seen?.isManaged === true),
  }
}

function memoized<K extends object, V>(of: (key: K) => V): (key: K) => V {
  const known = new WeakMap<K, V>()
  return (key) => {
    const value = known.get(key) ?? of(key)
    known.set(key, value)
    return value
  }
}
