import { nodeClaimSpec } from '../../api/node-claim.ts'
import { judge } from '../../api/rules/schema-errors.ts'
import { metadataErrors } from '../../core/metadata-errors.ts'
import { type ClaimValues, claimValueErrors } from '../../core/node-claim/values.ts'
import { errorText, type FieldError } from '../../core/values/field-error.ts'
import type { Json } from '../kubernetes/client/answers.ts'
import { ApiError } from '../kubernetes/client/api-error.ts'

/** Status codes that concern the requester, the moment or the server's API, and not the object that was sent. */
const aboutOthers: ReadonlySet<number> = new Set([401, 403, 404, 408, 409, 429])

/** Messages of etcd and the API server about size; some come as an internal error. */
const tooLarge = /request is too large|message larger than max|request entity too large|request body.*too large/i
/** Denials by admission webhooks and policies, which choose their code: also those of `aboutOthers`. */
const deniedByAdmission = /denied (the )?request/i

/**
 * Returns why the API server refuses an object, whoever sends it and whenever. Undefined when the error says nothing about the object, and
 * the same request may succeed later.
 */
export function refusalOf(error: unknown): string | undefined {
  if (!(error instanceof ApiError)) return undefined
  if (tooLarge.test(error.message)) return error.message
  const isRefusal = !aboutOthers.has(error.code) || deniedByAdmission.test(error.message)
  return error.code >= 400 && error.code < 500 && isRefusal ? error.message : undefined
}

/** Whether the API server stored nothing because a webhook did not answer as it should: the same request may succeed in a while. */
export function isWebhookFailure(error: unknown): error is ApiError {
  return error instanceof ApiError && error.code >= 500 && /failed calling webhook/i.test(error.message)
}

/** Returns why a NodeClaim is not worth sending; undefined when it is. */
export function refusalBefore(body: Json): string | undefined {
  const [error] = nodeClaimErrors(body)
  return error && errorText(error)
}

/** Characters of a NodeClaim as JSON. etcd accepts objects of 1.5 MiB, which include conditions and managed fields. */
const maxSize = 1_000_000

/**
 * Returns the errors of a NodeClaim (`karpenter.sh/v1`) before its creation: those of the API server, values that its node could not have, and a size
 * that etcd refuses.
 */
function nodeClaimErrors(body: Json): readonly FieldError[] {
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
