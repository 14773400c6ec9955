import { nodeNamePrefix } from '../../../core/node-claim/node-names.ts'
import { claimOfNode, goesWith, isNodeOf, nodesOfClaim, vmNameIn } from '../../../core/node-claim/node-owner.ts'
import { asClaimed } from '../../../core/node-claim/registration.ts'
import type { Node, NodeClaim } from '../../../core/objects.ts'
import { subdomainErrors } from '../../../core/requirements/label-syntax.ts'
import { decodeNode } from '../cache/decode.ts'
import { getIfAny } from '../client/answers.ts'
import { resourcePath } from '../client/resources.ts'
import type { Parts } from '../parts.ts'

export type ClaimNodesDeps = Pick<Parts, 'client' | 'cache'>

/** Returns all Nodes with the provider id of a claim, as the cache has them, strangers included. */
export function nodesOfVm(
  { cache }: Pick<ClaimNodesDeps, 'cache'>,
  { status: { providerId } }: NodeClaim,
): readonly Node[] {
  return providerId === undefined ? [] : cache.nodes.by('byProviderId', providerId.toLowerCase())
}

/** Returns those of them that are the claim's, the registered one first. */
export function claimNodes(deps: Pick<ClaimNodesDeps, 'cache'>, claim: NodeClaim): readonly Node[] {
  return nodesOfClaim(claim, nodesOfVm(deps, claim))
}

/** Returns the Node of a claim: the registered one, or the one that joined. */
export function claimNode(deps: Pick<ClaimNodesDeps, 'cache'>, claim: NodeClaim): Node | undefined {
  return claimNodes(deps, claim)[0]
}

/** Returns the claim of a Node, as the cache has them. */
export function nodeClaimOf({ cache }: Pick<ClaimNodesDeps, 'cache'>, node: Node | undefined): NodeClaim | undefined {
  if (node?.providerId === undefined) return undefined
  return claimOfNode(node, cache.nodeClaims.by('byProviderId', node.providerId.toLowerCase()))
}

/** Returns a Node of the cache as its claim, if any, has it. */
export function nodeAsClaimed(deps: Pick<ClaimNodesDeps, 'cache'>, node: Node): Node {
  const claim = nodeClaimOf(deps, node)
  return claim === undefined ? node : asClaimed(node, claim)
}

/**
 * Returns the Nodes that end with a claim. Reads the API server before it reports them missing: the end of a lifecycle must not mistake a lagging watch
 * for a Node that is gone.
 */
export async function liveNodes(deps: ClaimNodesDeps, claim: NodeClaim): Promise<readonly Node[]> {
  const known = nodesOfVm(deps, claim).filter((node) => goesWith(claim, node))
  return known.length > 0 ? known : [(await readNode(deps, claim)) ?? []].flat()
}

/**
 * Reads the Node of a claim from the API server; undefined when there is none. A launch whose answer was lost may have left a VM, and so a
 * Node, that the claim's status does not name: it is found by the VM's name.
 */
export async function readNode(deps: ClaimNodesDeps, claim: NodeClaim): Promise<Node | undefined> {
  const { nodeName, providerId } = claim.status
  // Azure's kubelets name their Nodes after the VM, which the provider id ends with.
  const vm = (providerId === undefined ? `${nodeNamePrefix}${claim.metadata.name}` : vmNameIn(providerId)).toLowerCase()
  // Status and name of a claim that was made by hand may hold any text, which must not become a request.
  if (subdomainErrors(nodeName ?? vm).length > 0) return undefined
  const json = await getIfAny(deps.client, resourcePath('nodes', nodeName ?? vm))
  if (json === undefined) return undefined
  const node = decodeNode(json)
  if (!isNodeOf(claim, node)) return undefined
  deps.cache.upsert('Node', json)
  return node
}
