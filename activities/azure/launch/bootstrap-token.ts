import { createHash, randomInt } from 'node:crypto'
import { timeText } from '../../../core/values/time.ts'
import type { Json } from '../../kubernetes/client/answers.ts'
import { expecting, isConflict, isGoneOrOther, isNotFound } from '../../kubernetes/client/api-error.ts'
import type { KubernetesClient } from '../../kubernetes/client/client.ts'
import { resourcePath } from '../../kubernetes/client/resources.ts'

const namespace = 'kube-system'

/** Label of a token's Secret: the UID of its NodeClaim. The chart's admission policy requires it. */
const claimUidLabel = 'joiner.sh/nodeclaim-uid'

/** Group of nodes that join with one of these tokens, and the only one that the chart lets join. */
const joinersGroup = 'system:bootstrappers:joiner'

/**
 * Returns the id of a claim's token, and with it the name of its Secret: 6 characters of base 36 that follow from the claim's UID. So the token is
 * deleted without a search, and Joiner needs no right to read Secrets there. Two claims share an id once in 2.2e9 pairs (docs/adr/0019).
 */
export function bootstrapTokenId(claimUid: string): string {
  const digest = createHash('sha256').update(claimUid).digest().readBigUInt64BE()
  return (digest % 36n ** 6n).toString(36).padStart(6, '0')
}

export interface BootstrapToken {
  /** `id.secret`. It goes into custom data and nowhere else, never into a result, a log or an error. */
  readonly token: string
  /** UID of its Secret, which no other one has: a tag of the VM says by it which token the VM holds. */
  readonly secretUid: string
}

/** Creates a bootstrap token for a claim that expires at `expiresAtMs`; undefined when a token of its id exists. */
export async function createBootstrapToken(
  client: Pick<KubernetesClient, 'create'>,
  claimUid: string,
  expiresAtMs: number,
): Promise<BootstrapToken | undefined> {
  const id = bootstrapTokenId(claimUid)
  const secret = randomText(16)
  try {
    const created = await client.create(resourcePath('secrets', undefined, namespace), {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: secretName(claimUid), namespace, labels: { [claimUidLabel]: claimUid } },
      type: 'bootstrap.kubernetes.io/token',
      stringData: {
        'token-id': id,
        'token-secret': secret,
        expiration: timeText(expiresAtMs),
        'usage-bootstrap-authentication': 'true',
        'auth-extra-groups': joinersGroup,
        description: 'Joins one node; made by Joiner',
      },
    })
    return { token: `${id}.${secret}`, secretUid: String((created['metadata'] as Json | undefined)?.['uid']) }
  } catch (error) {
    if (isConflict(error)) return undefined
    throw error
  }
}

/**
 * Replaces a claim's existing token, which cannot be read. To be called only when no VM is seen that holds it; one on its way never joins, which
 * `isTokenLost` tells. Errors: another attempt of this launch made a token of the id in between; the next attempt tries again.
 */
export async function replaceBootstrapToken(
  client: Pick<KubernetesClient, 'create' | 'delete'>,
  claimUid: string,
  expiresAtMs: number,
): Promise<BootstrapToken> {
  await revokeBootstrapToken(client, claimUid)
  const token = await createBootstrapToken(client, claimUid, expiresAtMs)
  if (token !== undefined) return token
  throw new Error(
    `Secret ${namespace}/${secretName(claimUid)} exists again though it was deleted a moment ago: another attempt launches the same NodeClaim; the launch is retried`,
  )
}

/** Deletes a claim's token: the claim is registered, falls back or terminates. A missing token is success. */
export async function revokeBootstrapToken(client: Pick<KubernetesClient, 'delete'>, claimUid: string): Promise<void> {
  const path = resourcePath('secrets', secretName(claimUid), namespace)
  await client.delete(path).catch(expecting(isNotFound, undefined))
}

/** Whether a claim's token is another than that of this Secret by now, or there is none. Joiner may read no Secret: a deletion that is no more than checked tells. */
export async function isTokenLost(
  client: Pick<KubernetesClient, 'delete'>,
  claimUid: string,
  secretUid: string,
): Promise<boolean> {
  const path = resourcePath('secrets', secretName(claimUid), namespace)
  return client.delete(path, { uid: secretUid, isDryRun: true }).then(() => false, expecting(isGoneOrOther, true))
}

function secretName(claimUid: string): string {
  return `bootstrap-token-${bootstrapTokenId(claimUid)}`
}

function randomText(length: number): string {
  const alphabet = 'abcdefghijklmnopqrstuvwxyz0123456789'
  return Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join('')
}
