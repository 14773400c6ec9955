import { conditionOf, isTrue } from '../../../../core/conditions.ts'
import { isConsolidatable } from '../../../../core/disruption/consolidatable.ts'
import { nodeClaimDrift } from '../../../../core/drift/pool-drift.ts'
import type { InstanceType } from '../../../../core/instance-type.ts'
import type { Condition, NodeClaim, NodePool } from '../../../../core/objects.ts'
import { labels } from '../../../../core/requirements/labels.ts'
import { emptyRecord } from '../../../../core/values/records.ts'

export interface ConditionsJson {
  /** The reason; null: it has not drifted. */
  readonly drifted: string | null
  readonly consolidatable: boolean
}

/** What conditions follow from. */
export interface ConditionInput {
  readonly instanceTypes: readonly InstanceType[]
  /** Epoch ms. */
  readonly now: number
  readonly reservationIdLabel: string
  readonly wellKnownLabels: ReadonlySet<string>
}

/** The conditions Drifted and Consolidatable that follow from the objects, and the claims with them; the provider reports no drift. */
export function withFoundConditions(
  { nodeClaims, nodePools }: { readonly nodeClaims: readonly NodeClaim[]; readonly nodePools: readonly NodePool[] },
  input: ConditionInput,
): { readonly nodeClaims: readonly NodeClaim[]; readonly conditions: Record<string, ConditionsJson> } {
  const conditions = emptyRecord<ConditionsJson>()
  const claims = nodeClaims.map((claim) => {
    const nodePool = nodePools.find(({ metadata }) => metadata.name === claim.metadata.labels[labels.nodePool])
    const found = foundConditions(claim, nodePool, input)
    conditions[claim.metadata.name] = found
    return withConditions(claim, found, new Date(input.now).toISOString())
  })
  return { nodeClaims: claims, conditions }
}

/** Claims that are being deleted, and those whose pool is gone, are left as they are. */
function foundConditions(claim: NodeClaim, nodePool: NodePool | undefined, input: ConditionInput): ConditionsJson {
  const { conditions } = claim.status
  const drifted = conditionOf(conditions, 'Drifted')
  if (claim.metadata.deletionTimestamp !== undefined || nodePool === undefined)
    return {
      drifted: drifted?.status === 'True' ? (drifted.reason ?? '') : null,
      consolidatable: isTrue(conditions, 'Consolidatable'),
    }
  const drift = nodeClaimDrift({ ...input, claim, nodePool, provider: { kind: 'none' } })
  return {
    drifted: drift.kind === 'drifted' ? drift.reason : null,
    consolidatable: isConsolidatable(claim, nodePool, input.now),
  }
}

function withConditions(claim: NodeClaim, { drifted, consolidatable }: ConditionsJson, now: string): NodeClaim {
  const { conditions, ...status } = claim.status
  const kept = conditions.filter(({ type }) => type !== 'Drifted' && type !== 'Consolidatable')
  const set = [
    ...(drifted === null ? [] : [{ type: 'Drifted', reason: drifted }]),
    ...(consolidatable ? [{ type: 'Consolidatable', reason: 'Consolidatable' }] : []),
  ].map(
    ({ type, reason }): Condition => ({
      type,
      reason,
      status: 'True',
      lastTransitionTime: conditionOf(conditions, type)?.lastTransitionTime ?? now,
    }),
  )
  return { ...claim, status: { ...status, conditions: [...kept, ...set] } }
}
