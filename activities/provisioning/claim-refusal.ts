import { nodeClaimErrors } from '../../api/rules/node-claim-errors.ts'
import { errorText } from '../../core/values/field-error.ts'
import type { Json } from '../kubernetes/client/answers.ts'
import { ApiError } from '../kubernetes/client/api-error.ts'

/** Status codes that concern the requester, the moment or the server's API, and not the object that was sent. */
const aboutOthers: ReadonlySet<number> = new Set([401, 403, 404, 408, 409, 429])

/** Messages of etcd and the API server about size; some come as an internal error. */
const tooLarge = /request is too large|message larger than max|request entity too large|request body.*too large/i
/** Denials by admission webhooks and policies, which use 403 as RBAC does. */
const deniedByAdmission = /denied (the )?request/i

/**
 * Returns why the API server refuses an object, whoever sends it and whenever. Undefined when the error says nothing about the object, and
 * the same request may succeed later.
 */
export function refusalOf(error: unknown): string | undefined {
  if (!(error instanceof ApiError)) return undefined
  if (tooLarge.test(error.message)) return error.message
  if (error.code === 403) return deniedByAdmission.test(error.message) ? error.message : undefined
  return error.code >= 400 && error.code < 500 && !aboutOthers.has(error.code) ? error.message : undefined
}

/** Returns why a NodeClaim is not worth sending; undefined when it is. */
export function refusalBefore(body: Json): string | undefined {
  const [error] = nodeClaimErrors(body)
  return error && errorText(error)
}
