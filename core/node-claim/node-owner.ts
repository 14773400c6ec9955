import { conditionOf, isTrue } from '../conditions.ts'
import type { Node, NodeClaim, ObjectMeta, OwnerReference } from '../objects.ts'
import { annotations, labels, taintKeys } from '../requirements/labels.ts'
import { nodeNamePrefix } from './node-names.ts'

/** The part of a Node that says whose it is. */
export interface JoinedNode extends Pick<Node, 'providerId' | 'taints'> {
  readonly metadata: Pick<
    ObjectMeta,
    'name' | 'uid' | 'creationTimestamp' | 'labels' | 'annotations' | 'ownerReferences'
  >
}

/** The part of a NodeClaim that says which Node is its own. */
export interface OwningClaim {
  readonly metadata: Pick<ObjectMeta, 'name' | 'uid'> & Partial<Pick<ObjectMeta, 'annotations'>>
  readonly status: Pick<NodeClaim['status'], 'nodeName' | 'providerId' | 'conditions'>
}

/**
 * How a Node is a NodeClaim's. `registered`: registration recorded this very Node. `joined`: the Node of the claim's VM, which registration has not
 * recorded yet, or not again.
 */
export type Join = 'registered' | 'joined'

/** Returns the NodeClaim in a Node's owner references; undefined when there is none. */
export function owningClaim({ metadata }: Pick<JoinedNode, 'metadata'>): OwnerReference | undefined {
  return metadata.ownerReferences.find(
    ({ apiVersion, kind }) => kind === 'NodeClaim' && apiVersion.startsWith('karpenter.sh/'),
  )
}

/** Whether an owner reference names a claim, or the lost one whose VM it was made again for. */
export function isOwnedBy({ metadata }: Pick<OwningClaim, 'metadata'>, { uid }: Pick<OwnerReference, 'uid'>): boolean {
  return uid === metadata.uid || uid === metadata.annotations?.[annotations.adoptedFrom]
}

/** Whether a Node is the one that a VM's own kubelet registers: it has the VM's name and its provider id. A kubelet may give itself any provider id. */
export function isOwnNodeOfVm(
  { metadata, providerId }: Pick<JoinedNode, 'metadata' | 'providerId'>,
  vm: { readonly name: string; readonly providerId: string },
): boolean {
  return metadata.name === vm.name.toLowerCase() && isSameId(providerId, vm.providerId)
}

/** Whether registration has recorded a Node for a claim. Until then the registration limit decides what becomes of it. */
export function hasHadNode({ status }: Pick<OwningClaim, 'status'>): boolean {
  return status.nodeName !== undefined || isTrue(status.conditions, 'Registered')
}

/**
 * Returns how a Node is a claim's; undefined when it is not. A provider id proves nothing, since a kubelet sets its own: after registration the Node
 * counts that registration recorded, before it the one with the VM's own name. A Node that an AKS node pool made is neither, even if a NodeClaim has
 * the name of its VM (docs/architecture.md "Invariants").
 */
export function joinOf(claim: OwningClaim, node: JoinedNode): Join | undefined {
  const owner = owningClaim(node)
  if (owner !== undefined && !isOwnedBy(claim, owner)) return undefined
  if (hasHadNode(claim) && isRegistered(claim, node)) return 'registered'
  return (owner !== undefined || hasJoinedAsOurs(node)) && isNodeOfItsVm(claim, node) ? 'joined' : undefined
}

/** Whether a Node is a claim's, registered or about to be. No other Node is registered, drained or deleted for it. */
export function isNodeOf(claim: OwningClaim, node: JoinedNode): boolean {
  return joinOf(claim, node) !== undefined
}

/**
 * Whether a claim had a Node that is gone. `node`: its Node now, if any. A Node of the same name with another uid is a new one, which has to be
 * registered before it counts.
 */
export function hasLostNode(claim: OwningClaim, node: JoinedNode | undefined): boolean {
  return hasHadNode(claim) && (node === undefined || joinOf(claim, node) !== 'registered')
}

/** Whether a Node goes with a claim: it is the claim's, or the claim is its owner, so that Kubernetes deletes it then. */
export function goesWith(claim: OwningClaim, node: JoinedNode): boolean {
  return isNodeOf(claim, node) || owningClaim(node)?.uid === claim.metadata.uid
}

/** Returns the Nodes of a claim among those with its provider id, the registered one first. */
export function nodesOfClaim<N extends JoinedNode>(claim: OwningClaim, sameId: readonly N[]): readonly N[] {
  const own = sameId.filter((node) => isNodeOf(claim, node))
  return own.length < 2 ? own : own.toSorted((a, b) => rank(claim, a) - rank(claim, b))
}

const rank = (claim: OwningClaim, node: JoinedNode) => (joinOf(claim, node) === 'registered' ? 0 : 1)

/** Returns the claim of a Node among those with its provider id. */
export function claimOfNode<C extends OwningClaim>(node: JoinedNode, sameId: readonly C[]): C | undefined {
  return sameId.find((claim) => isNodeOf(claim, node))
}

/** Which Nodes and NodeClaims belong together. */
export interface Joins<N, C> {
  readonly claimOf: ReadonlyMap<N, C>
  /** Nodes with a NodeClaim's provider id that are not its Node, with that NodeClaim. */
  readonly strangers: ReadonlyMap<N, C>
  /**
   * Nodes that joined for a NodeClaim that is registered, and are not registered themselves: the recorded Node is gone, or what registration wrote to
   * this one is not seen yet.
   */
  readonly rejoining: ReadonlyMap<N, C>
  /** NodeClaims whose Node is gone. */
  readonly lost: ReadonlySet<C>
}

/** Returns which Nodes and NodeClaims belong together. */
export function joinsOf<N extends JoinedNode, C extends OwningClaim>(
  nodes: Iterable<N>,
  claims: Iterable<C>,
): Joins<N, C> {
  const lost = new Set<C>()
  const byId = new Map<string, C[]>()
  for (const claim of claims) {
    if (hasHadNode(claim)) lost.add(claim)
    const id = claim.status.providerId?.toLowerCase()
    if (!id) continue
    const sameId = byId.get(id)
    if (sameId === undefined) byId.set(id, [claim])
    else sameId.push(claim)
  }
  const [claimOf, strangers, rejoining] = [new Map<N, C>(), new Map<N, C>(), new Map<N, C>()]
  for (const node of nodes) {
    const sameId = byId.get(node.providerId?.toLowerCase() ?? '') ?? []
    const [first] = sameId
    if (first === undefined) continue
    const claim = claimOfNode(node, sameId)
    if (claim === undefined) strangers.set(node, first)
    else if (hasLostNode(claim, node)) rejoining.set(node, claim)
    else {
      claimOf.set(node, claim)
      lost.delete(claim)
    }
  }
  return { claimOf, strangers, rejoining, lost }
}

/**
 * Whether registration recorded this very Node: under its name on the claim, and with its uid on the Node, which a copy of the Node has from the Node
 * before it.
 */
function isRegistered(claim: OwningClaim, node: JoinedNode): boolean {
  const { nodeName, providerId } = claim.status
  const isOwned = owningClaim(node) !== undefined
  const isNamed = nodeName === undefined ? isOwned || isNodeOfItsVm(claim, node) : nodeName === node.metadata.name
  if (!isNamed || !isSameId(node.providerId, providerId)) return false
  const uid = node.metadata.annotations[annotations.nodeUid]
  return uid === undefined ? isOwned || wasThere(claim, node) : uid === node.metadata.uid
}

/** Time by which the clocks that wrote two objects may differ. */
const clockSkewMs = 60_000

/** Whether a Node was there when its claim was registered. Karpenter writes no uid, and the owner may have been removed by hand. */
function wasThere({ status }: OwningClaim, node: JoinedNode): boolean {
  const { metadata, taints } = node
  const registeredAt = Date.parse(conditionOf(status.conditions, 'Registered')?.lastTransitionTime ?? '')
  const isYounger = Date.parse(metadata.creationTimestamp) > registeredAt + clockSkewMs
  return hasJoinedAsOurs(node) && !isYounger && !taints.some(({ key }) => key === taintKeys.unregistered)
}

/** A launch whose answer was lost may have left a VM that the claim's status does not name: it has the name that Joiner gives it. */
function isNodeOfItsVm({ metadata, status: { providerId } }: OwningClaim, node: JoinedNode): boolean {
  if (providerId !== undefined) return isOwnNodeOfVm(node, { name: vmNameIn(providerId), providerId })
  const name = `${nodeNamePrefix}${metadata.name}`
  return node.metadata.name === name && node.providerId?.toLowerCase().endsWith(`/virtualmachines/${name}`) === true
}

/** Returns the name of the VM that a provider id names. */
export function vmNameIn(providerId: string): string {
  return providerId.slice(providerId.lastIndexOf('/') + 1)
}

function isSameId(one: string | undefined, other: string | undefined): boolean {
  return one !== undefined && one.toLowerCase() === other?.toLowerCase()
}

/** Whether a Node was made for some NodeClaim: it names one as its owner, or joined as one that has none yet. */
export function isNodeOfSomeClaim(node: Node): boolean {
  return owningClaim(node) !== undefined || hasJoinedAsOurs(node)
}

/** Whether a Node has the labels and the taint of its configuration, which it has before registration. */
function hasJoinedAsOurs({ metadata, taints }: JoinedNode): boolean {
  return (
    taints.some(({ key }) => key === taintKeys.unregistered) ||
    [labels.nodePool, labels.registered, labels.capacityType].some((key) => metadata.labels[key] !== undefined)
  )
}
