import { type ConditionChange, conditionOf, isTrue } from '../conditions.ts'
import type { NodeClaim } from '../objects.ts'

/** Difference between a node and its NodePool (reference/karpenter-core.md 1.7). */
export type PoolDriftReason = 'NodePoolDrifted' | 'RequirementsDrifted' | 'InstanceTypeNotFound'

/** Difference between a node and its AKSNodeClass (reference/azure-provider.md 8.1). */
export type AzureDriftReason =
  | 'NodeClassDrift'
  | 'K8sVersionDrift'
  | 'KubeletIdentityDrift'
  | 'ImageDrift'
  | 'ClusterConfigDrift'

export type Drift =
  | { readonly kind: 'none' }
  | { readonly kind: 'drifted'; readonly reason: PoolDriftReason | AzureDriftReason; readonly message: string }
  /** It cannot be determined; the earlier result stays. */
  | { readonly kind: 'unknown'; readonly message: string }

export function drifted(reason: PoolDriftReason | AzureDriftReason, message: string): Drift {
  return { kind: 'drifted', reason, message }
}

const poolReasons: ReadonlySet<string> = new Set<PoolDriftReason>([
  'NodePoolDrifted',
  'RequirementsDrifted',
  'InstanceTypeNotFound',
])
const type = 'Drifted'

/** Conditions to set and to clear. */
export type DriftChange = { readonly conditions: readonly ConditionChange[] } | { readonly clear: readonly string[] }

/** Combines both drifts of a claim: the NodePool comes before its AKSNodeClass (reference/karpenter-core.md 5.2). */
export function firstDrift(pool: Drift, azure: Drift): Drift {
  if (pool.kind === 'drifted' || azure.kind === 'none') return pool
  return azure
}

/**
 * Returns the change of the condition Drifted by the NodePool's drift; undefined when it is already right. When the pool's drift ends, `azure` is
 * evaluated at once, so that a claim that drifted both ways stays drifted. A drift that only Azure found is left to `azureDriftChange`.
 */
export function poolDriftChange(claim: NodeClaim, pool: Drift, azure: () => Drift): DriftChange | undefined {
  const { conditions } = claim.status
  const before = conditionOf(conditions, type)
  if (!isTrue(conditions, 'Launched')) return cleared(before !== undefined)
  if (pool.kind === 'drifted') return reported(claim, pool)
  if (!poolReasons.has(before?.reason ?? '')) return undefined
  if (pool.kind === 'unknown' && before?.reason === 'InstanceTypeNotFound') return undefined
  const rest = azure()
  return rest.kind === 'drifted' ? reported(claim, rest) : cleared(true)
}

/**
 * Returns the same by the AKSNodeClass' drift. A reason of the NodePool comes first, and only the pool's check clears it. Any other reason that does
 * not hold is cleared, even one of an earlier autoscaler (reference/karpenter-core.md 5.2).
 */
export function azureDriftChange(claim: NodeClaim, azure: Drift): DriftChange | undefined {
  const { conditions } = claim.status
  const before = conditionOf(conditions, type)
  if (!isTrue(conditions, 'Launched')) return cleared(before !== undefined)
  if (azure.kind === 'unknown' || poolReasons.has(before?.reason ?? '')) return undefined
  if (azure.kind === 'none') return cleared(before !== undefined)
  return reported(claim, azure)
}

function cleared(isNeeded: boolean): DriftChange | undefined {
  return isNeeded ? { clear: [type] } : undefined
}

function reported({ status }: NodeClaim, { reason, message }: Drift & { kind: 'drifted' }): DriftChange | undefined {
  const before = conditionOf(status.conditions, type)
  if (before?.status === 'True' && before.reason === reason && before.message === message) return undefined
  return { conditions: [{ type, status: 'True', reason, message }] }
}
