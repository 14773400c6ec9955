import { ArmRefusal } from '../../picture/arm-reader.ts'
import { type ArmSession, versions } from './arm-session.ts'

/** A ServiceAccount whose tokens an identity trusts. */
interface FederatedCredential {
  readonly name: string
  readonly issuer: string
  readonly subject: string
  readonly audiences: readonly string[]
}

/** Joiner's managed identity. */
export interface JoinerIdentity {
  readonly id: string
  readonly name: string
  readonly clientId: string
  readonly principalId: string
  readonly tenantId: string
  readonly credentials: readonly FederatedCredential[]
}

interface IdentityJson {
  readonly id: string
  readonly name: string
  readonly properties: Pick<JoinerIdentity, 'clientId' | 'principalId' | 'tenantId'>
}

interface CredentialJson {
  readonly name: string
  readonly properties: Omit<FederatedCredential, 'name'>
}

/** Where an identity lies. */
export interface IdentityPlace {
  readonly subscriptionId: string
  readonly group: string
  readonly name: string
}

/** Returns the path of an identity. */
export function identityPath({ subscriptionId, group, name }: IdentityPlace): string {
  return `/subscriptions/${subscriptionId}/resourceGroups/${group}/providers/Microsoft.ManagedIdentity/userAssignedIdentities/${encodeURIComponent(name)}`
}

/** Returns a managed identity with its federated credentials; undefined where there is none. Errors: ArmRefusal. */
export async function readIdentity(
  arm: ArmSession,
  place: IdentityPlace,
  signal: AbortSignal,
): Promise<JoinerIdentity | undefined> {
  const path = identityPath(place)
  const query = `?api-version=${versions.identities}`
  let identity: IdentityJson
  try {
    identity = await arm.get<IdentityJson>(`${path}${query}`, signal)
  } catch (error) {
    if (error instanceof ArmRefusal && error.status === 404) return undefined
    throw error
  }
  const credentials = await arm.list<CredentialJson>(`${path}/federatedIdentityCredentials${query}`, signal)
  return {
    ...identity.properties,
    id: identity.id,
    name: identity.name,
    credentials: credentials.map(({ name, properties }) => ({ name, ...properties })),
  }
}
