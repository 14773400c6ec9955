import { ReportedError } from '../document/reported-error.ts'
import { ArmRefusal, type ArmSession, versions } from './arm-reader.ts'

/** An AKS cluster as ARM shows it, as far as it is read. */
export interface ManagedCluster {
  readonly id: string
  readonly name: string
  readonly location: string
  readonly properties: {
    readonly fqdn?: string
    readonly privateFQDN?: string
    readonly nodeResourceGroup?: string
    readonly diskEncryptionSetID?: string
    readonly agentPoolProfiles?: readonly AgentPoolProfile[]
    readonly linuxProfile?: {
      readonly adminUsername?: string
      readonly ssh?: { readonly publicKeys?: readonly { readonly keyData?: string }[] }
    }
    readonly networkProfile?: NetworkProfile
    readonly identityProfile?: {
      readonly kubeletidentity?: { readonly resourceId?: string; readonly clientId?: string }
    }
    readonly oidcIssuerProfile?: { readonly enabled?: boolean; readonly issuerUrl?: string }
    readonly securityProfile?: {
      readonly workloadIdentity?: { readonly enabled?: boolean }
      readonly customCATrustCertificates?: readonly string[]
    }
    readonly nodeProvisioningProfile?: { readonly mode?: string }
    readonly httpProxyConfig?: {
      readonly httpProxy?: string
      readonly httpsProxy?: string
      readonly noProxy?: readonly string[]
      readonly trustedCa?: string
    }
  }
}

/** A node pool of AKS. */
export interface AgentPoolProfile {
  readonly name?: string
  readonly mode?: string
  readonly vnetSubnetID?: string
  readonly availabilityZones?: readonly string[]
  readonly vmSize?: string
  readonly count?: number
  readonly minCount?: number
  readonly maxCount?: number
  readonly enableAutoScaling?: boolean
  readonly scaleSetPriority?: string
  readonly osType?: string
  readonly osSKU?: string
  readonly osDiskSizeGB?: number
  readonly maxPods?: number
  readonly enableFIPS?: boolean
  readonly enableEncryptionAtHost?: boolean
  readonly nodeLabels?: Readonly<Record<string, string>>
  /** `key=value:Effect`. */
  readonly nodeTaints?: readonly string[]
}

interface NetworkProfile {
  readonly networkPlugin?: string
  readonly networkPluginMode?: string
  readonly networkDataplane?: string
  readonly networkPolicy?: string
  readonly dnsServiceIP?: string
  readonly ipFamilies?: readonly string[]
}

/** Which cluster is asked for. */
export interface ClusterChoice {
  readonly subscriptionId: string
  readonly name: string
  /** Unset: any that has a cluster of this name. */
  readonly resourceGroup: string | undefined
}

/** Returns the resource group in an ARM id. */
export function groupOf(id: string): string {
  return /\/resourceGroups\/([^/]+)/i.exec(id)?.[1] ?? ''
}

/** Finds a cluster by its name. Errors: ReportedError where there is none, or several; ArmRefusal. */
export async function findCluster(
  arm: ArmSession,
  choice: ClusterChoice,
  signal: AbortSignal,
): Promise<ManagedCluster> {
  const { subscriptionId, name, resourceGroup } = choice
  const provider = 'providers/Microsoft.ContainerService/managedClusters'
  const query = `?api-version=${versions.clusters}`
  const look = `look at: az aks list --subscription ${subscriptionId} --output table`
  if (resourceGroup !== undefined) {
    const path = `/subscriptions/${subscriptionId}/resourceGroups/${encodeURIComponent(resourceGroup)}/${provider}`
    try {
      return await arm.get<ManagedCluster>(`${path}/${encodeURIComponent(name)}${query}`, signal)
    } catch (error) {
      if (!(error instanceof ArmRefusal) || error.status !== 404) throw error
      throw new ReportedError(
        `AKS cluster "${name}": not found in resource group "${resourceGroup}" of subscription ${subscriptionId} (${error.code}); ${look}`,
      )
    }
  }
  const all = await arm.list<ManagedCluster>(`/subscriptions/${subscriptionId}/${provider}${query}`, signal)
  const [first, ...more] = all.filter((cluster) => cluster.name.toLowerCase() === name.toLowerCase())
  if (first === undefined)
    throw new ReportedError(`AKS cluster "${name}": not found in subscription ${subscriptionId}; ${look}`)
  if (more.length === 0) return first
  const groups = [first, ...more].map(({ id }) => `--resource-group ${groupOf(id)}`)
  throw new ReportedError(
    `AKS cluster "${name}": subscription ${subscriptionId} has ${groups.length} of this name; add ${groups.join(' or ')}`,
  )
}

/** What stands in the way at the cluster itself, and what to do. */
interface ClusterProblem {
  readonly what: string
  /** A command of the Azure CLI. */
  readonly command: string
  /** The oldest Azure CLI that knows the command. */
  readonly needs: string
}

/** Why Joiner must not be set up beside node auto-provisioning; undefined where that is off. */
export function autoProvisioning(cluster: ManagedCluster, subscriptionId: string): ClusterProblem | undefined {
  if (cluster.properties.nodeProvisioningProfile?.mode !== 'Auto') return undefined
  return {
    what: `AKS cluster "${cluster.name}": properties.nodeProvisioningProfile.mode "Auto": node auto-provisioning and Joiner would work on the same NodePools and NodeClaims; turn it off first, with its nodes or without them (docs/from-nap.md)`,
    command: `az aks update ${clusterArguments(cluster, subscriptionId)} --node-provisioning-mode Manual`,
    needs: '2.76',
  }
}

/** What has to be turned on at the cluster for workload identity; undefined where all is. */
export function workloadIdentityOff(cluster: ManagedCluster, subscriptionId: string): ClusterProblem | undefined {
  const { oidcIssuerProfile, securityProfile } = cluster.properties
  const missing = [
    ...(oidcIssuerProfile?.enabled === true && oidcIssuerProfile.issuerUrl
      ? []
      : [{ what: 'its OIDC issuer', flag: '--enable-oidc-issuer' }]),
    ...(securityProfile?.workloadIdentity?.enabled === true
      ? []
      : [{ what: 'workload identity', flag: '--enable-workload-identity' }]),
  ]
  if (missing.length === 0) return undefined
  return {
    what: `AKS cluster "${cluster.name}": ${missing.map(({ what }) => what).join(' and ')} must be turned on`,
    command: `az aks update ${clusterArguments(cluster, subscriptionId)} ${missing.map(({ flag }) => flag).join(' ')}`,
    needs: '2.47',
  }
}

function clusterArguments({ name, id }: ManagedCluster, subscriptionId: string): string {
  return `--name ${name} --resource-group ${groupOf(id)} --subscription ${subscriptionId}`
}

/** Returns the problem and what to run, in one line. */
export function problemText({ what, command, needs }: ClusterProblem): string {
  return `${what}: ${command} (Azure CLI ${needs} or newer)`
}
