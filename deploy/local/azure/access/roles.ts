/** What a role allows. `*` in an action stands for any text. */
export interface RoleRights {
  readonly actions: readonly string[]
  readonly notActions: readonly string[]
}

interface BuiltInRole extends RoleRights {
  /** GUID of its definition, the same in every tenant. */
  readonly id: string
}

/** Built-in roles by their actions, as far as an autoscaler meets them (https://learn.microsoft.com/azure/role-based-access-control/built-in-roles). */
export const roles = {
  'Virtual Machine Contributor': {
    id: '9980e02c-c2be-4d73-94e8-173b1dc7cf3c',
    actions: [
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
    notActions: [],
  },
  'Network Contributor': {
    id: '4d97b98b-1d4f-4787-a291-c67834d212e7',
    actions: ['Microsoft.Authorization/*/read', 'Microsoft.Network/*'],
    notActions: [],
  },
  'Managed Identity Operator': {
    id: 'f1a07417-d97a-45cb-824c-7a7467783830',
    actions: [
      'Microsoft.ManagedIdentity/userAssignedIdentities/*/read',
      'Microsoft.ManagedIdentity/userAssignedIdentities/*/assign/action',
    ],
    notActions: [],
  },
  Reader: { id: 'acdd72a7-3385-48ef-bd42-f606fba81ae7', actions: ['*/read'], notActions: [] },
  Contributor: {
    id: 'b24988ac-6180-42a0-ab88-20f7382dd24c',
    actions: ['*'],
    notActions: [
      'Microsoft.Authorization/*/Delete',
      'Microsoft.Authorization/*/Write',
      'Microsoft.Authorization/elevateAccess/Action',
    ],
  },
  'User Access Administrator': {
    id: '18d7d88d-d35e-4fb5-a5c3-7773c20a72d9',
    actions: ['*/read', 'Microsoft.Authorization/*', 'Microsoft.Support/*'],
    notActions: [],
  },
  Owner: { id: '8e3af657-a8ff-443c-a75c-2fe8c4bcb635', actions: ['*'], notActions: [] },
} as const satisfies Readonly<Record<string, BuiltInRole>>

export type RoleName = keyof typeof roles
export const roleNames = Object.keys(roles) as readonly RoleName[]

/** The roles that a self-hosted autoscaler is given on its node resource group. */
export const defaultRoles: readonly RoleName[] = [
  'Virtual Machine Contributor',
  'Network Contributor',
  'Managed Identity Operator',
]

/** A custom role of somebody, with the scope where it is assigned. */
export interface HeldRole {
  readonly name: string
  readonly actions: readonly string[]
  readonly notActions?: readonly string[]
  readonly scope: string
}

/** Whether a role allows an action. Case does not matter. */
export function allows({ actions, notActions }: RoleRights, action: string): boolean {
  return actions.some((pattern) => covers(pattern, action)) && !notActions.some((pattern) => covers(pattern, action))
}

/** `*` stands for any text. Between slashes it may stand for nothing, as in Azure's own role Managed Identity Operator. */
function covers(pattern: string, action: string): boolean {
  const text = pattern
    .replaceAll(/[^\w*]/g, (char) => `\\${char}`)
    .replaceAll('\\/*\\/', '(?:\\/.*)?\\/')
    .replaceAll(/(?<![.])\*/g, '.*')
  return new RegExp(`^${text}$`, 'i').test(action)
}

/** Whether a scope holds a path: the path is the scope's, or below it. */
export function holds(scope: string, path: string): boolean {
  const [outer, inner] = [scope.toLowerCase().replace(/\/+$/, ''), path.toLowerCase()]
  return inner === outer || inner.startsWith(`${outer}/`)
}
