import type { Json } from '../../../activities/kubernetes/client/answers.ts'
import type { SimulatedVm } from '../../clusters/servers.ts'
import { traceKeys } from '../../command-writes.ts'
import { metaOf } from '../../fast/kubernetes/api/objects.ts'
import type { Scene } from '../scene.ts'
import { isGoing } from './objects-seen.ts'

/**
 * Whether a VM that lost its NodeClaim has to wait for one: its Node is being deleted, so it is to be drained, and its NodePool's budget is used up, by
 * nodes whose drains may wait for PodDisruptionBudgets for as long as these want.
 */
export function isBarred({ fast, pools }: Scene, { name, tags }: Pick<SimulatedVm, 'name' | 'tags'>): boolean {
  const { objects } = fast.cluster.server
  const nodeOf = (vm: string) => objects.find(`/api/v1/nodes/${vm}`)
  const node = nodeOf(name)
  const pool = pools.get(tags['karpenter.sh_nodepool'] ?? '')
  if (node === undefined || !isGoing(node) || pool === undefined) return false
  const isLeaving = (claim: Json) => {
    const own = nodeOf(`aks-${metaOf(claim).name}`)
    const isTaken = metaOf(claim).annotations?.[traceKeys.stamp] !== undefined
    return isGoing(claim) || isTaken || (own !== undefined && isGoing(own))
  }
  const claims = objects.of('nodeclaims').filter((claim) => poolOf(claim) === pool.name)
  return claims.filter(isLeaving).length >= resolved(pool.budget, claims.length + 1)
}

export const poolOf = (claim: Json) => metaOf(claim).labels?.['karpenter.sh/nodepool'] ?? ''

/** How many of so many nodes a budget allows. A share is rounded up, as Karpenter does. */
export const resolved = (budget: string, size: number) =>
  budget.endsWith('%') ? Math.ceil((Number.parseInt(budget, 10) / 100) * size) : Number(budget)
