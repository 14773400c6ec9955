import { conditionOf, isTrue, outOfCapacity } from '../../core/conditions.ts'
import type { NodeClaim } from '../../core/objects.ts'
import { isActive } from '../../core/pods/pod-rules.ts'
import { subject } from '../kubernetes/event-recorder.ts'
import type { PlannerParts } from './parts.ts'

export type LostLaunchesDeps = Pick<PlannerParts, 'cache' | 'events' | 'nominations'>

/**
 * Reports on the pods that were planned onto a NodeClaim that it is given up for lack of capacity: the claim's own events go with it
 * (reference/karpenter-1.15.md 5). Only the process that plans knows these pods. Returns the function that ends it.
 */
export function reportLostLaunches(deps: LostLaunchesDeps): () => void {
  return deps.cache.onChange(({ kind, before, after }) => {
    if (kind !== 'NodeClaim') return
    const [old, current] = [before as NodeClaim | undefined, after as NodeClaim | undefined]
    const claim = current ?? old
    const isGoing = current === undefined || current.metadata.deletionTimestamp !== undefined
    if (claim !== undefined && isGoing && old?.metadata.deletionTimestamp === undefined) report(deps, claim)
  })
}

function report({ cache, events, nominations }: LostLaunchesDeps, claim: NodeClaim): void {
  const { conditions } = claim.status
  const launched = conditionOf(conditions, 'Launched')
  if (isTrue(conditions, 'Launched') || launched?.reason !== outOfCapacity) return
  const pods = nominations.podsOf(claim.metadata.name)
  if (pods.size === 0) return
  const message = `NodeClaim ${claim.metadata.name} nominated for this pod failed to launch: ${launched.message ?? ''}`
  for (const pod of cache.pods.values()) {
    if (!pods.has(pod.metadata.uid) || pod.nodeName !== undefined || !isActive(pod)) continue
    events.record({ about: subject(pod), reason: outOfCapacity, message })
  }
}
