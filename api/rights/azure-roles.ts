/** An action of ARM, and why Joiner needs it. */
interface RoleAction {
  readonly action: string
  readonly why: string
}

/** A custom role of Joiner's identity at Azure. */
export interface AzureRole {
  /** Title without a subscription. Azure wants the names of custom roles to be unique in a tenant: `joiner admin aks setup` adds the subscription. */
  readonly title: string
  readonly description: string
  readonly actions: readonly RoleAction[]
}

/** Returns the name of a role for a subscription: names of custom roles are unique in a tenant. */
export function roleName({ title }: AzureRole, subscriptionId: string): string {
  return `${title} (${subscriptionId})`
}

const mayAsk: RoleAction = {
  action: 'Microsoft.Authorization/permissions/read',
  why: '`joiner doctor` asks what the identity may do',
}

/**
 * What Joiner does with VMs and what belongs to them. It is assigned on the node resource group, and on what lies elsewhere: the virtual network, node
 * identities, the disk encryption set.
 */
export const nodesRole: AzureRole = {
  title: 'Joiner nodes',
  description: 'Lets Joiner create, update and delete the VMs of its nodes, and use their network and identities.',
  actions: [
    { action: 'Microsoft.Compute/virtualMachines/read', why: 'finds its own VMs, and what became of them' },
    { action: 'Microsoft.Compute/virtualMachines/write', why: 'creates VMs; changes their tags and identities' },
    { action: 'Microsoft.Compute/virtualMachines/delete', why: 'deletes VMs' },
    {
      action: 'Microsoft.Compute/virtualMachines/restart/action',
      why: 'reboots VMs of sick nodes, where a repair policy says so',
    },
    {
      action: 'Microsoft.Compute/virtualMachines/retrieveBootDiagnosticsData/action',
      why: 'reads the serial log of a VM that does not join',
    },
    {
      action: 'Microsoft.Compute/virtualMachines/extensions/write',
      why: 'the billing extension, where it is switched on; its tags',
    },
    { action: 'Microsoft.Compute/disks/read', why: 'finds OS disks without a VM' },
    { action: 'Microsoft.Compute/disks/write', why: 'the OS disk that is created with a VM' },
    { action: 'Microsoft.Compute/disks/delete', why: 'deletes OS disks without a VM' },
    { action: 'Microsoft.Compute/diskEncryptionSets/read', why: 'checks and uses the disk encryption set, if set' },
    { action: 'Microsoft.Network/networkInterfaces/read', why: 'finds NICs without a VM' },
    { action: 'Microsoft.Network/networkInterfaces/write', why: 'the NIC that is created with a VM; its tags' },
    { action: 'Microsoft.Network/networkInterfaces/join/action', why: 'attaches the NIC that is created with a VM' },
    { action: 'Microsoft.Network/networkInterfaces/delete', why: 'deletes NICs without a VM' },
    { action: 'Microsoft.Network/networkSecurityGroups/read', why: "finds the nodes' security group" },
    { action: 'Microsoft.Network/networkSecurityGroups/join/action', why: 'attaches it to NICs' },
    { action: 'Microsoft.Network/loadBalancers/read', why: 'finds the backend pools of the cluster' },
    { action: 'Microsoft.Network/loadBalancers/backendAddressPools/join/action', why: 'adds NICs to them' },
    { action: 'Microsoft.Network/virtualNetworks/read', why: 'reads the GUID of the network, a label of nodes' },
    { action: 'Microsoft.Network/virtualNetworks/subnets/read', why: 'checks the subnet and its free addresses' },
    { action: 'Microsoft.Network/virtualNetworks/subnets/join/action', why: 'places NICs in the subnet' },
    {
      action: 'Microsoft.ManagedIdentity/userAssignedIdentities/assign/action',
      why: 'gives VMs the identity with which the kubelet pulls images',
    },
    mayAsk,
  ],
}

/** What Joiner does with AKS machines, where they are managed. It is assigned on the AKS cluster, by hand (docs/from-nap.md). */
export const machinesRole: AzureRole = {
  title: 'Joiner machines',
  description:
    'Lets Joiner make, find and delete AKS machines of a cluster, those of node auto-provisioning for instance.',
  actions: [
    { action: 'Microsoft.ContainerService/managedClusters/read', why: 'whether node auto-provisioning is on' },
    { action: 'Microsoft.ContainerService/managedClusters/agentPools/read', why: 'finds the pools of machines' },
    {
      action: 'Microsoft.ContainerService/managedClusters/agentPools/machines/read',
      why: 'finds machines, and what became of them',
    },
    {
      action: 'Microsoft.ContainerService/managedClusters/agentPools/machines/write',
      why: 'makes machines, with PROVISION_MODE aksmachineapi',
    },
    {
      action: 'Microsoft.ContainerService/managedClusters/agentPools/deleteMachines/action',
      why: 'deletes machines, with their VMs',
    },
    mayAsk,
  ],
}

/** What Joiner does with capacity reservation groups, where AKSNodeClasses name some. It is assigned on each group, by hand (docs/capacity-reservations.md). */
export const reservationsRole: AzureRole = {
  title: 'Joiner reservations',
  description: 'Lets Joiner read a capacity reservation group and launch VMs into it.',
  actions: [
    { action: 'Microsoft.Compute/capacityReservationGroups/read', why: 'which VMs are in a group' },
    { action: 'Microsoft.Compute/capacityReservationGroups/deploy/action', why: 'launches VMs into it' },
    {
      action: 'Microsoft.Compute/capacityReservationGroups/capacityReservations/read',
      why: 'sizes, zones and counts of its reservations',
    },
    {
      action: 'Microsoft.Compute/capacityReservationGroups/capacityReservations/deploy/action',
      why: 'launches VMs into them',
    },
    mayAsk,
  ],
}

/** What Joiner reads of the subscription. It is assigned there. */
export const subscriptionRole: AzureRole = {
  title: 'Joiner subscription',
  description: 'Lets Joiner read VM sizes, quota usage and community node images of the subscription.',
  actions: [
    { action: 'Microsoft.Compute/skus/read', why: 'VM sizes and their zones' },
    { action: 'Microsoft.Compute/locations/usages/read', why: 'quota' },
    { action: 'Microsoft.Compute/locations/communityGalleries/images/versions/read', why: 'versions of node images' },
    {
      action: 'Microsoft.ContainerService/locations/nodeImageVersions/read',
      why: 'versions of node images in shared galleries, which AKS machines need',
    },
  ],
}
