import { isTrue } from '../conditions.ts'
import type { Node, NodeClaim, OwnerReference, Taint } from '../objects.ts'
import { annotations, labels, taintKeys, terminationFinalizer } from '../requirements/labels.ts'
import { describeTaint, isEphemeralTaint, mergeTaints, sameTaint } from '../taints.ts'
import { entryOf } from '../values/records.ts'
import { isOwnedBy, joinOf } from './node-owner.ts'

/** The Node that registration of its claim should produce. Lists are complete, maps hold what to set. */
export interface RegistrationPatch {
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
  readonly taints: readonly Taint[]
  readonly finalizers: readonly string[]
  readonly ownerReferences: readonly (OwnerReference & { readonly blockOwnerDeletion?: boolean })[]
  /** The Node joined without the taint that keeps pods away until its labels and taints are set: worth a warning. */
  readonly unregisteredTaintMissing: boolean
}

/**
 * Returns what registration writes to a Node: the claim's labels, annotations and taints, finalizer and owner. The unregistered taint is removed
 * (reference/karpenter-core.md 5.1).
 */
export function registrationPatch(claim: NodeClaim, node: Node): RegistrationPatch {
  const unregistered = node.taints.some(({ key }) => key === taintKeys.unregistered)
  const kept = node.taints.filter(({ key }) => key !== taintKeys.unregistered)
  // On a Node that was adopted pods run: what its NodePool taints nodes with by now, and startup taints that were taken off, would evict them.
  const isInUse = claim.metadata.annotations[annotations.adoptedFrom] !== undefined && !unregistered
  const syncsTaints = node.metadata.labels[labels.doNotSyncTaints] !== 'true' && !isInUse
  const own: OwnerReference & { readonly blockOwnerDeletion: boolean } = {
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodeClaim',
    name: claim.metadata.name,
    uid: claim.metadata.uid,
    blockOwnerDeletion: true,
  }
  const owners = node.metadata.ownerReferences.filter((owner) => !isOwnedBy(claim, owner))
  return {
    labels: { ...claim.metadata.labels, [labels.registered]: 'true' },
    annotations: claim.metadata.annotations,
    taints: syncsTaints ? mergeTaints(mergeTaints(kept, claim.spec.taints), claim.spec.startupTaints) : kept,
    finalizers: [...new Set([...node.metadata.finalizers, terminationFinalizer])],
    ownerReferences: [...owners, own],
    unregisteredTaintMissing: !unregistered && node.metadata.labels[labels.registered] === undefined,
  }
}

/** Nodes as their NodeClaims have them: the same object as long as both are. */
const seen = new WeakMap<Node, readonly [NodeClaim, Node]>()

/**
 * Returns a NodeClaim's Node with the labels that registration and initialization gave it, which the NodeClaim says. A kubelet may change and remove
 * labels of its Node, so what is decided about a node reads them here. Other labels are the Node's.
 */
export function asClaimed(node: Node, claim: NodeClaim): Node {
  const known = seen.get(node)
  if (known?.[0] === claim) return known[1]
  const { metadata } = node
  const said = Object.entries(labelsSaid(claim, node))
  const isSame = said.every(([key, value]) => metadata.labels[key] === value)
  const all = new Map([...Object.entries(metadata.labels), ...said])
  const own = [...all].filter((entry): entry is [string, string] => entry[1] !== undefined)
  const result = isSame ? node : { ...node, metadata: { ...metadata, labels: Object.fromEntries(own) } }
  seen.set(node, [claim, result])
  return result
}

/** Undefined: the Node does not have it. */
function labelsSaid(claim: NodeClaim, node: Node): Readonly<Record<string, string | undefined>> {
  const { metadata, status } = claim
  const isOurs = isTrue(status.conditions, 'Registered') && joinOf(claim, node) === 'registered'
  return {
    [labels.nodePool]: undefined,
    ...metadata.labels,
    [labels.registered]: isOurs ? 'true' : undefined,
    [labels.initialized]: isOurs && isTrue(status.conditions, 'Initialized') ? 'true' : undefined,
  }
}

/** Reason and message for a claim whose Node has not joined, when nothing more is known. */
export const nodeNotFound = { reason: 'NodeNotFound', message: 'Node not registered with cluster' } as const

export type InitializationState =
  | { readonly initialized: true }
  | { readonly initialized: false; readonly reason: string; readonly message: string }

/** Returns whether a registered Node can take pods, or the first thing that it lacks (reference/karpenter-core.md 5.1). */
export function initializationState(claim: NodeClaim, node: Node | undefined): InitializationState {
  const not = (reason: string, message: string) => ({ initialized: false as const, reason, message })
  if (node === undefined) return not(nodeNotFound.reason, nodeNotFound.message)
  if (!isReady(node)) return not('NodeNotReady', 'Node status is NotReady')
  const startup = claim.spec.startupTaints.find((taint) => node.taints.some((other) => sameTaint(other, taint)))
  if (startup !== undefined) return not('StartupTaintsExist', `StartupTaint "${describeTaint(startup)}" still exists`)
  const ephemeral = node.taints.find(isEphemeralTaint)
  if (ephemeral !== undefined) {
    return not('KnownEphemeralTaintsExist', `KnownEphemeralTaint "${describeTaint(ephemeral)}" still exists`)
  }
  const missing = Object.keys(claim.spec.requests)
    .sort()
    .find((name) => claim.spec.requests[name]?.nano !== 0n && (entryOf(node.allocatable, name)?.nano ?? 0n) === 0n)
  if (missing !== undefined)
    return not('ResourceNotRegistered', `Resource "${missing}" was requested but not registered`)
  return { initialized: true }
}

/** Whether a Node's kubelet reports that it is ready. */
export function isReady(node: Node): boolean {
  return node.conditions.some(({ type, status }) => type === 'Ready' && status === 'True')
}
