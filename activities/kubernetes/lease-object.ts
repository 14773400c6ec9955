import { getIfAny } from './client/answers.ts'
import { isConflict, isNotFound } from './client/api-error.ts'
import type { KubernetesClient } from './client/client.ts'
import { resourcePath } from './client/resources.ts'

/** Who wrote it and where that process is reached, as `identity host:port`. A holder of another version may leave it as it was. */
export const addressAnnotation = 'joiner.sh/address'
/** Who wrote it and how the API server holds that process up, as `identity LIMIT WAITING`; absent where it does not. */
export const heldUpAnnotation = 'joiner.sh/held-up'
/** A coordination.k8s.io/v1 Lease, as far as it is read. */
export interface LeaseObject {
  readonly metadata: { readonly resourceVersion: string; readonly annotations?: Readonly<Record<string, string>> }
  readonly spec?: {
    readonly holderIdentity?: string
    /** Since when it is that holder's, by that holder's clock. */
    readonly acquireTime?: string
    readonly renewTime?: string
    readonly leaseDurationSeconds?: number
    readonly leaseTransitions?: number
  }
}

export interface LeaseDeps {
  readonly client: Pick<KubernetesClient, 'get' | 'create' | 'mergePatch'> & Partial<Pick<KubernetesClient, 'heldUp'>>
  readonly namespace: string
  /** Called when a Lease is older than it was before: the API server's store has gone back in time, and what watches brought is not true any more. */
  readonly onGoneBack?: (problem: string) => void
}

/** Who is to hold a Lease; nobody with an empty name. */
interface Holder {
  readonly name: string
  readonly holderIdentity: string
  /** As the annotation has it. */
  readonly address: string | undefined
  readonly durationSeconds: number
}

/** Reads a Lease; undefined: there is none. Errors: the API server's. */
export async function readLease({ client, namespace }: LeaseDeps, name: string): Promise<LeaseObject | undefined> {
  return (await getIfAny(client, resourcePath('leases', name, namespace))) as LeaseObject | undefined
}

/** Writes a Lease under the version that was read, and returns it; undefined: somebody was first. Errors: the API server's. */
export async function writeLease(
  { client, namespace }: LeaseDeps,
  previous: LeaseObject | undefined,
  { name, holderIdentity, address, durationSeconds }: Holder,
): Promise<LeaseObject | undefined> {
  const changed = previous?.spec?.holderIdentity !== holderIdentity
  const now = new Date().toISOString().replace('Z', '000Z')
  const { acquireTime = now } = (changed ? undefined : previous?.spec) ?? {}
  const spec = {
    holderIdentity,
    leaseDurationSeconds: durationSeconds,
    acquireTime,
    renewTime: now,
    leaseTransitions: (previous?.spec?.leaseTransitions ?? 0) + (changed ? 1 : 0),
  }
  const annotations = { [addressAnnotation]: address ?? null, ...heldUpChange(client, previous, holderIdentity) }
  try {
    const written =
      previous === undefined
        ? await client.create(resourcePath('leases', undefined, namespace), {
            apiVersion: 'coordination.k8s.io/v1',
            kind: 'Lease',
            metadata: { name, namespace, ...(address === undefined ? {} : { annotations }) },
            spec,
          })
        : await client.mergePatch(resourcePath('leases', name, namespace), {
            metadata: { resourceVersion: previous.metadata.resourceVersion, annotations },
            spec,
          })
    return written as unknown as LeaseObject
  } catch (error) {
    if (isConflict(error) || (previous !== undefined && isNotFound(error))) return undefined
    throw error
  }
}

/** What is written of how the API server holds the holder up: nothing, as long as it does not. */
function heldUpChange(
  { heldUp }: LeaseDeps['client'],
  previous: LeaseObject | undefined,
  holderIdentity: string,
): Readonly<Record<string, string | null>> {
  if (heldUp !== undefined) return { [heldUpAnnotation]: `${holderIdentity} ${heldUp.limit} ${heldUp.waiting}` }
  return previous?.metadata.annotations?.[heldUpAnnotation] === undefined ? {} : { [heldUpAnnotation]: null }
}
