import { type ConditionChange, conditionOf, isTrue } from '../conditions.ts'
import type { NodeClaim } from '../objects.ts'

/** Why a node is not what its NodePool asks for now (reference/karpenter-core.md 1.7). */
export type PoolDriftReason = 'NodePoolDrifted' | 'RequirementsDrifted' | 'InstanceTypeNotFound'

/** Why a node is not what its AKSNodeClass asks for now (reference/azure-provider.md 8.1). */
export type AzureDriftReason = 'NodeClassDrift' | 'K8sVersionDrift' | 'KubeletIdentityDrift' | 'ImageDrift'

export type Drift =
  | { readonly kind: 'none' }
  | { readonly kind: 'drifted'; readonly reason: PoolDriftReason | AzureDriftReason; readonly message: string }
  /** It cannot be told; what was told before stays. */
  | { readonly kind: 'unknown'; readonly message: string }

const poolReasons: ReadonlySet<string> = new Set<PoolDriftReason>([
  'NodePoolDrifted',
  'RequirementsDrifted',
  'InstanceTypeNotFound',
])
const type = 'Drifted'

/** Conditions to set and to clear. */
export type DriftChange = { readonly conditions: readonly ConditionChange[] } | { readonly clear: readonly string[] }

/** What a claim has drifted from, all in all: the NodePool comes before its AKSNodeClass (reference/karpenter-core.md 5.2). */
export function firstDrift(pool: Drift, azure: Drift): Drift {
  if (pool.kind === 'drifted' || azure.kind === 'none') return pool
  return azure
}

/**
 * What becomes of the condition Drifted by what the NodePool says; undefined: it is as it should be. Where the pool has nothing to say any more,
 * `azure` is asked at once, so that a claim which drifted in both ways stays drifted. What only Azure found is left to `azureDriftChange`.
 */
export function poolDriftChange(claim: NodeClaim, pool: Drift, azure: () => Drift): DriftChange | undefined {
  const { conditions } = claim.status
  const before = conditionOf(conditions, type)
  if (!isTrue(conditions, 'Launched')) return cleared(before !== undefined)
  if (pool.kind === 'drifted') return told(claim, pool)
  if (!poolReasons.has(before?.reason ?? '')) return undefined
  if (pool.kind === 'unknown' && before?.reason === 'InstanceTypeNotFound') return undefined
  const rest = azure()
  return rest.kind === 'drifted' ? told(claim, rest) : cleared(true)
}

/**
 * The same by what the AKSNodeClass says. A reason of the NodePool comes first: whoever set it takes it away. Any other that does not hold goes,
 * one of an earlier autoscaler included (reference/karpenter-core.md 5.2).
 */
export function azureDriftChange(claim: NodeClaim, azure: Drift): DriftChange | undefined {
  const { conditions } = claim.status
  const before = conditionOf(conditions, type)
  if (!isTrue(conditions, 'Launched')) return cleared(before !== undefined)
  if (azure.kind === 'unknown' || poolReasons.has(before?.reason ?? '')) return undefined
  if (azure.kind === 'none') return cleared(before !== undefined)
  return told(claim, azure)
}

function cleared(isNeeded: boolean): DriftChange | undefined {
  return isNeeded ? { clear: [type] } : undefined
}

function told({ status }: NodeClaim, { reason, message }: Drift & { kind: 'drifted' }): DriftChange | undefined {
  const before = conditionOf(status.conditions, type)
  if (before?.status === 'True' && before.reason === reason && before.message === message) return undefined
  return { conditions: [{ type, status: 'True', reason, message }] }
}
