import type { SimulatorConfig } from '../server/config.ts'
import type { ManagedClusterSettings } from './cluster-settings.ts'

/** Part of the name of an API server, which Azure draws. */
const drawn = 'a1b2c3d4'
const issuerId = '00000000-0000-4000-8000-0000000000bb'
const kubeletClientId = '00000000-0000-4000-8000-0000000000cc'
const kubeletObjectId = '00000000-0000-4000-8000-0000000000dd'
const sshKey = 'ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQC7c2ltdWxhdGVkLWtleS1vZi1hbi1ha3MtY2x1c3Rlcg== azureuser\n'

/** An AKS cluster with its resource groups. */
export interface KnownCluster extends ManagedClusterSettings {
  readonly resourceGroup: string
  readonly nodeResourceGroup: string
}

/** Returns the AKS clusters that there are. */
export function clustersOf(config: SimulatorConfig): readonly KnownCluster[] {
  const settings = config.managedClusters ?? [{ name: config.clusterName }]
  return settings.map((cluster) => ({
    resourceGroup: `${cluster.name}-group`,
    nodeResourceGroup: config.nodeResourceGroup,
    ...cluster,
  }))
}

/** Returns the resource as ARM shows it: a cluster as `az aks create` makes it with an overlay network, Cilium, an OIDC issuer and workload identity. */
export function clusterBody(cluster: KnownCluster, config: SimulatorConfig): Record<string, unknown> {
  const { name, resourceGroup, properties = {} } = cluster
  const all = { ...defaultProperties(cluster, config), ...properties }
  return {
    id: `/subscriptions/${config.subscriptionId}/resourcegroups/${resourceGroup}/providers/Microsoft.ContainerService/managedClusters/${name}`,
    name,
    type: 'Microsoft.ContainerService/ManagedClusters',
    location: config.location,
    sku: { name: 'Base', tier: 'Free' },
    identity: { type: 'SystemAssigned', principalId: issuerId, tenantId: config.tenantId },
    properties: Object.fromEntries(Object.entries(all).filter(([, value]) => value !== null)),
  }
}

function defaultProperties({ name, nodeResourceGroup }: KnownCluster, config: SimulatorConfig) {
  const { location, subscriptionId, tenantId } = config
  return {
    provisioningState: 'Succeeded',
    powerState: { code: 'Running' },
    kubernetesVersion: '1.36',
    currentKubernetesVersion: '1.36.1',
    dnsPrefix: `${name}-dns`,
    fqdn: `${name}-dns-${drawn}.hcp.${location}.azmk8s.io`,
    azurePortalFQDN: `${name}-dns-${drawn}.portal.hcp.${location}.azmk8s.io`,
    agentPoolProfiles: [systemPool(config)],
    linuxProfile: { adminUsername: 'azureuser', ssh: { publicKeys: [{ keyData: sshKey }] } },
    servicePrincipalProfile: { clientId: 'msi' },
    nodeResourceGroup,
    enableRBAC: true,
    supportPlan: 'KubernetesOfficial',
    networkProfile: {
      networkPlugin: 'azure',
      networkPluginMode: 'overlay',
      networkPolicy: 'cilium',
      networkDataplane: 'cilium',
      loadBalancerSku: 'standard',
      podCidr: '10.244.0.0/16',
      serviceCidr: '10.0.0.0/16',
      dnsServiceIP: '10.0.0.10',
      outboundType: 'loadBalancer',
      podCidrs: ['10.244.0.0/16'],
      serviceCidrs: ['10.0.0.0/16'],
      ipFamilies: ['IPv4'],
    },
    maxAgentPools: 100,
    identityProfile: {
      kubeletidentity: {
        resourceId: `/subscriptions/${subscriptionId}/resourcegroups/${nodeResourceGroup}/providers/Microsoft.ManagedIdentity/userAssignedIdentities/${name}-agentpool`,
        clientId: kubeletClientId,
        objectId: kubeletObjectId,
      },
    },
    disableLocalAccounts: false,
    securityProfile: { workloadIdentity: { enabled: true } },
    oidcIssuerProfile: {
      enabled: true,
      issuerUrl: `https://${location}.oic.prod-aks.azure.com/${tenantId}/${issuerId}/`,
    },
    nodeProvisioningProfile: { mode: 'Manual', defaultNodePools: 'Auto' },
  }
}

/** A pool in a network of the user's own names its subnet; in a network that AKS made it names none. */
function systemPool({ subnetId, nodeResourceGroup }: SimulatorConfig): Record<string, unknown> {
  const group = /\/resourceGroups\/([^/]+)/i.exec(subnetId)?.[1]
  const isOwn = group?.toLowerCase() !== nodeResourceGroup.toLowerCase()
  return {
    name: 'system',
    mode: 'System',
    type: 'VirtualMachineScaleSets',
    count: 3,
    vmSize: 'Standard_D4s_v5',
    osType: 'Linux',
    osSKU: 'Ubuntu',
    osDiskSizeGB: 128,
    osDiskType: 'Managed',
    maxPods: 250,
    availabilityZones: ['1', '2', '3'],
    orchestratorVersion: '1.36',
    nodeImageVersion: 'AKSUbuntu-2404gen2containerd-202610.20.0',
    provisioningState: 'Succeeded',
    powerState: { code: 'Running' },
    ...(isOwn ? { vnetSubnetID: subnetId } : {}),
  }
}
