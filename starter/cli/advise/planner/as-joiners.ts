import { decodeNodeClass, decodeNodePool } from '../../../../activities/kubernetes/cache/decode.ts'
import { isTrue } from '../../../../core/conditions.ts'
import type { Condition, Node, NodeClaim, NodePool, Pod } from '../../../../core/objects.ts'
import { annotations, labels } from '../../../../core/requirements/labels.ts'
import { type Json, withMetadata } from '../../../files/cluster-objects.ts'
import type { WholeCluster } from '../../../files/taking-part.ts'
import { marketLabels } from '../azure/market.ts'
import type { OwnedNode } from '../cluster/node-owner.ts'
import { autoscalerAnnotations } from '../cluster/read.ts'
import type { Proposal } from '../node-pools/propose.ts'

interface Input {
  readonly seen: WholeCluster
  readonly owned: readonly OwnedNode[]
  readonly proposals: readonly Proposal[]
  /** False: NodeClaims could not be read, and nodes with a NodePool's label stand for them. */
  readonly areClaimsKnown: boolean
  /** RFC 3339. */
  readonly now: string
}

/**
 * Returns the cluster as if Joiner had made the nodes of agent pools, by the NodePools that are proposed for them. What Cluster Autoscaler would leave alone
 * counts as protected from disruption.
 */
export function asJoiners({ seen, owned, proposals, areClaimsKnown, now }: Input): WholeCluster {
  const proposed = new Map(proposals.map((proposal) => [proposal.agentPool, proposal.name]))
  const taken = new Map<string, { readonly node: Node; readonly claim: NodeClaim }>()
  const pools = new Map(seen.cluster.nodePools.map((pool) => [pool.metadata.name, pool]))
  const made = proposals.map((proposal) => poolOf(proposal, now))
  for (const pool of made) pools.set(pool.metadata.name, pool)
  for (const { node, claim, owner } of owned) {
    if (claim !== undefined) continue
    const pool =
      owner.kind === 'agent pool' ? proposed.get(owner.name) : areClaimsKnown ? undefined : owner.name || undefined
    const nodePool = pool === undefined ? undefined : pools.get(pool)
    if (nodePool !== undefined) taken.set(node.metadata.name, claimed(node, nodePool, now))
  }
  const { cluster, nodeClasses } = seen
  // Where the cluster's own classes are not known, none is: else its NodePools would count as having none.
  const areClassesKnown = nodeClasses.length > 0 || cluster.nodePools.length === 0
  return {
    cluster: {
      ...cluster,
      nodePools: [...pools.values()],
      nodes: cluster.nodes.map((node) => taken.get(node.metadata.name)?.node ?? node),
      nodeClaims: [...cluster.nodeClaims, ...[...taken.values()].map(({ claim }) => claim)],
      pods: cluster.pods.map((pod) => (taken.has(pod.nodeName ?? '') ? kept(pod) : pod)),
    },
    nodeClasses: areClassesKnown
      ? [...nodeClasses, ...proposals.map(({ nodeClass }) => decodeNodeClass(ready(nodeClass, now)))]
      : nodeClasses,
  }
}

function poolOf({ nodePool }: Proposal, now: string): NodePool {
  return decodeNodePool(ready(nodePool, now))
}

/** An object as Joiner would report it once it is applied. */
function ready(object: object, now: string): Json {
  return { ...withMetadata(object as Json, now), status: { conditions: [{ type: 'Ready', status: 'True' }] } }
}

/** A node with the NodeClaim that it would have. */
function claimed(node: Node, pool: NodePool, now: string): { readonly node: Node; readonly claim: NodeClaim } {
  const { name, creationTimestamp } = node.metadata
  const isReady = isTrue(node.conditions, 'Ready')
  const own = {
    ...marketLabels(node.metadata.labels),
    [labels.nodePool]: pool.metadata.name,
    [labels.registered]: 'true',
    ...(isReady ? { [labels.initialized]: 'true' } : {}),
  }
  const isKept = node.metadata.annotations[autoscalerAnnotations.scaleDownDisabled] === 'true'
  const annotated = { ...node.metadata.annotations, ...(isKept ? { [annotations.doNotDisrupt]: 'true' } : {}) }
  const providerId = node.providerId ?? `unknown://${name}`
  const { taints, nodeClassRef } = pool.template.spec
  return {
    node: { ...node, providerId, metadata: { ...node.metadata, labels: own, annotations: annotated } },
    claim: {
      kind: 'NodeClaim',
      metadata: {
        name,
        uid: `NodeClaim/${name}`,
        resourceVersion: '',
        creationTimestamp,
        labels: own,
        annotations: annotated,
        finalizers: [],
        ownerReferences: [],
      },
      spec: { taints, startupTaints: [], requirements: [], nodeClassRef, expireAfter: 'Never', requests: {} },
      status: {
        nodeName: name,
        providerId,
        capacity: node.capacity,
        allocatable: node.allocatable,
        conditions: (isReady ? ['Launched', 'Registered', 'Initialized', 'Ready'] : ['Launched', 'Registered']).map(
          (type): Condition => ({ type, status: 'True', lastTransitionTime: now }),
        ),
      },
    },
  }
}

function kept(pod: Pod): Pod {
  const { metadata } = pod
  if (metadata.annotations[autoscalerAnnotations.safeToEvict] !== 'false') return pod
  return {
    ...pod,
    metadata: { ...metadata, annotations: { ...metadata.annotations, [annotations.doNotDisrupt]: 'true' } },
  }
}
