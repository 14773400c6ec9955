import { metadataErrors } from '../../core/metadata-errors.ts'
import { type ClaimValues, claimValueErrors } from '../../core/node-claim/values.ts'
import type { FieldError } from '../../core/values/field-error.ts'
import { nodeClaimSpec } from '../node-claim.ts'
import { judge } from './schema-errors.ts'

type Json = Readonly<Record<string, unknown>>

/** Characters of a NodeClaim as JSON. etcd accepts objects of 1.5 MiB, which include conditions and managed fields. */
const maxSize = 1_000_000

/**
 * Returns the errors of a NodeClaim (`karpenter.sh/v1`) before its creation: those of the API server, values that its node could not have, and a size
 * that etcd refuses.
 */
export function nodeClaimErrors(body: Json): readonly FieldError[] {
  const refused = refusals(body)
  if (refused.length > 0) return refused
  const size = JSON.stringify(body).length
  if (size > maxSize)
    return [{ path: [], message: `the NodeClaim has ${size} characters of JSON, and may have ${maxSize}` }]
  const spec = body['spec'] as Partial<ClaimValues['spec']>
  return claimValueErrors({
    metadata: body['metadata'] as ClaimValues['metadata'],
    spec: { taints: [], startupTaints: [], ...spec } as ClaimValues['spec'],
  })
}

/** Returns the API server's errors for a new NodeClaim: those of its metadata, and of its spec by the CRD. */
export function refusals({ metadata, spec }: Json): readonly FieldError[] {
  return [...metadataErrors(metadata), ...judge(nodeClaimSpec, spec, ['spec']).errors]
}
