import { describe, expect, test } from 'vitest'
import { knownCloud, parseEnvironmentFile } from '../azure-cloud.ts'
import { readConfig } from '../config.ts'
import { certificateForm } from './azure-settings.ts'

const group = '/subscriptions/sub/resourceGroups/group/providers'
const required = {
  TEMPORAL_ADDRESS: 'temporal:7233',
  CLUSTER_NAME: 'demo',
  CLUSTER_ENDPOINT: 'https://demo.hcp.westus2.azmk8s.io:443',
  ARM_SUBSCRIPTION_ID: 'sub',
  LOCATION: 'westus2',
  AZURE_NODE_RESOURCE_GROUP: 'MC_demo',
  VNET_SUBNET_ID: `${group}/Microsoft.Network/virtualNetworks/vnet/subnets/nodes`,
  SSH_PUBLIC_KEY: 'ssh-rsa AAAA',
}
const pem = '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n'

type Env = Readonly<Record<string, string | undefined>>

function read(env: Env) {
  const result = readConfig({ ...required, ...env })
  return result.kind === 'config' ? result.config : result.errors
}

/** The environment that upstream's own values script writes, with its names and its empty values. */
const upstream = {
  DISABLE_LEADER_ELECTION: 'true',
  CLUSTER_NAME: 'karpenter',
  CLUSTER_ENDPOINT: 'https://karpenter-dns-abc.hcp.eastus.azmk8s.io:443',
  KUBELET_BOOTSTRAP_TOKEN: 'abcdef.0123456789abcdef',
  SSH_PUBLIC_KEY: 'ssh-rsa AAAA someone\n',
  VNET_SUBNET_ID: `${group}/Microsoft.Network/virtualNetworks/aks-vnet-1/subnets/aks-subnet`,
  VNET_GUID: '',
  NODE_IDENTITIES: `${group}/Microsoft.ManagedIdentity/userAssignedIdentities/karpenter-agentpool`,
  KUBELET_IDENTITY_CLIENT_ID: '7a1f0b86-6a1e-4c2e-9e9a-0f5a3f1d2c3b',
  NETWORK_PLUGIN: 'azure',
  NETWORK_PLUGIN_MODE: 'overlay',
  NETWORK_POLICY: 'cilium',
  NETWORK_DATAPLANE: 'cilium',
  LOCATION: 'eastus',
  ARM_SUBSCRIPTION_ID: '11111111-2222-3333-4444-555555555555',
  AZURE_NODE_RESOURCE_GROUP: 'MC_karpenter',
  PROVISION_MODE: 'aksscriptless',
  USE_SIG: 'false',
  SIG_SUBSCRIPTION_ID: '',
  SIG_ACCESS_TOKEN_SERVER_URL: '',
  NODEBOOTSTRAPPING_SERVER_URL: '',
  MANAGE_EXISTING_AKS_MACHINES: 'false',
  AKS_MACHINES_POOL_NAME: '',
  LOG_LEVEL: 'debug',
  METRICS_PORT: '8080',
  HEALTH_PROBE_PORT: '8081',
  PROVIDER_BATCH_MAX_SIZE: '50',
  BATCH_MAX_DURATION: '1m30s',
}

describe("settings by upstream's names", () => {
  test('an environment as the values of Karpenter for Azure give it works unchanged', () => {
    const result = readConfig({ ...upstream, TEMPORAL_ADDRESS: 'temporal:7233' })
    expect(result).toMatchObject({
      kind: 'config',
      config: { CLUSTER_NAME: 'karpenter', NETWORK_POLICY: 'cilium', BATCH_MAX_DURATION: 90_000, USE_SIG: false },
    })
  })

  test('each setting that is not read is named once, with the reason and without its value', () => {
    const result = readConfig({ ...upstream, TEMPORAL_ADDRESS: 'temporal:7233' })
    const notes = result.kind === 'config' ? result.notes : []
    const named = notes.map((note) => /^environment variable (\w+) is accepted/.exec(note)?.[1])
    expect(new Set(named)).toEqual(
      new Set([
        'KUBELET_BOOTSTRAP_TOKEN',
        'DISABLE_LEADER_ELECTION',
        'METRICS_PORT',
        'HEALTH_PROBE_PORT',
        'PROVIDER_BATCH_MAX_SIZE',
      ]),
    )
    expect(named).toHaveLength(5)
    expect(notes.join('\n')).not.toContain('0123456789abcdef')
    expect(notes.every((note) => note.includes(': '))).toBe(true)
  })

  test('without any of them there are no notes', () => {
    expect(readConfig(required)).toMatchObject({ kind: 'config', notes: [] })
  })

  test.each([
    [{ ARM_SUBSCRIPTION_ID: undefined, AZURE_SUBSCRIPTION_ID: 'other' }, { ARM_SUBSCRIPTION_ID: 'other' }],
    [{ ARM_SUBSCRIPTION_ID: '', AZURE_SUBSCRIPTION_ID: 'other' }, { ARM_SUBSCRIPTION_ID: 'other' }],
    [{ AZURE_SUBSCRIPTION_ID: 'sub' }, { ARM_SUBSCRIPTION_ID: 'sub' }],
    [{ ARM_TENANT_ID: 'tenant' }, { AZURE_TENANT_ID: 'tenant' }],
    [{ SYSTEM_NAMESPACE: 'karpenter' }, { JOINER_NAMESPACE: 'karpenter' }],
    [{ SYSTEM_NAMESPACE: 'karpenter', JOINER_NAMESPACE: 'joiner' }, { JOINER_NAMESPACE: 'joiner' }],
    [{ ARM_CLOUD: 'azureusgovernmentcloud' }, { ARM_CLOUD: 'AzureUSGovernmentCloud' }],
    [{ ARM_CLOUD: 'AzureUSGovernment' }, { ARM_CLOUD: 'AzureUSGovernmentCloud' }],
    [{ ARM_CLOUD: '' }, { ARM_CLOUD: 'AzurePublicCloud' }],
    [{ NETWORK_PLUGIN: 'none' }, { NETWORK_PLUGIN_MODE: '' }],
    [{ NETWORK_PLUGIN_MODE: '' }, { NETWORK_PLUGIN: 'azure', NETWORK_PLUGIN_MODE: '' }],
    [{ DNS_SERVICE_IP: '' }, { DNS_SERVICE_IP: undefined }],
    [{ AZURE_CLIENT_ID: '' }, { AZURE_CLIENT_ID: undefined }],
    [
      { USE_SIG: '', ENABLE_AZURE_SDK_LOGGING: '' },
      { USE_SIG: false, ENABLE_AZURE_SDK_LOGGING: true },
    ],
    [{ ENABLE_AZURE_SDK_LOGGING: '0' }, { ENABLE_AZURE_SDK_LOGGING: false }],
    [{ ADDITIONAL_TAGS: 'team=a, cost=b=c,empty=' }, { ADDITIONAL_TAGS: { team: 'a', cost: 'b=c', empty: '' } }],
    [{ CLUSTER_CA_BUNDLE: pem }, { CLUSTER_CA_BUNDLE: pem }],
    [
      {
        PROVISION_MODE: 'aksmachineapi',
        USE_SIG: 'true',
        SIG_SUBSCRIPTION_ID: 's',
        AKS_MACHINES_POOL_NAME: 'machines',
        ARM_RESOURCE_GROUP: 'g',
      },
      { PROVISION_MODE: 'aksmachineapi', AKS_MACHINES_POOL_NAME: 'machines' },
    ],
    [{ PROVISION_MODE: '' }, { PROVISION_MODE: 'aksscriptless' }],
    [{ AZURE_TOKEN_CREDENTIALS: 'azureclicredential' }, { AZURE_TOKEN_CREDENTIALS: 'AzureCLICredential' }],
  ] as const)('%j is read as %j', (env, expected) => {
    expect(read(env)).toMatchObject(expected)
  })

  test.each([
    ['CLUSTER_ENDPOINT', 'demo.azmk8s.io', 'is not a URL; write https://'],
    ['VNET_SUBNET_ID', '/subscriptions/sub/subnets/nodes', 'is not the id of a subnet; write /subscriptions/'],
    ['LINUX_ADMIN_USERNAME', '1st', 'is not a user name; begin with a letter'],
    ['LINUX_ADMIN_USERNAME', 'a'.repeat(33), 'is longer than 32 characters'],
    ['NETWORK_PLUGIN', 'kubenet', 'az aks update --network-plugin azure --network-plugin-mode overlay'],
    ['NETWORK_PLUGIN', 'calico', 'is not supported; use azure or none'],
    ['NETWORK_DATAPLANE', 'calico', 'is not supported; use cilium or azure'],
    ['DNS_SERVICE_IP', '10.0.0', 'is not an IP address; take the cluster IP of the Service kube-dns'],
    ['DNS_SERVICE_IP', 'fd00::a', 'is an IPv6 address, and nodes have IPv4 addresses only'],
    ['VNET_GUID', 'guid', 'is not a GUID; take resourceGuid'],
    ['KUBELET_IDENTITY_CLIENT_ID', 'me', 'is not a GUID; take the client id'],
    ['NODE_IDENTITIES', '/subscriptions/a', 'which is not the id of an identity'],
    ['NODE_OSDISK_DISKENCRYPTIONSET_ID', 'des', 'is not the id of a disk encryption set'],
    ['ADDITIONAL_TAGS', 'team', 'holds "team", which is not key=value'],
    ['ADDITIONAL_TAGS', 'a/b=c', 'holds "a/b=c", which is not key=value'],
    ['ADDITIONAL_TAGS', 'Team=a,team=b', 'names "Team" and "team", which are one tag to Azure'],
    ['ARM_CLOUD', 'AzureGermanCloud', 'is not a cloud; use AzurePublicCloud'],
    ['AZURE_ENVIRONMENT_FILEPATH', 'cloud.json', 'is not an absolute path'],
    ['VM_MEMORY_OVERHEAD_PERCENT', '-0.1', 'is below 0'],
    ['VM_MEMORY_OVERHEAD_PERCENT', '7.5', 'is more than all memory'],
    ['CLUSTER_CA_BUNDLE', 'nonsense', 'holds no certificate'],
    ['AZURE_TOKEN_CREDENTIALS', 'Magic', 'is not a credential; use one of EnvironmentCredential'],
    ['USE_SIG', 'yes', 'is not a switch; use true or false'],
    ['BATCH_IDLE_DURATION', '10', 'is not a duration such as'],
    ['AKS_MACHINES_POOL_NAME', 'Not a pool', 'is not the name of an agent pool'],
    ['PROVISION_MODE', 'bootstrappingclient', 'set it to aksscriptless'],
    ['PROVISION_MODE', 'magic', 'is not a provision mode'],
    ['AZURE_SUBSCRIPTION_ID', 'other', 'differs from ARM_SUBSCRIPTION_ID "sub", which means the same; unset one'],
  ])('%s "%s" is refused, with variable, value and remedy', (name, value, said) => {
    const errors = read({ [name]: value })
    expect(errors).toEqual([expect.stringContaining(said)])
    expect(errors).toEqual([expect.stringContaining(`environment variable ${name} "`)])
  })

  test.each([
    [{ USE_SIG: 'true' }, ['SIG_SUBSCRIPTION_ID', 'SIG_ACCESS_TOKEN_SERVER_URL']],
    [{ MANAGE_EXISTING_AKS_MACHINES: 'true' }, ['ARM_RESOURCE_GROUP']],
    [
      { PROVISION_MODE: 'aksmachineapi' },
      ['USE_SIG', 'SIG_SUBSCRIPTION_ID', 'AKS_MACHINES_POOL_NAME', 'ARM_RESOURCE_GROUP'],
    ],
    [
      {
        PROVISION_MODE: 'aksmachineapiheaderbatch',
        USE_SIG: 'true',
        SIG_SUBSCRIPTION_ID: 's',
        ARM_RESOURCE_GROUP: 'g',
      },
      ['AKS_MACHINES_POOL_NAME'],
    ],
    [{ NETWORK_PLUGIN: 'none', NETWORK_PLUGIN_MODE: 'overlay' }, ['NETWORK_PLUGIN_MODE']],
    [{ ARM_CLOUD: 'AzureChinaCloud', AZURE_ENVIRONMENT_FILEPATH: '/env.json' }, ['AZURE_ENVIRONMENT_FILEPATH']],
    [
      { CLUSTER_NAME: '', NETWORK_PLUGIN: 'x', PROVISION_MODE: 'y' },
      ['CLUSTER_NAME', 'NETWORK_PLUGIN', 'PROVISION_MODE'],
    ],
  ])('%j: all errors are reported at once', (env, names) => {
    const errors = read(env)
    expect(errors).toEqual(names.map((name) => expect.stringContaining(`environment variable ${name}`)))
  })
})

test('a certificate is known as PEM and as PEM in base64', () => {
  expect(certificateForm(pem)).toBe('pem')
  expect(certificateForm(Buffer.from(pem).toString('base64'))).toBe('base64')
  expect(certificateForm('MIIB')).toBeUndefined()
})

describe('the file that describes a cloud', () => {
  const content = {
    name: 'AzureStack',
    resourceManagerEndpoint: 'https://management.local.azurestack.external/',
    activeDirectoryEndpoint: 'https://login.local/',
    tokenAudience: 'https://management.local',
    galleryEndpoint: 'https://gallery.local',
  }

  test('is read; unneeded fields are ignored', () => {
    expect(parseEnvironmentFile('/env.json', JSON.stringify(content))).toMatchObject({
      tokenAudience: content.tokenAudience,
    })
  })

  test.each([
    ['{', 'the file is not JSON'],
    ['[]', 'Write an object with resourceManagerEndpoint'],
    [JSON.stringify({ ...content, resourceManagerEndpoint: 'management' }), 'resourceManagerEndpoint is not a URL'],
    [JSON.stringify({ ...content, tokenAudience: '' }), 'tokenAudience is empty'],
  ])('case %# is refused, with file, field and remedy', (text, said) => {
    expect(() => parseEnvironmentFile('/env.json', text)).toThrow(
      expect.objectContaining({ message: expect.stringContaining(said) as string }),
    )
    expect(() => parseEnvironmentFile('/env.json', text)).toThrow('AZURE_ENVIRONMENT_FILEPATH "/env.json"')
  })

  test('clouds are known by both of their names', () => {
    expect(['AzureCloud', 'azurepubliccloud', 'AzureChinaCloud', 'AzureGermanCloud'].map(knownCloud)).toEqual([
      'AzurePublicCloud',
      'AzurePublicCloud',
      'AzureChinaCloud',
      undefined,
    ])
  })
})
