import { isNodeOf } from '../../../core/node-claim/node-owner.ts'
import type { Node, NodeClaim } from '../../../core/objects.ts'
import { subdomainErrors } from '../../../core/requirements/label-syntax.ts'
import type { ClusterCache } from '../cache/cluster-cache.ts'
import { decodeNode } from '../cache/decode.ts'
import { isNotFound } from '../client/api-error.ts'
import type { KubernetesClient } from '../client/client.ts'
import { resourcePath } from '../client/resources.ts'

export interface ClaimNodesDeps {
  readonly client: KubernetesClient
  readonly cache: ClusterCache
}

/** Returns all Nodes with the provider id of a claim, as the cache has them: one, or by mistake several. */
export function nodesOfVm(deps: ClaimNodesDeps, { status: { providerId } }: NodeClaim): readonly Node[] {
  return providerId === undefined ? [] : deps.cache.nodes.by('byProviderId', providerId.toLowerCase())
}

/** Returns those of them that are proven to be the claim's. */
export function claimNodes(deps: ClaimNodesDeps, claim: NodeClaim): readonly Node[] {
  return nodesOfVm(deps, claim).filter((node) => isNodeOf(claim, node))
}

/** Returns the Node of a claim by its provider id; of several the one that it was registered with. */
export function claimNode(deps: ClaimNodesDeps, claim: NodeClaim): Node | undefined {
  const nodes = claimNodes(deps, claim)
  return nodes.find(({ metadata }) => metadata.name === claim.status.nodeName) ?? nodes[0]
}

/**
 * Returns the Nodes of a claim. Reads the API server before it reports them missing: the end of a lifecycle must not mistake a lagging watch
 * for a Node that is gone.
 */
export async function liveNodes(deps: ClaimNodesDeps, claim: NodeClaim): Promise<readonly Node[]> {
  const known = claimNodes(deps, claim)
  return known.length > 0 ? known : [(await readNode(deps, claim)) ?? []].flat()
}

/**
 * Reads the Node of a claim from the API server; undefined when there is none. A launch whose answer was lost may have left a VM, and so a
 * Node, that the claim's status does not name: it is found by the VM's name.
 */
export async function readNode(deps: ClaimNodesDeps, claim: NodeClaim): Promise<Node | undefined> {
  const { nodeName, providerId } = claim.status
  // Azure's kubelets name their Nodes after the VM, which the provider id ends with.
  const vm = providerId?.slice(providerId.lastIndexOf('/') + 1) ?? `aks-${claim.metadata.name}`
  // Status and name of a claim that was made by hand may hold any text, which must not become a request.
  if (subdomainErrors(nodeName ?? vm).length > 0) return undefined
  try {
    const json = await deps.client.get(resourcePath('nodes', nodeName ?? vm))
    const node = decodeNode(json)
    const found = node.providerId?.toLowerCase()
    const isOwn =
      providerId === undefined
        ? found?.endsWith(`/virtualmachines/${vm.toLowerCase()}`) === true
        : found === providerId.toLowerCase()
    if (!isOwn || !isNodeOf(claim, node)) return undefined
    deps.cache.upsert('Node', json)
    return node
  } catch (error) {
    if (isNotFound(error)) return undefined
    throw error
  }
}
