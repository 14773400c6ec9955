import { isLeavingTainted, keepsVm, leavingTaint, type PodCounts } from '../../../core/machines-in-use.ts'
import { nodeNamePrefix } from '../../../core/node-claim/node-names.ts'
import { isNodeOfSomeClaim, isOwnNodeOfVm, owningClaim } from '../../../core/node-claim/node-owner.ts'
import type { Node } from '../../../core/objects.ts'
import { inParallel } from '../../concurrency.ts'
import { getIfAny } from '../client/answers.ts'
import { updateNode } from '../client/object-writes.ts'
import { resourcePath } from '../client/resources.ts'
import type { WriteDeps } from '../parts.ts'
import { livePodsOn } from './live-pods.ts'

/** Most Nodes that are judged at once. */
const width = 16

/**
 * Counts the pods on Nodes whose VM has no NodeClaim, except those of DaemonSets. A Node without any is tainted first and its pods are read from the
 * API server afterwards, so that none comes before its VM is deleted; if one came before the taint, the taint is removed. Nodes that a NodeClaim
 * stands for, or that are not proven to be a NodeClaim's, are not touched, and are not in the answer.
 * Errors: the API server's.
 */
export async function taintIdleNodes(
  deps: WriteDeps,
  names: readonly string[],
  signal: AbortSignal,
): Promise<PodCounts> {
  await deps.cache.connected(signal)
  const atMs = deps.now()
  const pods: Record<string, number> = {}
  await inParallel(names, width, async (name) => {
    signal.throwIfAborted()
    const count = await podsOn(deps, name)
    if (count !== undefined) pods[name] = count
  })
  return { atMs, pods }
}

async function podsOn(deps: WriteDeps, name: string): Promise<number | undefined> {
  const node = deps.cache.nodes.get(name)
  if (node === undefined || !isProven(node)) return undefined
  const known = deps.cache.pods.by('byNode', name).filter(keepsVm).length
  if (known > 0 && !isLeavingTainted(node)) return known
  if (await claimExists(deps, node)) return undefined
  if (known > 0) {
    await untaint(deps, name)
    return known
  }
  if ((await taint(deps, name)) === undefined) return undefined
  const live = (await livePodsOn(deps, name)).filter(keepsVm).length
  if (live > 0) await untaint(deps, name)
  return live
}

/** Whether a Node is its VM's own, and was made for a NodeClaim. One that took another VM's provider ID is not. */
function isProven(node: Node): boolean {
  const { providerId = '' } = node
  const vm = { name: providerId.slice(providerId.lastIndexOf('/') + 1), providerId }
  return isOwnNodeOfVm(node, vm) && isNodeOfSomeClaim(node)
}

/** Whether a NodeClaim stands for the Node: by its VM in the cache, or by the names that it may have, read from the API server. */
async function claimExists({ cache, client }: WriteDeps, node: Node): Promise<boolean> {
  if (cache.nodeClaims.by('byProviderId', node.providerId?.toLowerCase() ?? '').length > 0) return true
  const ofVm = node.metadata.name.startsWith(nodeNamePrefix) ? node.metadata.name.slice(nodeNamePrefix.length) : ''
  const names = new Set([owningClaim(node)?.name ?? '', ofVm].filter((name) => name !== ''))
  for (const name of names) if ((await getIfAny(client, resourcePath('nodeclaims', name))) !== undefined) return true
  return false
}

/** Returns the Node as it is afterwards; undefined when it is gone. */
function taint(deps: WriteDeps, name: string): Promise<Node | undefined> {
  return updateNode(deps, name, (node) =>
    isLeavingTainted(node)
      ? undefined
      : { spec: { taints: [...node.taints.filter(({ key }) => key !== leavingTaint.key), leavingTaint] } },
  )
}

async function untaint(deps: WriteDeps, name: string): Promise<void> {
  await updateNode(deps, name, (node) =>
    isLeavingTainted(node)
      ? { spec: { taints: node.taints.filter(({ key }) => key !== leavingTaint.key) } }
      : undefined,
  )
}
