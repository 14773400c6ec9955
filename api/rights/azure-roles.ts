/** A custom role of Joiner's identity at Azure. */
export interface AzureRole {
  /** Title without a subscription. Azure wants the names of custom roles to be unique in a tenant: `joiner admin aks setup` adds the subscription. */
  readonly title: string
  readonly description: string
  /** Why Joiner needs each action of ARM. */
  readonly actions: Readonly<Record<string, string>>
}

/** Returns the name of a role for a subscription: names of custom roles are unique in a tenant. */
export function roleName({ title }: AzureRole, subscriptionId: string): string {
  return `${title} (${subscriptionId})`
}

const mayAsk = { 'Microsoft.Authorization/permissions/read': '`joiner doctor` asks what the identity may do' } as const

/**
 * What Joiner does with VMs and what belongs to them. It is assigned on the node resource group, and on what lies elsewhere: the virtual network, node
 * identities, the disk encryption set.
 */
export const nodesRole: AzureRole = {
  title: 'Joiner nodes',
  description: 'Lets Joiner create, update and delete the VMs of its nodes, and use their network and identities.',
  actions: {
    'Microsoft.Compute/virtualMachines/read': 'finds its own VMs, and what became of them',
    'Microsoft.Compute/virtualMachines/write': 'creates VMs; changes their tags and identities',
    'Microsoft.Compute/virtualMachines/delete': 'deletes VMs',
    'Microsoft.Compute/virtualMachines/restart/action': 'reboots VMs of sick nodes, where a repair policy says so',
    'Microsoft.Compute/virtualMachines/retrieveBootDiagnosticsData/action':
      'reads the serial log of a VM that does not join',
    'Microsoft.Compute/virtualMachines/extensions/write': 'the billing extension, where it is switched on; its tags',
    'Microsoft.Compute/disks/read': 'finds OS disks without a VM',
    'Microsoft.Compute/disks/write': 'the OS disk that is created with a VM',
    'Microsoft.Compute/disks/delete': 'deletes OS disks without a VM',
    'Microsoft.Compute/diskEncryptionSets/read': 'checks and uses the disk encryption set, if set',
    'Microsoft.Network/networkInterfaces/read': 'finds NICs without a VM',
    'Microsoft.Network/networkInterfaces/write': 'the NIC that is created with a VM; its tags',
    'Microsoft.Network/networkInterfaces/join/action': 'attaches the NIC that is created with a VM',
    'Microsoft.Network/networkInterfaces/delete': 'deletes NICs without a VM',
    'Microsoft.Network/networkSecurityGroups/read': "finds the nodes' security group",
    'Microsoft.Network/networkSecurityGroups/join/action': 'attaches it to NICs',
    'Microsoft.Network/loadBalancers/read': 'finds the backend pools of the cluster',
    'Microsoft.Network/loadBalancers/backendAddressPools/join/action': 'adds NICs to them',
    'Microsoft.Network/virtualNetworks/read': 'reads the GUID of the network, a label of nodes',
    'Microsoft.Network/virtualNetworks/subnets/read': 'checks the subnet and its free addresses',
    'Microsoft.Network/virtualNetworks/subnets/join/action': 'places NICs in the subnet',
    'Microsoft.ManagedIdentity/userAssignedIdentities/assign/action':
      'gives VMs the identity with which the kubelet pulls images',
    ...mayAsk,
  },
}

/** What Joiner does with AKS machines, where they are managed. It is assigned on the AKS cluster, by hand (docs/from-nap.md). */
export const machinesRole: AzureRole = {
  title: 'Joiner machines',
  description:
    'Lets Joiner make, find and delete AKS machines of a cluster, those of node auto-provisioning for instance.',
  actions: {
    'Microsoft.ContainerService/managedClusters/read': 'whether node auto-provisioning is on',
    'Microsoft.ContainerService/managedClusters/agentPools/read': 'finds the pools of machines',
    'Microsoft.ContainerService/managedClusters/agentPools/machines/read': 'finds machines, and what became of them',
    'Microsoft.ContainerService/managedClusters/agentPools/machines/write':
      'makes machines, with PROVISION_MODE aksmachineapi',
    'Microsoft.ContainerService/managedClusters/agentPools/deleteMachines/action': 'deletes machines, with their VMs',
    ...mayAsk,
  },
}

/** What Joiner does with capacity reservation groups, where AKSNodeClasses name some. It is assigned on each group, by hand (docs/capacity-reservations.md). */
export const reservationsRole: AzureRole = {
  title: 'Joiner reservations',
  description: 'Lets Joiner read a capacity reservation group and launch VMs into it.',
  actions: {
    'Microsoft.Compute/capacityReservationGroups/read': 'which VMs are in a group',
    'Microsoft.Compute/capacityReservationGroups/deploy/action': 'launches VMs into it',
    'Microsoft.Compute/capacityReservationGroups/capacityReservations/read':
      'sizes, zones and counts of its reservations',
    'Microsoft.Compute/capacityReservationGroups/capacityReservations/deploy/action': 'launches VMs into them',
    ...mayAsk,
  },
}

/** What Joiner reads of the subscription. It is assigned there. */
export const subscriptionRole: AzureRole = {
  title: 'Joiner subscription',
  description: 'Lets Joiner read VM sizes, quota usage and community node images of the subscription.',
  actions: {
    'Microsoft.Compute/skus/read': 'VM sizes and their zones',
    'Microsoft.Compute/locations/usages/read': 'quota',
    'Microsoft.Compute/locations/communityGalleries/images/versions/read': 'versions of node images',
    'Microsoft.ContainerService/locations/nodeImageVersions/read':
      'versions of node images in shared galleries, which AKS machines need',
  },
}
