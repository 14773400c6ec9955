import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { chartFolder, helm, smallestValues } from './chart.ts'

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  readonly version: string
}

describe('values.schema.json', () => {
  test('the defaults alone are refused, with all that is missing and its other names', async () => {
    const { code, stderr } = await helm(['template', 'joiner', chartFolder], {})
    expect(code).not.toBe(0)
    for (const missing of [
      'cluster.name (or CLUSTER_NAME in controller.env)',
      'cluster.endpoint (or CLUSTER_ENDPOINT in controller.env)',
      'azure.subscriptionId (or ARM_SUBSCRIPTION_ID in controller.env)',
      'azure.location (or LOCATION in controller.env)',
      'azure.nodeResourceGroup (or AZURE_NODE_RESOURCE_GROUP in controller.env)',
      'azure.subnetId (or VNET_SUBNET_ID in controller.env)',
      'azure.sshPublicKey (or SSH_PUBLIC_KEY in controller.env)',
      'image.repository is empty',
    ])
      expect(stderr).toContain(missing)
  })

  test.each([
    ['no image', {}, version],
    ['a tag alone', { image: { tag: '9.8.7' } }, '9.8.7'],
    ["a tag of Karpenter's values alone", { controller: { image: { tag: '9.8.7' } } }, '9.8.7'],
    ['a digest alone', { image: { digest: `sha256:${'b2'.repeat(32)}` } }, version],
    ['an empty repository', { image: { repository: '' }, controller: { image: { repository: '' } } }, version],
    ['no image for one Deployment without Jobs', { profile: 'single', crds: { manage: false } }, version],
  ])('refuses %s, with the commands that build and push one', async (_what, values, tag) => {
    const { image: _image, ...others } = smallestValues
    const { code, stderr } = await helm(['template', 'joiner', chartFolder], { ...others, ...values })
    expect(code).not.toBe(0)
    expect(stderr).not.toContain('missing values')
    for (const command of [
      `docker build --platform linux/amd64 -f deploy/Dockerfile -t REGISTRY/joiner:${tag} .`,
      `docker push REGISTRY/joiner:${tag}`,
      '--set image.repository=REGISTRY/joiner',
    ])
      expect(stderr).toContain(command)
  })

  const { cluster, azure } = smallestValues
  test.each([
    ['a plain http endpoint', { cluster: { ...cluster, endpoint: 'http://demo' } }, '/cluster/endpoint'],
    ['a number for a name', { cluster: { ...cluster, name: 7 } }, '/cluster/name'],
    ['a subnet that is no ARM id', { azure: { ...azure, subnetId: 'nodes' } }, '/azure/subnetId'],
    ['an identity that is no ARM id', { azure: { ...azure, nodeIdentities: ['me'] } }, '/azure/nodeIdentities/0'],
    [
      'a network plugin that is not supported',
      { azure: { ...azure, networkPlugin: 'kubenet' } },
      '/azure/networkPlugin',
    ],
    [
      'a plugin mode that is not supported',
      { azure: { ...azure, networkPluginMode: 'bridge' } },
      '/azure/networkPluginMode',
    ],
    ['a Temporal address without a port', { temporal: { address: 'temporal' } }, '/temporal/address'],
    ['an empty Temporal namespace', { temporal: { namespace: '' } }, '/temporal/namespace'],
    ['no replica', { planner: { replicas: 0 } }, '/planner/replicas'],
    ['a replica count in words', { controller: { replicas: 'two' } }, '/controller/replicas'],
    ['a log level that there is not', { settings: { logLevel: 'loud' } }, '/settings/logLevel'],
    ['a duration without a unit', { settings: { batchIdleDuration: '10' } }, '/settings/batchIdleDuration'],
    ['a policy that there is not', { settings: { preferencePolicy: 'Prefer' } }, '/settings/preferencePolicy'],
    ['a policy in lower case', { settings: { minValuesPolicy: 'strict' } }, '/settings/minValuesPolicy'],
    ['a gate that there is not', { settings: { featureGates: { nodeOverlays: true } } }, 'nodeOverlays'],
    [
      'a default spread constraint with a selector',
      {
        settings: {
          schedulerConfig: {
            podTopologySpread: {
              defaultConstraints: [
                { maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule', labelSelector: {} },
              ],
            },
          },
        },
      },
      'labelSelector',
    ],
    ['a duration of nothing', { settings: { batchMaxDuration: '' } }, '/settings/batchMaxDuration'],
    ['a cloud that there is not', { azure: { ...azure, cloud: 'AzureGermanCloud' } }, '/azure/cloud'],
    ['a cloud without an audience', { azure: { ...azure, environment: { name: 'Stack' } } }, '/azure/environment'],
    ['a GUID that is none', { azure: { ...azure, vnetGuid: 'vnet' } }, '/azure/vnetGuid'],
    [
      'a dataplane that is not supported',
      { azure: { ...azure, networkDataplane: 'calico' } },
      '/azure/networkDataplane',
    ],
    ['a tag with a slash', { azure: { ...azure, additionalTags: { 'a/b': 'c' } } }, 'a/b'],
    ['a user name with a dot', { azure: { ...azure, linuxAdminUsername: 'a.b' } }, '/azure/linuxAdminUsername'],
    ['shared galleries of nobody', { azure: { ...azure, sharedGallery: { enabled: true } } }, '/azure/sharedGallery'],
    [
      'an encryption set that is none',
      { azure: { ...azure, diskEncryptionSetId: 'des' } },
      '/azure/diskEncryptionSetId',
    ],
    ['a proxy without a scheme', { azure: { ...azure, nodes: { httpProxy: 'proxy:3128' } } }, '/azure/nodes/httpProxy'],
    ['a variable without a name', { controller: { env: [{ value: 'x' }] } }, '/controller/env/0'],
    ['an interval that is a number', { settings: { resyncInterval: 300 } }, '/settings/resyncInterval'],
    [
      'a share of more than all memory',
      { settings: { vmMemoryOverheadPercent: 7.5 } },
      '/settings/vmMemoryOverheadPercent',
    ],
    ['a pull policy that there is not', { image: { pullPolicy: 'Sometimes' } }, '/image/pullPolicy'],
    ['a ServiceAccount whose name is a number', { serviceAccount: { name: 7 } }, '/serviceAccount/name'],
    ['no share of the API server', { flowControl: { shares: 0 } }, '/flowControl/shares'],
    [
      'a namespace in capitals',
      { networkPolicy: { allowedNamespaces: ['Ops'] } },
      '/networkPolicy/allowedNamespaces/0',
    ],
    ['a misspelt setting', { settings: { batchIdleDurations: '1s' } }, 'batchIdleDurations'],
    ['a misspelt section', { temporale: {} }, 'temporale'],
  ])('refuses %s', async (_what, values, named) => {
    const { code, stderr } = await helm(['template', 'joiner', chartFolder], { ...smallestValues, ...values })
    expect(code).not.toBe(0)
    expect(stderr).toContain(named)
  })
})
