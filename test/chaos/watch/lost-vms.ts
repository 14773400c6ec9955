import { tagKeys } from '../../../activities/azure/launch/tags.ts'
import type { Json } from '../../../activities/kubernetes/client/answers.ts'
import { annotations as keys } from '../../../core/requirements/labels.ts'
import type { SimulatedVm } from '../../clusters/servers.ts'
import { traceKeys } from '../../command-writes.ts'
import { metaOf } from '../../fast/kubernetes/api/objects.ts'
import type { Scene } from '../scene.ts'
import { isGoing } from './objects-seen.ts'

const claimsPath = '/apis/karpenter.sh/v1/nodeclaims'

/**
 * Whether two NodeClaims were a VM's: a restore of etcd took back that it got one again, which its tags name. Which of them it is of is for people to say
 * (docs/adr/0054-lost-nodeclaims-are-made-again.md). Returns the NodeClaim of its name, or its Node where there is none.
 */
export function contested(
  { fast }: Pick<Scene, 'fast'>,
  { name, tags }: Pick<SimulatedVm, 'name' | 'tags'>,
): Json | undefined {
  // A machine is its name's: nobody can change its tags, and no two have a name.
  if (tags[tagKeys.aksMachine] !== undefined) return undefined
  const { objects } = fast.cluster.server
  const uid = tags['joiner.sh_nodeclaim-uid']
  const claim = objects.find(`${claimsPath}/${name.replace('aks-', '')}`)
  if (claim !== undefined)
    return [metaOf(claim).uid, metaOf(claim).annotations?.[keys.adoptedFrom]].includes(uid) ? undefined : claim
  const node = objects.find(`/api/v1/nodes/${name}`)
  return node !== undefined && metaOf(node).ownerReferences?.some((owner) => owner.uid !== uid) === true
    ? node
    : undefined
}

/**
 * Whether a VM that lost its NodeClaim has to wait for one: its Node is being deleted, so it is to be drained, and its NodePool's budget is used up, by
 * nodes whose drains may wait for PodDisruptionBudgets for as long as these want.
 */
export function isBarred(scene: Scene, { name, tags }: Pick<SimulatedVm, 'name' | 'tags'>): boolean {
  const { fast, pools } = scene
  if (contested(scene, { name, tags }) !== undefined) return true
  const { objects } = fast.cluster.server
  const nodeOf = (vm: string) => objects.find(`/api/v1/nodes/${vm}`)
  const node = nodeOf(name)
  const pool = pools.get(tags['karpenter.sh_nodepool'] ?? '')
  if (node === undefined || !isGoing(node) || pool === undefined) return false
  const isLeaving = (claim: Json) => {
    const own = nodeOf(scene.vmNameOf(metaOf(claim).name))
    const isTaken = metaOf(claim).annotations?.[traceKeys.stamp] !== undefined
    return isGoing(claim) || isTaken || (own !== undefined && isGoing(own))
  }
  const claims = objects.of('nodeclaims').filter((claim) => poolOf(claim) === pool.name)
  return claims.filter(isLeaving).length >= resolved(pool.budget, claims.length + 1)
}

/** UIDs in the tags of VMs that NodeClaims own: their own, and those of lost ones for whose VMs they stand. */
export const owningUids = (claims: readonly Json[]): ReadonlySet<string> =>
  new Set(claims.map(metaOf).flatMap(({ uid, annotations }) => [uid, annotations?.[keys.adoptedFrom] ?? uid]))

/** Whether NodeClaims own a VM with such tags: that of an AKS machine by its name, since its tags stay those of the first NodeClaim. */
export function owning(claims: readonly Json[]): (tags: Readonly<Record<string, string>>) => boolean {
  const [uids, names] = [owningUids(claims), new Set(claims.map((claim) => metaOf(claim).name))]
  return ({ 'joiner.sh_nodeclaim-uid': uid = '', [tagKeys.aksMachine]: name = '' }) => uids.has(uid) || names.has(name)
}

export const poolOf = (claim: Json) => metaOf(claim).labels?.['karpenter.sh/nodepool'] ?? ''

/** How many of so many nodes a budget allows. A share is rounded up, as Karpenter does. */
export const resolved = (budget: string, size: number) =>
  budget.endsWith('%') ? Math.ceil((Number.parseInt(budget, 10) / 100) * size) : Number(budget)
