import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { cloudOf } from '../../../activities/azure/arm/clouds.ts'
import { decodeNodeClass, decodeNodePool } from '../../../activities/kubernetes/cache/decode.ts'
import { type Config, readConfig } from '../../../api/config.ts'
import { sizes, skuJson } from '../../../deploy/local/azure/catalogue/catalogue.ts'
import { ArmRefusal } from '../../picture/arm-reader.ts'
import { examineSubnets } from './azure-access.ts'
import { examineQuota } from './azure-supply.ts'
import type { DoctorContext, Finding } from './check.ts'

const subnetId = '/subscriptions/sub/resourceGroups/net/providers/Microsoft.Network/virtualNetworks/vnet/subnets/nodes'

function configOf(env: Readonly<Record<string, string>>): Config {
  const result = readConfig({
    TEMPORAL_ADDRESS: 'temporal:7233',
    CLUSTER_NAME: 'demo',
    CLUSTER_ENDPOINT: 'https://demo',
    // Any file does for a CA that nobody reads.
    KUBELET_BOOTSTRAP_CA_FILE: fileURLToPath(import.meta.url),
    ARM_SUBSCRIPTION_ID: 'sub',
    LOCATION: 'westus2',
    AZURE_NODE_RESOURCE_GROUP: 'MC_demo',
    VNET_SUBNET_ID: subnetId,
    SSH_PUBLIC_KEY: 'ssh-rsa AAAA',
    ...env,
  })
  if (result.kind === 'errors') throw new Error(result.errors.join())
  return result.config
}

const metadata = (name: string) => ({
  name,
  uid: name,
  resourceVersion: '1',
  creationTimestamp: '2026-01-01T00:00:00Z',
})

interface World {
  readonly env?: Readonly<Record<string, string>>
  readonly limits?: Readonly<Record<string, string>>
  readonly requirements?: readonly { key: string; operator: string; values: readonly string[] }[]
  readonly prefix?: string
  readonly used?: number
  readonly usages?: Readonly<Record<string, readonly [current: number, limit: number]>>
  readonly refusal?: ArmRefusal
}

function look(examine: (context: DoctorContext, signal: AbortSignal) => Promise<Finding>, world: World) {
  const { env = {}, limits, requirements = [], prefix = '10.0.0.0/24', used = 0, usages = {}, refusal } = world
  const nodePool = decodeNodePool({
    metadata: metadata('general'),
    spec: {
      template: {
        spec: { nodeClassRef: { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' }, requirements },
      },
      ...(limits === undefined ? {} : { limits }),
    },
    status: { resources: { cpu: '8' }, nodes: 2 },
  })
  const nodeClass = decodeNodeClass({ metadata: metadata('default'), spec: {} })
  const answers: Readonly<Record<string, readonly unknown[]>> = {
    usages: Object.entries(usages).map(([value, [currentValue, limit]]) => ({ name: { value }, currentValue, limit })),
    skus: [...sizes.values()].map((size) => skuJson(size, 'westus2')),
  }
  const context = {
    config: configOf(env),
    cloud: cloudOf({ name: 'AzurePublicCloud' }),
    identity: { settings: { clientId: 'client' } },
    owner: Promise.resolve({ objectId: 'object', clientId: 'client' }),
    pools: () => Promise.resolve({ nodePools: [nodePool], nodeClasses: [nodeClass] }),
    arm: {
      get: () =>
        refusal === undefined
          ? Promise.resolve({
              properties: {
                addressPrefix: prefix,
                ipConfigurations: Array.from({ length: used }, (_, id) => ({ id })),
              },
            })
          : Promise.reject(refusal),
      list: (path: string) => Promise.resolve(answers[/\/(usages|skus)\?/.exec(path)?.[1] ?? ''] ?? []),
    },
  } as unknown as DoctorContext
  return examine(context, new AbortController().signal)
}

describe('the subnet', () => {
  test.each<[string, World, string, string]>([
    ['without limits', {}, 'ok', '251 of 251 addresses free, room for 251 nodes with 1 each'],
    ['with limits that fit', { limits: { nodes: '200' } }, 'ok', 'allow up to 198 more'],
    ['with limits of nodes that do not fit', { limits: { nodes: '300' } }, 'warn', 'allow up to 298 more'],
    ['with limits of cpu that do not fit', { limits: { cpu: '1k' } }, 'warn', 'allow up to 496 more'],
    ['with the tighter of two limits', { limits: { cpu: '1k', nodes: '10' } }, 'ok', 'allow up to 8 more'],
    ['that is almost full', { used: 240 }, 'warn', 'room for 11 nodes with 1 each; not every NodePool has limits'],
    ['that is full', { used: 251, limits: { nodes: '2' } }, 'fail', '0 of 251 addresses free'],
    [
      'whose pods have addresses of it',
      { env: { NETWORK_PLUGIN_MODE: '', NETWORK_DATAPLANE: 'azure' } },
      'warn',
      'room for 8 nodes with 31 each',
    ],
    ['that is not there', { refusal: new ArmRefusal(404, 'NotFound', 'NotFound: no') }, 'fail', 'NotFound'],
    ['that may not be read', { refusal: new ArmRefusal(403, 'AuthorizationFailed', 'no') }, 'fail', 'no'],
  ])('%s', async (_what, world, status, said) => {
    const finding = await look(examineSubnets, world)
    expect(finding.status).toBe(status)
    expect(finding.summary).toContain(said)
    expect((finding.remedies ?? []).length > 0).toBe(status !== 'ok')
  })

  test('is fixed by commands with its own names', async () => {
    const full = await look(examineSubnets, { used: 251 })
    expect(full.remedies?.[0]).toContain('--resource-group net --vnet-name vnet --name nodes')
    const refused = await look(examineSubnets, { refusal: new ArmRefusal(403, 'AuthorizationFailed', 'no') })
    expect(refused.remedies).toEqual([
      `az role assignment create --assignee-object-id object --assignee-principal-type ServicePrincipal --role "Network Contributor" --scope "${subnetId}"`,
    ])
  })
})

describe('quota', () => {
  const only = (...values: string[]) => ({ key: 'node.kubernetes.io/instance-type', operator: 'In', values })
  const capacity = (...values: string[]) => ({ key: 'karpenter.sh/capacity-type', operator: 'In', values })
  const twoFamilies = [only('Standard_D2s_v5', 'Standard_E2s_v5'), capacity('on-demand')]
  const d = 'standardDSv5Family'
  const e = 'standardESv5Family'

  test.each<[string, World, string, string]>([
    ['that nobody limits', { requirements: twoFamilies }, 'ok', 'quota left in all 2 families'],
    ['of one family of two', { requirements: twoFamilies, usages: { [d]: [10, 10] } }, 'warn', `${d} 10/10`],
    [
      'of no family',
      { requirements: twoFamilies, usages: { [d]: [9, 10], [e]: [0, 0] } },
      'fail',
      'no family that it may use',
    ],
    ['of the region', { requirements: twoFamilies, usages: { cores: [99, 100] } }, 'fail', '99 of 100 vCPUs are used'],
    [
      'of spot, beside families that are used up',
      { requirements: [only('Standard_D2s_v5'), capacity('spot', 'on-demand')], usages: { [d]: [10, 10] } },
      'warn',
      `no quota left in ${d}`,
    ],
    [
      'of spot that is used up',
      { requirements: [only('Standard_D2s_v5'), capacity('spot')], usages: { lowPriorityCores: [99, 100] } },
      'fail',
      'spot only',
    ],
    ['for sizes that there are not', { requirements: [only('Standard_Nonsense')] }, 'warn', 'no VM size of the region'],
  ])('%s', async (_what, world, status, said) => {
    const finding = await look(examineQuota, world)
    expect(finding.status).toBe(status)
    expect(finding.summary).toContain(said)
    expect((finding.remedies ?? []).length > 0).toBe(status !== 'ok')
  })
})
