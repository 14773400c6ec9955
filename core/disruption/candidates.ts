import { isTrue } from '../conditions.ts'
import { annotations, labels } from '../labels.ts'
import { isReady } from '../node-claim/registration.ts'
import type { Node, NodeClaim, NodePool, Pod, PodDisruptionBudget } from '../objects.ts'
import type { Pauses } from '../pauses.ts'
import { hasDoNotDisrupt, isActive, podName } from '../pod-rules.ts'
import { isLeaving } from '../scheduling/state-nodes.ts'
import { evictionBlockedBy } from './pod-disruption-budgets.ts'

/** What disruption decides on, read at one moment. */
export interface DisruptionSnapshot {
  readonly nodes: readonly Node[]
  readonly nodeClaims: readonly NodeClaim[]
  /** Bound pods by Node name. */
  readonly podsByNode: ReadonlyMap<string, readonly Pod[]>
  readonly nodePools: readonly NodePool[]
  readonly podDisruptionBudgets: readonly PodDisruptionBudget[]
  /** Names of Nodes and NodeClaims on which pending pods are expected. */
  readonly nominated: ReadonlySet<string>
  /** Epoch ms. */
  readonly now: number
  /** What an operator has paused; absent: nothing. */
  readonly pauses?: Pauses
  /** A command that is being committed: what carries its id is not taken for disrupted already. */
  readonly commandId?: string
}

/** A managed node with all that belongs to it. */
export interface Candidate {
  readonly nodeClaim: NodeClaim
  readonly node: Node
  readonly nodePool: NodePool
  readonly pods: readonly Pod[]
}

/** Something that cannot be disrupted, as an event on the object tells it. */
export interface Blocked {
  readonly object: { readonly kind: 'NodeClaim' | 'NodePool'; readonly name: string; readonly nodeName?: string }
  readonly reason: 'DisruptionBlocked' | 'Unconsolidatable'
  readonly message: string
  /** True of every node for a while, such as before it is initialized: nothing that its owner could mend. */
  readonly isPassing?: boolean
}

export type Eligibility =
  | { readonly kind: 'candidate'; readonly candidate: Candidate }
  /** `message` absent: nothing to tell, it is on its way out already or still being made. */
  | { readonly kind: 'blocked'; readonly nodeName?: string; readonly message?: string; readonly isPassing?: true }

/** Lookups that every claim of a snapshot needs, made once. Azure does not keep to one case in provider IDs: these are in lower case. */
export interface Lookups {
  readonly nodeByProviderId: ReadonlyMap<string, Node>
  readonly poolByName: ReadonlyMap<string, NodePool>
}

export function lookupsOf({ nodes, nodePools }: DisruptionSnapshot): Lookups {
  return {
    nodeByProviderId: new Map(
      nodes.flatMap((node) => (node.providerId ? [[node.providerId.toLowerCase(), node] as const] : [])),
    ),
    poolByName: new Map(nodePools.map((pool) => [pool.metadata.name, pool])),
  }
}

/** Whether a node may be disrupted for any voluntary reason, or the first thing that forbids it (reference/karpenter-core.md 4.2). */
export function eligibility(claim: NodeClaim, snapshot: DisruptionSnapshot, lookups: Lookups): Eligibility {
  const node = claim.status.providerId ? lookups.nodeByProviderId.get(claim.status.providerId.toLowerCase()) : undefined
  if (node === undefined) {
    return { kind: 'blocked', message: capitalized('nodeclaim does not have an associated node'), isPassing: true }
  }
  const blocked = (message: string) => ({
    kind: 'blocked' as const,
    nodeName: node.metadata.name,
    message: capitalized(message),
  })
  if (isMarked(claim, node, snapshot.commandId)) return { kind: 'blocked', nodeName: node.metadata.name }
  if (node.metadata.labels[labels.initialized] !== 'true') {
    const registered = node.metadata.labels[labels.registered] === 'true'
    return {
      ...blocked(registered ? "node isn't initialized" : "node isn't initialized nor registered"),
      isPassing: true,
    }
  }
  if (snapshot.nominated.has(claim.metadata.name) || snapshot.nominated.has(node.metadata.name)) {
    return { ...blocked('node is nominated for a pending pod'), isPassing: true }
  }
  if ([claim, node].some(({ metadata }) => metadata.annotations[annotations.doNotDisrupt] === 'true')) {
    return blocked(`disruption is blocked through the "${annotations.doNotDisrupt}" annotation`)
  }
  const poolName = node.metadata.labels[labels.nodePool] ?? claim.metadata.labels[labels.nodePool]
  if (poolName === undefined) return blocked(`node doesn't have required label (label=${labels.nodePool})`)
  const nodePool = lookups.poolByName.get(poolName)
  if (nodePool === undefined) return blocked(`NodePool not found (NodePool=${poolName})`)
  const pods = snapshot.podsByNode.get(node.metadata.name) ?? []
  const pod = podBlock(pods, snapshot)
  return pod === undefined ? { kind: 'candidate', candidate: { nodeClaim: claim, node, nodePool, pods } } : blocked(pod)
}

function isMarked(claim: NodeClaim, node: Node, commandId: string | undefined): boolean {
  const own = commandId !== undefined && claim.metadata.annotations[annotations.disruptionCommand] === commandId
  return own ? claim.metadata.deletionTimestamp !== undefined : isLeaving(claim, node)
}

/** Daemon and mirror pods that must not be disrupted block as well. */
function podBlock(pods: readonly Pod[], { podDisruptionBudgets, now }: DisruptionSnapshot): string | undefined {
  for (const pod of pods) {
    if (isActive(pod) && hasDoNotDisrupt(pod, now)) {
      return `pod has "${annotations.doNotDisrupt}" annotation (Pod=${podName(pod)})`
    }
  }
  for (const pod of pods) {
    const blocked = evictionBlockedBy(pod, podDisruptionBudgets, now)
    if (blocked !== undefined) return blocked
  }
  return undefined
}

/**
 * How many nodes of each pool may still be disrupted. `budgetFor` answers what the pool's budgets allow for so many nodes; nodes that are
 * not ready or on their way out use it up (reference/karpenter-core.md 4.10).
 */
export function remainingBudgets(
  snapshot: DisruptionSnapshot,
  lookups: Lookups,
  budgetFor: (nodePool: NodePool, nodes: number) => number,
): Map<string, number> {
  const counts = new Map<string, { nodes: number; consumed: number }>()
  for (const claim of snapshot.nodeClaims) {
    const node = claim.status.providerId
      ? lookups.nodeByProviderId.get(claim.status.providerId.toLowerCase())
      : undefined
    const pool = claim.metadata.labels[labels.nodePool]
    if (node === undefined || pool === undefined || node.metadata.labels[labels.initialized] !== 'true') continue
    if (isTrue(claim.status.conditions, 'InstanceTerminating')) continue
    const count = counts.get(pool) ?? { nodes: 0, consumed: 0 }
    count.nodes += 1
    if (!isReady(node) || isMarked(claim, node, snapshot.commandId)) count.consumed += 1
    counts.set(pool, count)
  }
  const remaining = new Map<string, number>()
  for (const [name, { nodes, consumed }] of counts) {
    const pool = lookups.poolByName.get(name)
    if (pool !== undefined) remaining.set(name, Math.max(budgetFor(pool, nodes) - consumed, 0))
  }
  return remaining
}

/** Events begin with a capital letter. */
function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
