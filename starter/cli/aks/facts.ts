import { parse } from 'yaml'
import { isAksManaged, parseSubnet } from '../../../activities/azure/launch/subnet.ts'
import { ArmRefusal, type ArmSession, versions } from '../../picture/arm-reader.ts'
import { groupOf, type ManagedCluster } from '../../picture/managed-cluster.ts'

/** A fact, or why it is not known. */
type Found<T> =
  | { readonly kind: 'found'; readonly value: T; readonly source: string }
  | { readonly kind: 'missing'; readonly why: string }

/** The API server as a kubeconfig names it. */
interface ApiServer {
  readonly server: string
  /** PEM in base64. */
  readonly authority: string
}

/** The network of the nodes. */
interface NodeNetwork {
  readonly subnetId: string
  readonly guid: string
}

/** What Azure says about a cluster, its network and Joiner's identity. */
export interface ClusterFacts {
  readonly subscriptionId: string
  readonly cluster: ManagedCluster
  readonly apiServer: Found<ApiServer>
  readonly network: Found<NodeNetwork>
  /** Joiner's managed identity; undefined while there is none of that name. */
  readonly identity: JoinerIdentity | undefined
}

interface VirtualNetwork {
  readonly id: string
  readonly properties?: { readonly resourceGuid?: string; readonly subnets?: readonly { readonly id?: string }[] }
}

/** Where the identity of Joiner is looked for. */
export interface FactsRequest {
  readonly subscriptionId: string
  readonly cluster: ManagedCluster
  /** Name of Joiner's identity, in the resource group of the cluster. */
  readonly identity: string
  /** Whether the API server is wanted: it takes credentials of the cluster, whose handing out Azure logs. */
  readonly withApiServer: boolean
}

/** Reads what is known of a cluster besides its own resource. Errors: ArmRefusal where the identity may not be read. */
export async function readFacts(arm: ArmSession, request: FactsRequest, signal: AbortSignal): Promise<ClusterFacts> {
  const { subscriptionId, cluster } = request
  const [apiServer, network, identity] = await Promise.all([
    request.withApiServer ? readApiServer(arm, cluster, signal).catch(missing) : unread,
    readNetwork(arm, request, signal).catch(missing),
    readIdentity(arm, { subscriptionId, group: groupOf(cluster.id), name: request.identity }, signal),
  ])
  return { subscriptionId, cluster, apiServer, network, identity }
}

const unread = { kind: 'missing', why: 'it was not read' } as const

function missing(error: unknown): { readonly kind: 'missing'; readonly why: string } {
  if (!(error instanceof ArmRefusal)) throw error
  return { kind: 'missing', why: error.message }
}

/** From the kubeconfig of a user, of which nothing but the cluster is kept. */
async function readApiServer(arm: ArmSession, { id }: ManagedCluster, signal: AbortSignal): Promise<Found<ApiServer>> {
  const path = `${id}/listClusterUserCredential?api-version=${versions.clusters}`
  const { kubeconfigs = [] } = await arm.post<{ kubeconfigs?: readonly { value?: string }[] }>(path, signal)
  const kubeconfig = parse(Buffer.from(kubeconfigs[0]?.value ?? '', 'base64').toString('utf8')) as {
    clusters?: readonly { cluster?: Readonly<Record<string, string>> }[]
  } | null
  const { server, 'certificate-authority-data': authority } = kubeconfig?.clusters?.[0]?.cluster ?? {}
  if (server === undefined || authority === undefined)
    return { kind: 'missing', why: 'the kubeconfig that ARM gave names no API server with a CA' }
  return { kind: 'found', value: { server, authority }, source: 'kubeconfig of listClusterUserCredential' }
}

async function readNetwork(
  arm: ArmSession,
  { subscriptionId, cluster }: FactsRequest,
  signal: AbortSignal,
): Promise<Found<NodeNetwork>> {
  const { agentPoolProfiles = [], nodeResourceGroup = '' } = cluster.properties
  const pools = agentPoolProfiles.toSorted((a, b) => Number(b.mode === 'System') - Number(a.mode === 'System'))
  const pool = pools.find(({ vnetSubnetID }) => vnetSubnetID !== undefined)
  if (pool?.vnetSubnetID !== undefined) {
    const subnetId = pool.vnetSubnetID
    const network = subnetId.replace(/\/subnets\/[^/]+$/i, '')
    const { properties } = await arm.get<VirtualNetwork>(`${network}?api-version=${versions.networks}`, signal)
    const value = { subnetId, guid: properties?.resourceGuid ?? '' }
    return { kind: 'found', value, source: `managedCluster properties.agentPoolProfiles[${pool.name}].vnetSubnetID` }
  }
  const group = `/subscriptions/${subscriptionId}/resourceGroups/${nodeResourceGroup}`
  const networks = await arm.list<VirtualNetwork>(
    `${group}/providers/Microsoft.Network/virtualNetworks?api-version=${versions.networks}`,
    signal,
  )
  for (const { properties } of networks)
    for (const { id = '' } of properties?.subnets ?? []) {
      const subnet = parseSubnet(id)
      if (subnet !== undefined && isAksManaged(subnet, nodeResourceGroup))
        return {
          kind: 'found',
          value: { subnetId: id, guid: properties?.resourceGuid ?? '' },
          source: `virtualNetwork ${subnet.vnet} of the node resource group`,
        }
    }
  return {
    kind: 'missing',
    why: `no agent pool names a subnet, and resource group ${nodeResourceGroup} has no network that AKS made`,
  }
}

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
async function readIdentity(
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
