import type { NodeClass, NodePoolSpecJson } from '../../../api/objects.ts'
import { type ConditionChange, conditionOf } from '../../../core/conditions.ts'
import { nodePoolHash, nodePoolHashVersion } from '../../../core/node-pool/node-pool-hash.ts'
import { runtimeErrors } from '../../../core/node-pool/node-pool-validation.ts'
import { healthReset } from '../../../core/node-pool/registration-health.ts'
import type { NodePool, ObjectMeta } from '../../../core/objects.ts'
import { annotations } from '../../../core/requirements/labels.ts'
import { isNotFound } from '../client/api-error.ts'
import { updateClaim } from '../client/object-writes.ts'
import { resourcePath } from '../client/resources.ts'
import { setConditions } from '../client/status-writes.ts'
import { subject } from '../event-recorder.ts'
import type { Parts, WriteDeps } from '../parts.ts'

export type NodePoolStatusDeps = NodePoolHashDeps & WriteDeps & Pick<Parts, 'log' | 'staticCapacity'>

/** Brings hash and status of every NodePool up to date (reference/karpenter-core.md 1.7). */
export async function refreshNodePools(deps: NodePoolStatusDeps): Promise<void> {
  await Promise.all([...deps.cache.nodePools.values()].map((pool) => refreshNodePool(deps, pool)))
}

async function refreshNodePool(deps: NodePoolStatusDeps, pool: NodePool): Promise<void> {
  await stampPoolHash(deps, pool)
  let changes: readonly ConditionChange[] = []
  let before: NodePool | undefined
  const after = await setConditions(deps, { kind: 'NodePool', ref: pool.metadata }, (current) => {
    before = current
    changes = [validated(deps, current), nodeClassReady(deps, current)]
    const { generation } = nodeClassOf(deps, current)?.metadata ?? {}
    const reset = generation === undefined ? undefined : healthReset(current, generation)
    const seen = generation === undefined || current.nodeClassObservedGeneration === generation
    return {
      conditions: reset === undefined ? changes : [...changes, reset],
      ...(seen ? {} : { status: { nodeClassObservedGeneration: generation } }),
    }
  })
  if (after === undefined || after === before) return
  for (const { status, type, reason, message } of changes) {
    if (status === 'True') continue
    deps.log.warn({ nodePool: pool.metadata.name, condition: type, reason, why: message }, 'nodepool is not ready')
    const values = [pool.metadata.uid, message ?? '']
    deps.events.record({ about: subject(pool), reason: 'NotReady', message: message ?? '', values })
  }
}

function nodeClassOf(deps: NodePoolStatusDeps, pool: NodePool): NodeClass | undefined {
  return deps.cache.nodeClasses.get(pool.template.spec.nodeClassRef.name)
}

function validated(deps: NodePoolStatusDeps, pool: NodePool): ConditionChange {
  const type = 'ValidationSucceeded'
  const errors = runtimeErrors(pool, deps)
  return errors.length === 0
    ? { type, status: 'True' }
    : { type, status: 'False', reason: 'NodePoolValidationFailed', message: errors.join('; ') }
}

function nodeClassReady(deps: NodePoolStatusDeps, pool: NodePool): ConditionChange {
  const type = 'NodeClassReady'
  const { name } = pool.template.spec.nodeClassRef
  const nodeClass = nodeClassOf(deps, pool)
  const field = `NodePool ${pool.metadata.name}: spec.template.spec.nodeClassRef.name "${name}"`
  if (nodeClass === undefined)
    return {
      type,
      status: 'False',
      reason: 'NodeClassNotFound',
      message: `${field} names no AKSNodeClass; create it, or correct the name`,
    }
  if (nodeClass.metadata.deletionTimestamp !== undefined)
    return { type, status: 'False', reason: 'NodeClassTerminating', message: `${field} is being deleted` }
  const ready = conditionOf(nodeClass.status.conditions, 'Ready')
  if (ready?.status === 'True') return { type, status: 'True' }
  // A pool whose class was not judged yet is not ready either (reference/karpenter-core.md 1.7).
  const isJudged = ready?.status === 'False'
  return {
    type,
    status: 'False',
    reason: isJudged ? (ready.reason ?? 'NotReady') : 'NodeClassReadinessUnknown',
    message: `${field} is not ready: ${ready?.message || 'not looked at yet'}`,
  }
}

interface NodePoolHashDeps extends WriteDeps {}

/**
 * Writes the drift hash of a pool and its version to its annotations. They follow from the template as it is stored, so it is read.
 * A version other than Joiner's is first replaced on the pool's claims, so that none is compared by a hash of another kind
 * (reference/karpenter-core.md 5.2).
 */
async function stampPoolHash(deps: NodePoolHashDeps, { metadata }: NodePool): Promise<void> {
  const path = resourcePath('nodepools', metadata.name)
  try {
    const json = await deps.client.get(path)
    const hash = nodePoolHash((json['spec'] as NodePoolSpecJson).template)
    const wanted = { [annotations.nodePoolHash]: hash, [annotations.nodePoolHashVersion]: nodePoolHashVersion }
    const own = (json['metadata'] as Partial<ObjectMeta>).annotations ?? {}
    if (own[annotations.nodePoolHashVersion] !== nodePoolHashVersion) await rehashClaims(deps, metadata.name, hash)
    if (Object.entries(wanted).every(([key, value]) => own[key] === value)) return
    const patch = { metadata: { uid: metadata.uid, annotations: wanted } }
    deps.cache.upsert('NodePool', await deps.client.mergePatch(path, patch))
  } catch (error) {
    if (!isNotFound(error)) throw error
  }
}

/** Rehashes claims. One that has drifted keeps its hash: its state before the versions changed is unknown. */
async function rehashClaims(deps: NodePoolHashDeps, pool: string, hash: string): Promise<void> {
  await deps.cache.catchUp(['NodeClaim'])
  const claims = deps.cache.nodeClaims.by('byNodePool', pool)
  await Promise.all(
    claims.map((claim) =>
      updateClaim(deps, claim.metadata, ({ metadata, status }) => {
        if (metadata.annotations[annotations.nodePoolHashVersion] === nodePoolHashVersion) return undefined
        const drifted = conditionOf(status.conditions, 'Drifted') !== undefined
        const stamped = {
          [annotations.nodePoolHashVersion]: nodePoolHashVersion,
          ...(drifted ? {} : { [annotations.nodePoolHash]: hash }),
        }
        return { metadata: { annotations: stamped } }
      }),
    ),
  )
}
