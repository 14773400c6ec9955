import type { ManagedCluster } from './cluster.ts'
import { groupOf } from './cluster.ts'

/** What stands in the way at the cluster itself, and what to do. */
export interface ClusterProblem {
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
