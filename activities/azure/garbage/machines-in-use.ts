import { isTrue } from '../../../core/conditions.ts'
import {
  isLeavingTainted,
  type NamedVm,
  namesVm,
  namingNode,
  type PodCounts,
  useOf,
} from '../../../core/machines-in-use.ts'
import type { Node } from '../../../core/objects.ts'
import { subdomainErrors } from '../../../core/requirements/label-syntax.ts'
import { decodeNode } from '../../kubernetes/cache/decode.ts'
import { getIfAny } from '../../kubernetes/client/answers.ts'
import { resourcePath } from '../../kubernetes/client/resources.ts'
import type { Parts } from '../../kubernetes/parts.ts'

type NamingNodesDeps = Pick<Parts, 'cache' | 'client' | 'now'>

/** Returns the Nodes in the cache that name a VM. */
export function nodesNaming({ cache }: Pick<NamingNodesDeps, 'cache'>, vm: NamedVm): readonly Node[] {
  const byId = cache.nodes.by('byProviderId', vm.providerId.toLowerCase())
  const byName = cache.nodes.get(vm.name.toLowerCase())
  return byName !== undefined && !byId.includes(byName) && namesVm(byName, vm) ? [...byId, byName] : byId
}

/**
 * The last look before the deletion of a VM without a NodeClaim: whether the role core has found its Nodes free of pods, and its own Node, read from
 * the API server, is not Ready or still has the taint that keeps pods away. Errors: the API server's.
 */
export async function isFreeOfPods(
  deps: NamingNodesDeps,
  vm: NamedVm,
  counts: PodCounts | undefined,
): Promise<boolean> {
  const live = await liveNode(deps, vm.name.toLowerCase())
  if (useOf(nodesNaming(deps, vm).map(namingNode), counts, deps.now()) !== undefined) return false
  return live === undefined || !namesVm(live, vm) || !isTrue(live.conditions, 'Ready') || isLeavingTainted(live)
}

/** Reads a Node, which enters the cache; undefined when there is none. */
async function liveNode({ client, cache }: NamingNodesDeps, name: string): Promise<Node | undefined> {
  // VMs have names that no Node can have, and no such name may become a request.
  if (subdomainErrors(name).length > 0) return undefined
  const json = await getIfAny(client, resourcePath('nodes', name))
  if (json === undefined) return undefined
  cache.upsert('Node', json)
  return decodeNode(json)
}
