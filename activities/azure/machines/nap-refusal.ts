import type { AzureConfig } from '../azure-config.ts'

/** Returns why AKS machines are left alone with this mode of node auto-provisioning, and the remedy; undefined where they may be managed. */
export function napRefusal(
  mode: string,
  { clusterName, clusterResourceGroup }: Pick<AzureConfig, 'clusterName' | 'clusterResourceGroup'>,
): string | undefined {
  if (mode === 'Manual') return undefined
  return `node auto-provisioning of cluster ${clusterName} is on (nodeProvisioningProfile.mode "${mode}") and manages the same NodeClaims, so AKS machines are left alone; turn it off: az aks update --name ${clusterName} --resource-group ${clusterResourceGroup} --node-provisioning-mode Manual`
}
