import type { Candidate } from '../../core/disruption/candidates.ts'
import { type InstanceType, typeNamed } from '../../core/instance-type.ts'
import { isReschedulable } from '../../core/pods/pod-rules.ts'
import { labels } from '../../core/requirements/labels.ts'
import { labelsOf, stateNodes } from '../../core/scheduling/state-nodes.ts'
import type { ClusterCache } from '../kubernetes/cache/cluster-cache.ts'
import type { KeyedCandidate, Objects } from './keyed-evaluation.ts'

/** Looks up objects as the cache has them when the answer comes. */
export function cachedObjects(
  cache: ClusterCache,
  instanceTypes: ReadonlyMap<string, readonly InstanceType[]>,
): Objects {
  const claims = new Map<string, Candidate | undefined>()
  const nodes = new Map(
    stateNodes({ nodes: [...cache.nodes.values()], nodeClaims: [...cache.nodeClaims.values()] }).flatMap((one) =>
      one.claim === undefined ? [] : [[one.claim.metadata.name, one] as const],
    ),
  )
  const find = ({ nodeClaim: name, price, disruptionCost }: KeyedCandidate): Candidate | undefined => {
    const one = nodes.get(name)
    const own = one && labelsOf(one)
    const nodePool = cache.nodePools.get(own?.[labels.nodePool] ?? '')
    if (one?.node === undefined || one.claim === undefined || nodePool === undefined) return undefined
    const pods = cache.pods.by('byNode', one.node.metadata.name)
    const types = instanceTypes.get(nodePool.metadata.name) ?? []
    return {
      nodeClaim: one.claim,
      node: one.node,
      nodePool,
      pods,
      reschedulable: pods.filter(isReschedulable),
      instanceType: typeNamed(types, own?.[labels.instanceType]),
      price,
      disruptionCost,
    }
  }
  return {
    candidate: (keyed) => {
      if (!claims.has(keyed.nodeClaim)) claims.set(keyed.nodeClaim, find(keyed))
      return claims.get(keyed.nodeClaim)
    },
    pod: (key) => cache.pods.get(key),
  }
}
