import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import type { ManagedCluster } from '../../picture/managed-cluster.ts'
import { parseImage } from './command.ts'
import type { ClusterFacts } from './facts.ts'
import { type ChartValue, chartValues, valuesText } from './write-values.ts'

const group = '/subscriptions/sub/resourceGroups/MC_demo'
const subnetId = `${group}/providers/Microsoft.Network/virtualNetworks/aks-vnet-12345678/subnets/aks-subnet`
const pem = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----'
const base64 = (text: string) => Buffer.from(text).toString('base64')

function facts(properties: ManagedCluster['properties'] = {}, changes: Partial<ClusterFacts> = {}): ClusterFacts {
  return {
    subscriptionId: 'sub',
    cluster: {
      id: '/subscriptions/sub/resourcegroups/clusters/providers/Microsoft.ContainerService/managedClusters/demo',
      name: 'demo',
      location: 'West US 2',
      properties: {
        fqdn: 'demo.example',
        nodeResourceGroup: 'MC_demo',
        networkProfile: { networkPlugin: 'azure', networkPluginMode: 'overlay' },
        linuxProfile: { adminUsername: 'azureuser', ssh: { publicKeys: [{ keyData: 'ssh-rsa AAAA\n' }] } },
        oidcIssuerProfile: { enabled: true, issuerUrl: 'https://issuer/' },
        ...properties,
      },
    },
    apiServer: { kind: 'missing', why: 'AuthorizationFailed: no' },
    network: { kind: 'found', value: { subnetId, guid: 'guid' }, source: 'virtualNetwork' },
    identity: undefined,
    ...changes,
  }
}

const valuesOf = (given: ClusterFacts) =>
  chartValues({ facts: given, cloud: 'AzurePublicCloud', identityName: 'joiner-demo' })

function valueAt(given: ClusterFacts, path: string): ChartValue | undefined {
  return valuesOf(given).find((one) => one.path.join('.') === path)
}

const credential = (subject: string, issuer = 'https://issuer/') => ({
  name: 'one',
  issuer,
  subject,
  audiences: ['api://AzureADTokenExchange'],
})
const identity = (...credentials: readonly ReturnType<typeof credential>[]) => ({
  id: 'id',
  name: 'joiner-demo',
  clientId: 'client',
  principalId: 'principal',
  tenantId: 'tenant',
  credentials,
})
const account = 'system:serviceaccount:nodes:scaler'

describe('values of a cluster', () => {
  test.each([
    ['myregistry.azurecr.io/joiner', { repository: 'myregistry.azurecr.io/joiner' }],
    ['localhost:5000/a/joiner:0.2.0', { repository: 'localhost:5000/a/joiner', tag: '0.2.0' }],
    [
      `r.example/joiner:1@sha256:${'0'.repeat(64)}`,
      { repository: 'r.example/joiner', tag: '1', digest: `sha256:${'0'.repeat(64)}` },
    ],
  ])('name the image %s', (text, image) => {
    const named = chartValues({ facts: facts(), cloud: 'AzurePublicCloud', identityName: 'i', image: parseImage(text) })
    expect(parse(valuesText(named, []))).toMatchObject({ image })
  })

  test.each(['', 'joiner', 'r.example/joiner:', 'r.example/joiner@sha256:1', 'https://r.example/joiner'])(
    'refuse the image %j',
    (text) => {
      expect(() => parseImage(text)).toThrow('It must be an image of a registry')
    },
  )

  test.each<[string, ClusterFacts, string, ChartValue['value'], RegExp]>([
    ['a region by its long name', facts(), 'azure.location', 'westus2', /location/],
    ['an FQDN', facts(), 'cluster.endpoint', 'https://demo.example:443', /properties\.fqdn$/],
    [
      'a private cluster',
      facts({ privateFQDN: 'demo.private' }),
      'cluster.endpoint',
      'https://demo.private:443',
      /privateFQDN$/,
    ],
    [
      'a kubeconfig',
      facts({}, { apiServer: { kind: 'found', value: { server: 'https://a:1', authority: 'QUFB' }, source: 'kc' } }),
      'cluster.caBundle',
      'QUFB',
      /certificate-authority-data/,
    ],
    ['no kubeconfig', facts(), 'cluster.caBundle', '', /CA that pods trust.*AuthorizationFailed/],
    ['an SSH key', facts(), 'azure.sshPublicKey', 'ssh-rsa AAAA', /keyData/],
    ['no network plugin', facts({ networkProfile: { networkPlugin: 'none' } }), 'azure.networkPlugin', 'none', /./],
    ['no plugin mode', facts({ networkProfile: { networkPlugin: 'azure' } }), 'azure.networkPluginMode', '', /./],
    [
      'CAs of nodes',
      facts({ securityProfile: { customCATrustCertificates: [base64(pem), base64(pem)] } }),
      'azure.nodes.customCa',
      `${pem}\n${pem}`,
      /customCATrustCertificates/,
    ],
    [
      'a proxy',
      facts({ httpProxyConfig: { httpProxy: 'http://proxy:1', noProxy: ['.local'], trustedCa: base64(pem) } }),
      'azure.nodes.noProxy',
      ['.local'],
      /httpProxyConfig\.noProxy/,
    ],
    [
      'the ServiceAccount that the identity trusts',
      facts({}, { identity: identity(credential(account)) }),
      'serviceAccount.name',
      'scaler',
      /federatedIdentityCredential one/,
    ],
  ])('%s', (_what, given, path, value, source) => {
    const found = valueAt(given, path)
    expect(found).toMatchObject({ value, source: expect.stringMatching(source) as string })
    expect(found?.remedy).toBeUndefined()
  })

  test.each<[string, ClusterFacts, string, RegExp, boolean | undefined]>([
    ['kubenet', facts({ networkProfile: { networkPlugin: 'kubenet' } }), 'azure.networkPlugin', /az aks update/, true],
    [
      'two families of addresses',
      facts({ networkProfile: { networkPlugin: 'azure', ipFamilies: ['IPv4', 'IPv6'] } }),
      'azure.networkPlugin',
      /--ip-families ipv4/,
      true,
    ],
    ['the image', facts(), 'image.repository', /joiner admin aks values --image REGISTRY/, true],
    ['no SSH key', facts({ linuxProfile: {} }), 'azure.sshPublicKey', /ssh-keygen/, true],
    ['no subnet', facts({}, { network: { kind: 'missing', why: 'no' } }), 'azure.subnetId', /vnet subnet list/, true],
    ['a stopped cluster without a name', facts({ fqdn: undefined } as never), 'cluster.endpoint', /az aks start/, true],
    ['no identity', facts(), 'workloadIdentity.clientId', /joiner admin aks setup --cluster-name demo/, undefined],
    ['no kubelet identity', facts(), 'azure.nodeIdentities', /--enable-managed-identity/, undefined],
    [
      'a federated credential for another cluster',
      facts({}, { identity: identity(credential(account, 'https://other/')) }),
      'serviceAccount.name',
      /joiner admin aks setup/,
      undefined,
    ],
    [
      'federated credentials for two accounts',
      facts({}, { identity: identity(credential(account), credential('system:serviceaccount:nodes:other')) }),
      'serviceAccount.name',
      /joiner admin aks setup/,
      undefined,
    ],
  ])('%s is missing, with the remedy', (_what, given, path, remedy, isNeeded) => {
    const found = valueAt(given, path)
    expect(found?.remedy).toMatch(remedy)
    expect(found?.isNeeded).toBe(isNeeded)
  })

  test('are written as YAML that parses to them, each with its source', () => {
    const given = facts({
      securityProfile: { customCATrustCertificates: [base64(pem)] },
      identityProfile: { kubeletidentity: { resourceId: '/subscriptions/sub/id', clientId: 'kubelet' } },
    })
    const values = valuesOf(given)
    const text = valuesText(values, ['Head of the file.'])
    expect(text).toMatch(/^# Head of the file\.\n/)
    for (const { path, value, source } of values) {
      const found = path.reduce<unknown>((at, key) => (at as Record<string, unknown>)[key], parse(text))
      expect([path, found]).toEqual([path, value])
      expect(text).toContain(`# ${source}`)
    }
  })

  test('do not let a name from Azure end a comment or move a cursor', () => {
    const hostile = valuesText([{ path: ['a'], value: 'b\u001b[2J', source: 'one\ntwo: 3\u001b[31m' }], [])
    expect(parse(hostile)).toEqual({ a: 'b\u001b[2J' })
    expect(hostile).not.toContain('\u001b')
  })
})
