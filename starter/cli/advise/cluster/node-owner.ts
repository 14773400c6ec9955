import { isAksMachine } from '../../../../core/node-claim/aks-machine.ts'
import type { Node, NodeClaim } from '../../../../core/objects.ts'
import { labels } from '../../../../core/requirements/labels.ts'
import { stateNodes } from '../../../../core/scheduling/state-nodes.ts'

const agentPoolKeys = ['kubernetes.azure.com/agentpool', 'agentpool'] as const

/** What a node belongs to. `machine`: one that AKS makes for node auto-provisioning. */
export type NodeOwner =
  | { readonly kind: 'NodePool'; readonly name: string; readonly isMachine: boolean }
  | { readonly kind: 'agent pool'; readonly name: string }
  | { readonly kind: 'other'; readonly name: '' }

/** A Node with its NodeClaim and what it belongs to. */
export interface OwnedNode {
  readonly node: Node
  readonly claim?: NodeClaim
  readonly owner: NodeOwner
}

/** Returns each Node with what it belongs to: a NodePool by its NodeClaim or label, else the agent pool that AKS names in a label. */
export function ownedNodes(cluster: {
  readonly nodes: readonly Node[]
  readonly nodeClaims: readonly NodeClaim[]
}): readonly OwnedNode[] {
  const known = new Map(stateNodes(cluster).map((one) => [one.node?.metadata.name, one]))
  return cluster.nodes.map((reported) => {
    const { node = reported, claim } = known.get(reported.metadata.name) ?? {}
    return { node, ...(claim && { claim }), owner: ownerOf(node, claim) }
  })
}

function ownerOf({ metadata }: Node, claim: NodeClaim | undefined): NodeOwner {
  const pool = metadata.labels[labels.nodePool]
  if (pool) return { kind: 'NodePool', name: pool, isMachine: claim !== undefined && isAksMachine(claim) }
  const name = agentPoolKeys.map((key) => metadata.labels[key]).find(Boolean)
  return name === undefined ? { kind: 'other', name: '' } : { kind: 'agent pool', name }
}
