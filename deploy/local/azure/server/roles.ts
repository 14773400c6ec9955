/** Built-in roles by their actions, as far as an autoscaler meets them (https://learn.microsoft.com/azure/role-based-access-control/built-in-roles). */
export const roles = {
  'Virtual Machine Contributor': [
    'Microsoft.Authorization/*/read',
    'Microsoft.Compute/availabilitySets/*',
    'Microsoft.Compute/locations/*',
    'Microsoft.Compute/virtualMachines/*',
    'Microsoft.Compute/disks/write',
    'Microsoft.Compute/disks/read',
    'Microsoft.Compute/disks/delete',
    'Microsoft.Network/loadBalancers/backendAddressPools/join/action',
    'Microsoft.Network/loadBalancers/read',
    'Microsoft.Network/networkInterfaces/*',
    'Microsoft.Network/networkSecurityGroups/join/action',
    'Microsoft.Network/networkSecurityGroups/read',
    'Microsoft.Network/virtualNetworks/read',
    'Microsoft.Network/virtualNetworks/subnets/join/action',
  ],
  'Network Contributor': ['Microsoft.Authorization/*/read', 'Microsoft.Network/*'],
  'Managed Identity Operator': [
    'Microsoft.ManagedIdentity/userAssignedIdentities/*/read',
    'Microsoft.ManagedIdentity/userAssignedIdentities/*/assign/action',
  ],
  Reader: ['*/read'],
} as const

export type RoleName = keyof typeof roles
export const roleNames = Object.keys(roles) as readonly RoleName[]

/** The roles that a self-hosted autoscaler is given on its node resource group. */
export const defaultRoles: readonly RoleName[] = [
  'Virtual Machine Contributor',
  'Network Contributor',
  'Managed Identity Operator',
]
