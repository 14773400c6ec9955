import { isTrue } from './conditions.ts'
import { isNodeOfSomeClaim } from './node-claim/node-owner.ts'
import type { Node, Pod } from './objects.ts'
import { isDaemonPod, isMirrorPod, isTerminal } from './pods/pod-rules.ts'
import { taintKeys, terminationFinalizer } from './requirements/labels.ts'
import { sameTaint } from './taints.ts'
import { shortened } from './values/texts.ts'

/** A VM as Nodes name it. */
export interface NamedVm {
  readonly name: string
  readonly providerId: string
}

/** A Node that names a VM whose NodeClaim is lost. */
export interface NamingNode {
  readonly name: string
  readonly isReady: boolean
}

/** The answer of the role core about Nodes whose NodeClaim is lost. */
export interface PodCounts {
  /** Epoch ms: the pods were counted at this time or later. */
  readonly atMs: number
  /** Pods other than those of DaemonSets, by Node. A Node without any was tainted before the count. Nodes that could not be judged are not in it. */
  readonly pods: Readonly<Record<string, number>>
}

/** Why a VM without a NodeClaim is no garbage. `pods` is unset when they are not known. */
export interface MachineUse {
  readonly node: string
  readonly pods?: number
}

/** The time for which an answer is good: what tolerates every taint may be bound later. */
const answerIsGoodForMs = 2 * 60_000

/**
 * Whether a Node names a VM. A Node of another name that has its provider ID counts as well, and so does one of its name whose provider ID is not set
 * yet: in doubt the VM is kept (docs/adr/0041-lost-nodeclaims-are-not-lost-machines.md).
 */
export function namesVm(node: Node, vm: NamedVm): boolean {
  if (node.providerId !== undefined && node.providerId !== '')
    return node.providerId.toLowerCase() === vm.providerId.toLowerCase()
  return node.metadata.name === vm.name.toLowerCase()
}

export function namingNode({ metadata, conditions }: Node): NamingNode {
  return { name: metadata.name, isReady: isTrue(conditions, 'Ready') }
}

/** Whether a Node that is being deleted is held by Joiner's finalizer and Ready. Without a NodeClaim it and its VM are kept while pods run there. */
export function isHeldAndReady({ metadata, conditions }: Node): boolean {
  return metadata.finalizers.includes(terminationFinalizer) && isTrue(conditions, 'Ready')
}

/** The condition of a NodeClaim whose VM is gone and whose Node finalizers of others hold: False, and absent otherwise. */
export const nodeDeleted = 'NodeDeleted'

/** How long a Node without a VM may keep its NodeClaim by finalizers of others. */
export const heldNodeMs = 5 * 60_000

/** Returns the finalizers of others that hold a NodeClaim's Node which is being deleted and which Joiner has let go. */
export function holdersOf(node: Node): readonly string[] {
  const { deletionTimestamp, finalizers } = node.metadata
  const isLetGo = deletionTimestamp !== undefined && !finalizers.includes(terminationFinalizer)
  return isLetGo && isNodeOfSomeClaim(node) ? finalizers : []
}

/** Says what holds such a Node, and what ends that. A kubelet may write as many finalizers as it likes. */
export function heldNodeText({ metadata: { name, finalizers } }: Pick<Node, 'metadata'>): string {
  return `Node ${name}: Joiner has let it go, and metadata.finalizers still has ${shortened(finalizers.join(', '), 300)}; whoever set that has to remove it. If nobody does: kubectl patch node ${name} --type=merge -p '{"metadata":{"finalizers":null}}'`
}

/** The taint of a Node whose VM is about to be deleted. */
export const leavingTaint = { key: taintKeys.disrupted, effect: 'NoSchedule' } as const

/** Whether a Node takes no pods but those that tolerate `leavingTaint`. */
export function isLeavingTainted({ taints }: Node): boolean {
  return taints.some((taint) => sameTaint(taint, leavingTaint))
}

/** Whether a pod that is bound to a Node keeps its VM: it has not ended, and would not end with the Node anyway. */
export function keepsVm(pod: Pod): boolean {
  return !isTerminal(pod) && !isDaemonPod(pod) && !isMirrorPod(pod)
}

/**
 * Returns why a VM without a NodeClaim is kept: a Node that names it is Ready, and is not known to be free of pods. `counts` is unset before the role
 * core was asked, or when its answer is too old at `now`.
 */
export function useOf(
  nodes: readonly NamingNode[],
  counts: PodCounts | undefined,
  now: number,
): MachineUse | undefined {
  const isGood = counts !== undefined && Math.abs(now - counts.atMs) <= answerIsGoodForMs
  const uses = nodes
    .filter(({ isReady }) => isReady)
    .flatMap(({ name }): readonly MachineUse[] => {
      const pods = isGood && Object.hasOwn(counts.pods, name) ? counts.pods[name] : undefined
      if (pods === undefined) return [{ node: name }]
      return pods === 0 ? [] : [{ node: name, pods }]
    })
  return uses.find(({ pods }) => pods !== undefined) ?? uses[0]
}

/** Items without a NodeClaim, by whether their Nodes keep them. */
export function dividedByUse<T extends { readonly nodes?: readonly NamingNode[] }>(
  items: readonly T[],
  counts: PodCounts | undefined,
  now: number,
): { readonly unused: readonly T[]; readonly inUse: readonly (T & { readonly use: MachineUse })[] } {
  const judged = items.map((item) => ({ item, use: useOf(item.nodes ?? [], counts, now) }))
  return {
    unused: judged.flatMap(({ item, use }) => (use === undefined ? [item] : [])),
    inUse: judged.flatMap(({ item, use }) => (use === undefined ? [] : [{ ...item, use }])),
  }
}
