// The API server's own record of who asked it for what.
import { readFile } from 'node:fs/promises'
import { accounts, namespace, unitedAccount } from '../deploy/local/installation-accounts.ts'
import { auditLogFile } from '../deploy/local/kubernetes.ts'

/** A request that the API server has answered. */
export interface AuditedRequest {
  /** `joiner`, `kubelets`, or the name of the user. */
  readonly actor: string
  /** Verb and resource, such as `patch nodeclaims/status`. */
  readonly what: string
  readonly code: number
  /** Epoch ms. */
  readonly atMs: number
  readonly name: string | undefined
}

/** Of Joiner's processes: people who use its commands have accounts of their own. */
const users = new Set([unitedAccount, ...accounts].map((account) => `system:serviceaccount:${namespace}:${account}`))

interface AuditEvent {
  readonly verb: string
  readonly user: { readonly username: string }
  readonly objectRef?: { readonly resource?: string; readonly subresource?: string; readonly name?: string }
  readonly requestReceivedTimestamp: string
  readonly responseStatus?: { readonly code?: number }
}

/** Reads what was recorded so far. The API server writes in batches, about a second late. */
export async function auditedRequests(stateDir: string): Promise<readonly AuditedRequest[]> {
  const lines = (await readFile(auditLogFile(stateDir), 'utf8')).split('\n')
  // The last line may still be written.
  return lines.slice(0, -1).map((line) => requestOf(JSON.parse(line) as AuditEvent))
}

function requestOf({ verb, user, objectRef, requestReceivedTimestamp, responseStatus }: AuditEvent): AuditedRequest {
  const { resource = 'other', subresource, name } = objectRef ?? {}
  return {
    actor: actorOf(user.username),
    what: `${verb} ${resource}${subresource === undefined ? '' : `/${subresource}`}`,
    code: responseStatus?.code ?? 0,
    atMs: Date.parse(requestReceivedTimestamp),
    name,
  }
}

function actorOf(username: string): string {
  if (users.has(username)) return 'joiner'
  if (username.startsWith('system:node:') || username.startsWith('system:bootstrap:')) return 'kubelets'
  return username.replace(/^system:/, '')
}
