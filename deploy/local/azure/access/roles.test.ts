import { describe, expect, it } from 'vitest'
import { allows, holds, roles } from './roles.ts'

describe('a role', () => {
  it.each([
    ['Virtual Machine Contributor', 'Microsoft.Compute/virtualMachines/extensions/write', true],
    ['Virtual Machine Contributor', 'microsoft.compute/VIRTUALMACHINES/write', true],
    ['Virtual Machine Contributor', 'Microsoft.Compute/galleries/write', false],
    ['Managed Identity Operator', 'Microsoft.ManagedIdentity/userAssignedIdentities/assign/action', true],
    ['Managed Identity Operator', 'Microsoft.ManagedIdentity/userAssignedIdentities/write', false],
    ['Reader', 'Microsoft.Compute/skus/read', true],
    ['Reader', 'Microsoft.Compute/virtualMachines/retrieveBootDiagnosticsData/action', false],
    ['Contributor', 'Microsoft.ManagedIdentity/userAssignedIdentities/write', true],
    ['Contributor', 'Microsoft.Authorization/roleAssignments/write', false],
    ['Contributor', 'Microsoft.Authorization/roleAssignments/read', true],
    ['User Access Administrator', 'Microsoft.Authorization/roleAssignments/write', true],
    ['Owner', 'Microsoft.Authorization/roleDefinitions/write', true],
  ] as const)('%s: %s is allowed: %s', (name, action, expected) => {
    expect(allows(roles[name], action)).toBe(expected)
  })

  it('allows what is written out and no more', () => {
    const role = { actions: ['Microsoft.Compute/disks/read'], notActions: [] }
    expect(allows(role, 'Microsoft.Compute/disks/read')).toBe(true)
    expect(allows(role, 'MicrosoftXCompute/disks/read')).toBe(false)
    expect(allows(role, 'Microsoft.Compute/disks/read/more')).toBe(false)
  })
})

describe('a scope', () => {
  it.each([
    ['/subscriptions/s', '/subscriptions/S/resourceGroups/g', true],
    ['/subscriptions/s/resourceGroups/g', '/subscriptions/s/resourcegroups/G/providers/x', true],
    ['/subscriptions/s/resourceGroups/g', '/subscriptions/s/resourceGroups/group', false],
    ['/subscriptions/s/resourceGroups/g', '/subscriptions/s', false],
    ['/', '/subscriptions/s', true],
  ])('%s holds %s: %s', (scope, path, expected) => {
    expect(holds(scope, path)).toBe(expected)
  })
})
