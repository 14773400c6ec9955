import { healthAfter, registrationsAnnotation } from '../../../core/node-pool/registration-health.ts'
import type { NodeClaim } from '../../../core/objects.ts'
import { labels } from '../../../core/requirements/labels.ts'
import { perCache } from '../cache/per-cache.ts'
import { lockedPatch } from '../client/optimistic-write.ts'
import { setConditions, updateObject } from '../client/status-writes.ts'
import type { WriteDeps } from '../parts.ts'

export interface NodePoolHealthDeps extends WriteDeps {}

/** Writes under way. Many claims of a pool join at once: in a row they find that all is written, in parallel they would conflict. */
const recordingOf = perCache(() => new Map<string, Promise<unknown>>())

/**
 * Records on a claim's pool whether the claim became a node (reference/karpenter-core.md 5.1). An annotation keeps what one condition cannot
 * hold, so that every replica and the next process count on. It writes nothing for repeated success.
 */
export async function recordRegistration(deps: NodePoolHealthDeps, claim: NodeClaim, joined: boolean): Promise<void> {
  const uid = claim.metadata.ownerReferences.find(({ kind }) => kind === 'NodePool')?.uid
  if (uid === undefined) return
  const recording = recordingOf(deps)
  const before = recording.get(uid) ?? Promise.resolve()
  const own = before.catch(() => undefined).then(() => record(deps, claim, joined))
  recording.set(uid, own)
  try {
    await own
  } finally {
    if (recording.get(uid) === own) recording.delete(uid)
  }
}

async function record(deps: NodePoolHealthDeps, claim: NodeClaim, joined: boolean): Promise<void> {
  const name = claim.metadata.labels[labels.nodePool]
  const pool = name === undefined ? undefined : deps.cache.nodePools.get(name)
  // A pool that is gone or being deleted makes no more nodes: the record would have no reader.
  if (pool === undefined || pool.metadata.deletionTimestamp !== undefined) return
  const { nodeClassRef } = pool.template.spec
  const generation =
    deps.cache.nodeClasses.get(nodeClassRef.name)?.metadata.generation ?? pool.nodeClassObservedGeneration ?? 1
  const written = { kind: 'NodePool', ref: pool.metadata } as const
  // The outcomes first: an attempt that is repeated after a crash finds them, and still sets the condition that follows.
  await updateObject(deps, written, (current, path) => {
    const { annotation } = healthAfter(current, generation, { claim, joined })
    if (annotation === undefined) return undefined
    const patch = { metadata: { annotations: { [registrationsAnnotation]: annotation } } }
    return deps.client.mergePatch(path, lockedPatch(patch, current.metadata))
  })
  await setConditions(deps, written, (current) => {
    const { condition } = healthAfter(current, generation, { claim, joined })
    if (condition === undefined) return undefined
    const seen = current.nodeClassObservedGeneration === generation
    return { conditions: [condition], ...(seen ? {} : { status: { nodeClassObservedGeneration: generation } }) }
  })
}
