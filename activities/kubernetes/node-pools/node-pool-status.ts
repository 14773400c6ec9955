import type { Logger } from 'pino'
import type { NodeClass } from '../../../api/objects.ts'
import { type ConditionChange, conditionOf } from '../../../core/conditions.ts'
import { runtimeErrors } from '../../../core/node-pool/node-pool-validation.ts'
import { healthReset } from '../../../core/node-pool/registration-health.ts'
import type { NodePool } from '../../../core/objects.ts'
import type { StatusWritesDeps } from '../client/status-writes.ts'
import { setConditions } from '../client/status-writes.ts'
import { subject } from '../event-recorder.ts'
import type { NodePoolHashDeps } from './node-pool-hash.ts'
import { stampPoolHash } from './node-pool-hash.ts'

export interface NodePoolStatusDeps extends NodePoolHashDeps, StatusWritesDeps {
  readonly log: Logger
  /** Whether static NodePools keep their replicas (feature gate StaticCapacity). */
  readonly staticCapacity: boolean
}

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
