import { claimValueErrors } from '../../../core/node-claim/values.ts'
import { kubeletErrors } from '../../../core/node-class/kubelet-conversion.ts'
import type { NodeClaim } from '../../../core/objects.ts'
import { errorText } from '../../../core/values/field-error.ts'
import type { ObjectWritesDeps } from '../../kubernetes/client/object-writes.ts'
import { setClaimConditions } from '../../kubernetes/client/object-writes.ts'
import type { LaunchOutcome } from '../contract.ts'

export interface InvalidClaimDeps extends ObjectWritesDeps {}

/**
 * Rejects a claim whose values a node cannot have, in its condition Launched. A claim that was made by hand has passed no other check, and
 * its spec never changes, so another attempt would have the same result. Undefined when nothing is wrong with it.
 */
export async function refuseInvalid(
  deps: InvalidClaimDeps,
  claim: NodeClaim,
): Promise<(LaunchOutcome & { readonly kind: 'invalid' }) | undefined> {
  const errors = [...kubeletErrors(claim.metadata.annotations), ...claimValueErrors(claim).map(errorText)]
  if (errors.length === 0) return undefined
  const message = `${errors.join('; ').slice(0, 900)}; create another NodeClaim with the corrected value`
  await setClaimConditions(deps, claim.metadata, () => ({
    conditions: [{ type: 'Launched', status: 'False', reason: 'InvalidNodeClaim', message }],
  }))
  return { kind: 'invalid', message }
}
