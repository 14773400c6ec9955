import type { Node, NodeClaim, OwnerReference, Taint } from '../objects.ts'
import { annotations, labels, taintKeys, terminationFinalizer } from '../requirements/labels.ts'
import { describeTaint, isEphemeralTaint, mergeTaints, sameTaint } from '../taints.ts'
import { entryOf } from '../values/records.ts'
import { isOwnedBy } from './node-owner.ts'

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
