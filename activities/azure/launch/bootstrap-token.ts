import { randomInt } from 'node:crypto'
import { timeText } from '../../../core/time.ts'
import { isNotFound, type Json, type KubernetesClient } from '../../kubernetes/client.ts'
import { resourcePath } from '../../kubernetes/resources.ts'

const namespace = 'kube-system'
/** Label of a token's Secret: the UID of the NodeClaim it was made for. */
export const claimUidLabel = 'joiner.sh/nodeclaim-uid'

/** A token a claim's attempts share must outlive the registration deadline; this much less is still good enough to be used again. */
const reuseMarginMs = 60_000

/** A token's Secret, without the token. */
export interface BootstrapTokenSecret {
  readonly name: string
  readonly claimUid: string
}

/**
 * The token that an earlier attempt minted for a claim, if it lives long enough for one that is to last until `expiresAtMs`. As all
 * tokens here it is a secret: it goes into custom data and nowhere else, never into a result, a log or an error.
 */
export async function findBootstrapToken(
  client: KubernetesClient,
  claimUid: string,
  expiresAtMs: number,
): Promise<string | undefined> {
  const path = resourcePath('secrets', undefined, namespace)
  const { items } = await client.list(path, { labelSelector: `${claimUidLabel}=${claimUid}` })
  return items.map(readToken).find((found) => found !== undefined && found.expiresAtMs >= expiresAtMs - reuseMarginMs)
    ?.token
}

/** A new bootstrap token for a claim, `id.secret`, that dies by itself at `expiresAtMs` (design: Azure). */
export async function mintBootstrapToken(
  client: KubernetesClient,
  claimUid: string,
  expiresAtMs: number,
): Promise<string> {
  const id = randomText(6)
  const secret = randomText(16)
  await client.create(resourcePath('secrets', undefined, namespace), {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: `bootstrap-token-${id}`, namespace, labels: { [claimUidLabel]: claimUid } },
    type: 'bootstrap.kubernetes.io/token',
    stringData: {
      'token-id': id,
      'token-secret': secret,
      expiration: timeText(expiresAtMs),
      'usage-bootstrap-authentication': 'true',
      description: 'Joins one node; made by Joiner',
    },
  })
  return `${id}.${secret}`
}

/** The tokens that a label selector finds. */
export async function listBootstrapTokens(
  client: KubernetesClient,
  labelSelector: string,
): Promise<readonly BootstrapTokenSecret[]> {
  const { items } = await client.list(resourcePath('secrets', undefined, namespace), { labelSelector })
  return items.map((item) => {
    const { name, labels } = item['metadata'] as { name: string; labels?: Record<string, string> }
    return { name, claimUid: labels?.[claimUidLabel] ?? '' }
  })
}

/** Deletes tokens; one that is gone already is success. Returns the names. */
export async function deleteBootstrapTokens(
  client: KubernetesClient,
  tokens: readonly BootstrapTokenSecret[],
): Promise<readonly string[]> {
  for (const { name } of tokens) {
    await client.delete(resourcePath('secrets', name, namespace)).catch((error: unknown) => {
      if (!isNotFound(error)) throw error
    })
  }
  return tokens.map(({ name }) => name)
}

/** Deletes all tokens of one claim: it is registered, falls back or terminates. None is success. */
export async function revokeBootstrapTokens(client: KubernetesClient, claimUid: string): Promise<void> {
  await deleteBootstrapTokens(client, await listBootstrapTokens(client, `${claimUidLabel}=${claimUid}`))
}

function readToken(secret: Json): { readonly token: string; readonly expiresAtMs: number } | undefined {
  const data = (secret['data'] ?? {}) as Record<string, string>
  const text = (key: string) => Buffer.from(data[key] ?? '', 'base64').toString()
  const expiresAtMs = Date.parse(text('expiration'))
  return Number.isNaN(expiresAtMs) ? undefined : { token: `${text('token-id')}.${text('token-secret')}`, expiresAtMs }
}

function randomText(length: number): string {
  const alphabet = 'abcdefghijklmnopqrstuvwxyz0123456789'
  return Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join('')
}
