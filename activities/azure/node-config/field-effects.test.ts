import { describe, expect, it } from 'vitest'
import { nodeClassSpec } from '../../../api/node-class.ts'
import { warningPolicies } from '../../../api/warnings/policies.ts'
import { configPath, firstBoot } from '../../../deploy/local/azure/boot/custom-data.ts'
import { fieldsOf, isAmong, type SchemaField, valuesOf, withValue } from '../../../test/api/schema-fields.ts'
import { goldenConfig, goldenNodeClass, goldenSizes, goldenSubnet } from '../../../test/vectors/golden-cases.ts'
import { kindsFor } from '../../kubernetes/cache/cached-kinds.ts'
import { refusedByNodeClass } from '../catalogue/instance-types.ts'
import { gib } from '../catalogue/os-disk.ts'
import type { VmSize } from '../catalogue/sku.ts'
import { vmRequest } from '../launch/vm-request.ts'
import { nodeClassSettings } from '../node-class/node-class-settings.ts'

type Json = Readonly<Record<string, unknown>>

const config = goldenConfig('westus2', {
  nodeResourceGroup: 'MC_rg',
  networkPlugin: 'azure',
  networkPluginMode: 'overlay',
  vmMemoryOverheadPercent: 0.075,
  vnetSubnetID: goldenSubnet,
})

const sizes = goldenSizes('eastus')

/** Returns the VM sizes that a node may have, and all data for Azure and the node: the body of the PUT, with its custom data in clear. */
function reportedOf(spec: Json): string {
  const nodeClass = nodeClassSettings(goldenNodeClass(spec), config)
  const body = vmRequest({
    config,
    nodeClass,
    network: { securityGroupId: '/nsg', securityGroupName: 'nsg', routeTableName: 'routes', poolIds: [] },
    claim: {
      metadata: { ...goldenNodeClass({}).metadata, name: 'default-abc', uid: 'u', labels: {} },
      spec: {
        taints: [],
        startupTaints: [],
        requirements: [],
        nodeClassRef: { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' },
        requests: {},
      },
    },
    chosen: { typeName: 'Standard_NC4as_T4_v3', zone: 'westus2-1', capacityType: 'spot', ultraSsd: false },
    size: {
      name: 'Standard_NC4as_T4_v3',
      arch: 'amd64',
      acceleratedNetworking: true,
      gpu: { vendor: 'nvidia' },
      localDisks: [{ placement: 'CacheDisk', size: gib(1024) }],
    } as unknown as VmSize,
    imageId: '/CommunityGalleries/g/images/i/versions/1',
    kubernetesVersion: '1.36.3',
    attempt: 1,
    bootstrapToken: { token: 'abcdef.0123456789abcdef', secretUid: 'secret-uid' },
  })
  return JSON.stringify([
    sizes.map((size) => refusedByNodeClass(size, nodeClass) ?? ''),
    { ...body, osProfile: { ...body.osProfile, customData: '' } },
    firstBoot(body.osProfile?.customData ?? '').files.get(configPath)?.content,
  ])
}

const zone = {
  zone: '.',
  queryLogging: 'Error',
  protocol: 'PreferUDP',
  forwardDestination: 'ClusterCoreDNS',
  forwardPolicy: 'Sequential',
  maxConcurrent: 1000,
  cacheDuration: '1h',
  serveStaleDuration: '1h',
  serveStale: 'Immediate',
}

/** Settings that other fields need to matter. */
const base: Json = { localDNS: { mode: 'Required', vnetDNSOverrides: [zone], kubeDNSOverrides: [zone] } }

/** Another value than the base's, where the schema does not give one. */
const samples: Readonly<Record<string, unknown>> = {
  vnetSubnetID: goldenSubnet.replace('aks-subnet', 'other'),
  tags: { team: 'red' },
  'kubelet.cpuCFSQuotaPeriod': '50ms',
  'kubelet.allowedUnsafeSysctls': ['net.core.somaxconn'],
  'kubelet.containerLogMaxSize': '64Mi',
  'linuxOSConfig.swapFileSize': '2Gi',
  'linuxOSConfig.sysctls.netIPv4IPLocalPortRange': '1024 65535',
  zone: 'example.com',
  cacheDuration: '2h',
  serveStaleDuration: '2h',
}

const fields = fieldsOf(nodeClassSpec)

/** Returns whether some value of a field makes another node. */
function hasEffect(field: SchemaField): boolean {
  const before = reportedOf(base)
  return valuesOf(field, samples).some((value) => reportedOf(withValue(base, field, value)) !== before)
}

/** Returns the fields that the table says change nothing on nodes: those that its expressions name. */
function saidToHaveNone(policies: typeof warningPolicies): readonly string[] {
  const rows = policies
    .filter(({ about }) => about.some(({ kind }) => kind === 'AKSNodeClass'))
    .flatMap(({ warnings }) => warnings.filter(({ because }) => because === 'noEffect'))
  return rows.flatMap(({ holds }) => [...holds.matchAll(/object\.spec\.([A-Za-z.]+)/g)].map(([, name = '']) => name))
}

/** Returns warnings that are wrong: some field under the warned one has an effect. */
function wrongWarnings(policies: typeof warningPolicies): readonly string[] {
  return saidToHaveNone(policies).filter((warned) =>
    fields.some((field) => isAmong(field, [warned]) && hasEffect(field)),
  )
}

describe('every field of an AKSNodeClass', () => {
  it.each(fields.map((field) => [field.name, field] as const))('%s changes nodes, or has a warning', (_name, field) => {
    expect(hasEffect(field)).toBe(!isAmong(field, saidToHaveNone(warningPolicies)))
  })

  it('is among those that were checked', () => {
    expect(fields.length).toBeGreaterThan(70)
  })
})

describe('a warning that a field has no effect', () => {
  it('is right', () => {
    expect(wrongWarnings(warningPolicies)).toEqual([])
  })

  it('is found out where it is wrong', () => {
    const stale = ['linuxOSConfig', 'kubelet.failSwapOn', 'localDNS.mode'].map((name) => ({
      because: 'noEffect' as const,
      holds: `!has(object.spec.${name})`,
      message: "'it has no effect'",
    }))
    const about = [{ apiGroup: 'karpenter.azure.com', apiVersions: ['v1beta1'], kind: 'AKSNodeClass' }]
    expect(wrongWarnings([{ name: 'stale', about, warnings: stale }])).toEqual([
      'linuxOSConfig',
      'kubelet.failSwapOn',
      'localDNS.mode',
    ])
  })

  it('says so by its reason, whatever its words', () => {
    const said = warningPolicies.flatMap(({ warnings }) => warnings)
    expect(said.filter(({ message, because }) => message.includes('no effect') !== (because === 'noEffect'))).toEqual(
      [],
    )
  })

  it('about a whole kind is right: objects of that kind are read only where a gate is on, and then there is no warning', () => {
    const about = warningPolicies
      .flatMap(({ warnings }) => warnings)
      .flatMap(({ holds, unlessChartValue }) => {
        const [, kind] = /^object\.kind != '(\w+)'$/.exec(holds) ?? []
        return kind === undefined ? [] : [{ kind, endsWithGate: unlessChartValue !== undefined }]
      })
    expect(about.map(({ kind }) => kind)).toEqual(['NodeOverlay', 'CapacityBuffer'])
    expect(about.filter(({ endsWithGate }) => !endsWithGate)).toEqual([])
    expect(kindsFor({}).filter((read) => about.some(({ kind }) => kind === read))).toEqual([])
  })
})
