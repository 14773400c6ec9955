import { randomInt } from 'node:crypto'
import { isNotFound, type Json, type KubernetesClient } from '../kubernetes/client.ts'
import { resourcePath } from '../kubernetes/resources.ts'

const namespace = 'kube-system'
export const claimUidLabel = 'joiner.sh/nodeclaim-uid'

/**
 * The bootstrap token of one claim: found again while it lives long enough, else minted (design: Azure). The token is a secret: it goes into custom
 * data and nowhere else, never into a result, a log or an error.
 */
export async function bootstrapToken(client: KubernetesClient, claimUid: string, expiresAtMs: number): Promise<string> {
  const path = resourcePath('secrets', undefined, namespace)
  const existing = await client.list(path, { labelSelector: `${claimUidLabel}=${claimUid}` })
  for (const secret of existing.items) {
    const found = readToken(secret)
    if (found !== undefined && found.expiresAtMs >= expiresAtMs - 60_000) return found.token
  }
  const id = randomText(6)
  const secret = randomText(16)
  await client.create(path, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: `bootstrap-token-${id}`, namespace, labels: { [claimUidLabel]: claimUid } },
    type: 'bootstrap.kubernetes.io/token',
    stringData: {
      'token-id': id,
      'token-secret': secret,
      expiration: new Date(expiresAtMs).toISOString(),
      'usage-bootstrap-authentication': 'true',
      description: 'Joins one node; made by Joiner',
    },
  })
  return `${id}.${secret}`
}

/** Deletes all tokens of a claim; none is success. Returns the names. */
export async function deleteBootstrapTokens(
  client: KubernetesClient,
  labelSelector: string,
  keep: (claimUid: string) => boolean = () => false,
): Promise<readonly string[]> {
  const { items } = await client.list(resourcePath('secrets', undefined, namespace), { labelSelector })
  const deleted: string[] = []
  for (const item of items) {
    const meta = item['metadata'] as { name: string; labels?: Record<string, string> }
    if (keep(meta.labels?.[claimUidLabel] ?? '')) continue
    await client.delete(resourcePath('secrets', meta.name, namespace)).catch((error: unknown) => {
      if (!isNotFound(error)) throw error
    })
    deleted.push(meta.name)
  }
  return deleted
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
