import { isAksMachine } from '../../../../core/node-claim/aks-machine.ts'
import type { Node, NodeClaim } from '../../../../core/objects.ts'
import { labels } from '../../../../core/requirements/labels.ts'
import { stateNodes } from '../../../../core/scheduling/state-nodes.ts'
import { counted } from '../../../document/words.ts'
import type { ManagedCluster } from '../../../picture/managed-cluster.ts'
import type { SeenCluster, SeenDeployment } from './read.ts'

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

/** Who changes the number of nodes. */
export interface Scaler {
  readonly kind: 'Joiner' | 'Karpenter' | 'node auto-provisioning' | 'Cluster Autoscaler' | 'none'
  /** What that is known by. */
  readonly evidence: readonly string[]
}

interface Facts {
  readonly seen: Pick<SeenCluster, 'cluster' | 'deployments' | 'autoscalerStatus'>
  readonly nodes: readonly OwnedNode[]
  /** As ARM has it; unset: not read. */
  readonly aks: ManagedCluster | undefined
}

/** Returns all who scale, each with its evidence; `none` where there is no sign of any. */
export function scalersOf(facts: Facts): readonly Scaler[] {
  const found = [joiner(facts), karpenter(facts), autoProvisioning(facts), clusterAutoscaler(facts)]
  const scalers = found.filter(({ evidence }) => evidence.length > 0)
  if (scalers.length > 0) return scalers
  const what = facts.aks === undefined ? 'the cluster' : 'the cluster and ARM'
  return [
    { kind: 'none', evidence: [`${what}: no sign of Joiner, Karpenter, node auto-provisioning or Cluster Autoscaler`] },
  ]
}

function joiner({ seen }: Facts): Scaler {
  const own = seen.deployments.filter(
    ({ name, images }) => /^joiner(-\w+)?$/.test(name) || images.some((image) => /\/joiner[:@]/.test(image)),
  )
  return { kind: 'Joiner', evidence: own.map(deploymentText) }
}

/** Karpenter's nodes without machines of AKS are those of a self-hosted one, or of Joiner. */
function karpenter({ seen, nodes }: Facts): Scaler {
  const own = seen.deployments.filter(
    ({ name, labels, images }) =>
      name === 'karpenter' ||
      labels['app.kubernetes.io/name'] === 'karpenter' ||
      images.some((image) => image.includes('karpenter')),
  )
  const claims = nodes.filter(({ owner }) => owner.kind === 'NodePool' && !owner.isMachine).length
  const evidence = own.map(deploymentText)
  const objects =
    claims === 0
      ? []
      : [
          `${counted(claims, 'node')} of ${counted(seen.cluster.nodePools.length, 'NodePool')}, which are VMs of their own`,
        ]
  const hasJoiner = joiner({ seen, nodes, aks: undefined }).evidence.length > 0
  return { kind: 'Karpenter', evidence: evidence.length === 0 && hasJoiner ? [] : [...evidence, ...objects] }
}

function autoProvisioning({ nodes, aks }: Facts): Scaler {
  const machines = nodes.filter(({ owner }) => owner.kind === 'NodePool' && owner.isMachine).length
  const mode = aks?.properties.nodeProvisioningProfile?.mode
  return {
    kind: 'node auto-provisioning',
    evidence: [
      ...(mode === 'Auto' ? [`AKS cluster "${aks?.name}": nodeProvisioningProfile.mode is Auto`] : []),
      ...(machines === 0 ? [] : [`${counted(machines, 'NodeClaim')} with a machine of AKS`]),
    ],
  }
}

function clusterAutoscaler({ seen, aks }: Facts): Scaler {
  const own = seen.deployments.filter(
    ({ name, images }) => name === 'cluster-autoscaler' || images.some((image) => image.includes('cluster-autoscaler')),
  )
  const scaled = (aks?.properties.agentPoolProfiles ?? []).filter(({ enableAutoScaling }) => enableAutoScaling === true)
  return {
    kind: 'Cluster Autoscaler',
    evidence: [
      ...own.map(deploymentText),
      ...(seen.autoscalerStatus === undefined ? [] : ['ConfigMap kube-system/cluster-autoscaler-status is there']),
      ...(scaled.length === 0 ? [] : [`enableAutoScaling of agent pools ${scaled.map(({ name }) => name).join(', ')}`]),
    ],
  }
}

function deploymentText({ namespace, name, ready }: SeenDeployment): string {
  return `Deployment ${namespace}/${name} (${counted(ready, 'ready pod')})`
}
