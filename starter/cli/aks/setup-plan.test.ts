import { describe, expect, test } from 'vitest'
import { nodesRole, subscriptionRole } from '../../../api/rights/azure-roles.ts'
import { autoProvisioning, type ManagedCluster, workloadIdentityOff } from '../../picture/managed-cluster.ts'
import { guidOf, preview, type RoleAssignment, type RoleDefinition, type SetupInput, setupSteps } from './setup-plan.ts'

const nodeGroup = '/subscriptions/sub/resourceGroups/MC_demo'
const issuer = 'https://issuer/'

function cluster(properties: ManagedCluster['properties'] = {}): ManagedCluster {
  return {
    id: '/subscriptions/sub/resourcegroups/clusters/providers/Microsoft.ContainerService/managedClusters/demo',
    name: 'demo',
    location: 'westus2',
    properties: {
      nodeResourceGroup: 'MC_demo',
      oidcIssuerProfile: { enabled: true, issuerUrl: issuer },
      ...properties,
    },
  }
}

function definition(role: typeof nodesRole, changes: Partial<RoleDefinition> = {}): RoleDefinition {
  const actions = Object.keys(role.actions)
  return {
    name: `guid-of-${role.title.replace(' ', '-')}`,
    actions,
    assignableScopes: ['/subscriptions/sub'],
    ...changes,
  }
}

const bothRoles = (changes: Partial<RoleDefinition> = {}) =>
  new Map([
    [nodesRole.title, definition(nodesRole, changes)],
    [subscriptionRole.title, definition(subscriptionRole)],
  ])
const assigned = (scope: string, title: string): RoleAssignment => ({
  scope,
  roleDefinitionId: `/subscriptions/sub/providers/Microsoft.Authorization/roleDefinitions/guid-of-${title.replace(' ', '-')}`,
})

const identity = {
  id: 'id',
  name: 'joiner-demo',
  clientId: 'client',
  principalId: 'principal',
  tenantId: 'tenant',
  credentials: [{ name: 'any', issuer, subject: 'system:serviceaccount:joiner:joiner-azure', audiences: [] }],
}

interface Changes extends Partial<Omit<SetupInput, 'facts'>> {
  readonly properties?: ManagedCluster['properties']
  readonly subnet?: string
  readonly identity?: typeof identity
}

function input({ properties, subnet = `${nodeGroup}/x/virtualNetworks/v/subnets/s`, ...changes }: Changes): SetupInput {
  return {
    facts: {
      subscriptionId: 'sub',
      cluster: cluster(properties),
      apiServer: { kind: 'missing', why: '' },
      network: { kind: 'found', value: { subnetId: subnet, guid: '' }, source: '' },
      identity: changes.identity,
    },
    place: { subscriptionId: 'sub', group: 'clusters', name: 'joiner-demo' },
    account: { namespace: 'joiner', name: 'joiner-azure' },
    roles: new Map(),
    assignments: [],
    ...changes,
  }
}

const missing = (changes: Changes) => setupSteps(input(changes)).flatMap(({ what, isThere }) => (isThere ? [] : [what]))
const everything = {
  identity,
  roles: bothRoles(),
  assignments: [assigned(nodeGroup, 'Joiner nodes'), assigned('/subscriptions/sub', 'Joiner subscription')],
}

describe('what an identity lacks', () => {
  test.each<[string, Changes, readonly RegExp[]]>([
    [
      'where nothing is there',
      {},
      [
        /^managed identity joiner-demo in resource group clusters$/,
        /^federated credential for ServiceAccount joiner\/joiner-azure$/,
        /^custom role "Joiner nodes \(sub\)"/,
        /^custom role "Joiner subscription \(sub\)"/,
        /^role "Joiner nodes" on the node resource group$/,
        /^role "Joiner subscription" on the subscription$/,
      ],
    ],
    ['where all is there', everything, []],
    [
      'in another namespace',
      { ...everything, account: { namespace: 'nodes', name: 'joiner-azure' } },
      [/ServiceAccount nodes\/joiner-azure/],
    ],
    [
      'after the cluster was created again, with another issuer',
      { ...everything, properties: { oidcIssuerProfile: { enabled: true, issuerUrl: 'https://new/' } } },
      [/federated credential/],
    ],
    [
      'with the role of an older version',
      { ...everything, roles: bothRoles({ actions: ['*/read'] }) },
      [/custom role/],
    ],
    [
      'with an assignment in other letters, and one above',
      {
        ...everything,
        assignments: [
          assigned('/SUBSCRIPTIONS/SUB', 'Joiner nodes'),
          assigned('/subscriptions/sub', 'Joiner subscription'),
        ],
      },
      [],
    ],
    [
      'with the role on a group of which the name only begins alike',
      { ...everything, assignments: [assigned('/subscriptions/sub/resourceGroups/MC', 'Joiner nodes')] },
      [/node resource group/, /the subscription/],
    ],
    [
      'with a network, a kubelet identity and keys elsewhere',
      {
        ...everything,
        subnet: '/subscriptions/sub/resourceGroups/net/x/virtualNetworks/v/subnets/s',
        properties: {
          diskEncryptionSetID: '/subscriptions/sub/resourceGroups/keys/x/diskEncryptionSets/d',
          identityProfile: { kubeletidentity: { resourceId: '/subscriptions/sub/resourcegroups/ids/x/i' } },
        },
      },
      [/the virtual network of the nodes/, /the identity of the kubelet/, /the disk encryption set/],
    ],
  ])('%s', (_what, changes, expected) => {
    const found = missing({
      ...changes,
      ...(changes.properties && { properties: { nodeResourceGroup: 'MC_demo', ...changes.properties } }),
    })
    expect(found).toEqual(expected.map((pattern) => expect.stringMatching(pattern) as string))
  })

  test('a network of another subscription can be assigned there, and what the role had before stays', () => {
    const subnet = '/subscriptions/hub/resourceGroups/net/x/virtualNetworks/v/subnets/s'
    const roles = bothRoles({ assignableScopes: ['/subscriptions/sub', '/subscriptions/old'] })
    const step = setupSteps(input({ ...everything, roles, subnet })).find(({ what }) =>
      what.startsWith('custom role "Joiner nodes'),
    )
    expect(step?.isThere).toBe(false)
    expect(step?.commands[0]).toMatch(/^az role definition update /)
    expect(step?.write(undefined)).toMatchObject({
      path: expect.stringContaining('/roleDefinitions/guid-of-Joiner-nodes?') as string,
      body: { properties: { assignableScopes: ['/subscriptions/sub', '/subscriptions/hub', '/subscriptions/old'] } },
    })
  })

  test('the same request again names the same resources', () => {
    const paths = () => setupSteps(input({})).map((step) => step.write('principal')?.path)
    expect(paths()).toEqual(paths())
    expect(guidOf('a')).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    expect(guidOf('/Scope')).toBe(guidOf('/scope'))
  })

  test('what needs the identity is not written before it is there, nor a credential without an issuer', () => {
    const written = (changes: Changes, principalId?: string) =>
      setupSteps(input(changes)).map((step) => step.write(principalId) !== undefined)
    expect(written({})).toEqual([true, false, true, true, false, false])
    expect(written({ properties: { oidcIssuerProfile: { enabled: false } } }, 'principal')).toEqual([
      true,
      false,
      true,
      true,
      true,
      true,
    ])
  })
})

describe('the preview', () => {
  const lines = (changes: Changes) =>
    preview(
      setupSteps(input(changes)).filter(({ isThere }) => !isThere),
      input({}).place,
    )

  test('lists what --yes makes in its order, who may make it, and commands that know the identity before they use it', () => {
    const [head, ...rest] = lines({})
    expect(head).toMatch(
      /^# missing: 6; nothing is made yet\. --yes makes these, in this order.*Azure CLI 2\.45 or newer$/,
    )
    expect(rest.map((line) => /^(?:PRINCIPAL_ID=\$\()?az [a-z -]+?(?= --)|^# \w+(?: \w+)?/.exec(line)?.[0])).toEqual([
      '# managed identity',
      'az identity create',
      '# federated credential',
      'az identity federated-credential create',
      '# custom role',
      'az role definition create',
      '# custom role',
      'az role definition create',
      'PRINCIPAL_ID=$(az identity show',
      '# role',
      'az role assignment create',
      '# role',
      'az role assignment create',
    ])
    expect(rest[0]).toBe(
      '# managed identity joiner-demo in resource group clusters; needs Managed Identity Contributor or Contributor of resource group clusters',
    )
  })

  test('says when nothing is missing', () => {
    expect(lines(everything)).toEqual(['# nothing is missing'])
  })
})

describe('the cluster itself', () => {
  test.each<[string, ManagedCluster['properties'], string | undefined]>([
    ['all on', { securityProfile: { workloadIdentity: { enabled: true } } }, undefined],
    ['no workload identity', {}, '--enable-workload-identity'],
    [
      'no issuer',
      { oidcIssuerProfile: { enabled: false }, securityProfile: { workloadIdentity: { enabled: true } } },
      '--enable-oidc-issuer',
    ],
  ])('%s', (_what, properties, flags) => {
    const command = workloadIdentityOff(cluster(properties), 'sub')?.command
    expect(command).toBe(flags && `az aks update --name demo --resource-group clusters --subscription sub ${flags}`)
  })

  test('refuses node auto-provisioning and nothing else', () => {
    expect(autoProvisioning(cluster({ nodeProvisioningProfile: { mode: 'Auto' } }), 'sub')?.command).toContain('Manual')
    expect(autoProvisioning(cluster({ nodeProvisioningProfile: { mode: 'Manual' } }), 'sub')).toBeUndefined()
    expect(autoProvisioning(cluster(), 'sub')).toBeUndefined()
  })
})
