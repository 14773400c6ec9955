import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { nodeClassSpec } from '../../../api/node-class.ts'
import { warningPolicies } from '../../../api/warnings.ts'
import { configPath, firstBoot } from '../../../deploy/local/azure/boot/custom-data.ts'
import { goldenConfig, goldenNodeClass, goldenSubnet } from '../../../test/vectors/golden-cases.ts'
import { kindRules } from '../../kubernetes/cache/cached-kinds.ts'
import type { VmSize } from '../catalogue/sku.ts'
import { vmRequest } from '../launch/vm-request.ts'
import { nodeClassSettings } from '../node-class/node-class-settings.ts'

interface Schema {
  readonly type?: string
  readonly enum?: readonly string[]
  readonly default?: unknown
  readonly minimum?: number
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
  readonly additionalProperties?: unknown
}

type Path = readonly (string | number)[]
type Json = Readonly<Record<string, unknown>>

const config = goldenConfig('westus2', {
  nodeResourceGroup: 'MC_rg',
  networkPlugin: 'azure',
  networkPluginMode: 'overlay',
  vmMemoryOverheadPercent: 0.075,
  vnetSubnetID: goldenSubnet,
})

/** All that Azure and the node are told of a node: the body of the PUT, with its custom data in clear. */
function toldOf(spec: Json): string {
  const body = vmRequest({
    config,
    nodeClass: nodeClassSettings(goldenNodeClass(spec), config),
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
    } as unknown as VmSize,
    imageId: '/CommunityGalleries/g/images/i/versions/1',
    kubernetesVersion: '1.36.3',
    attempt: 1,
    bootstrapToken: 'abcdef.0123456789abcdef',
  })
  return JSON.stringify([
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

/** What has to be there for a field to matter. */
const base: Json = { localDNS: { mode: 'Required', vnetDNSOverrides: [zone], kubeDNSOverrides: [zone] } }

/** Another value than the base's, where the schema does not tell one. */
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

function leaves(schema: Schema, path: Path): readonly { readonly path: Path; readonly schema: Schema }[] {
  if (schema.properties !== undefined)
    return Object.entries(schema.properties).flatMap(([key, inner]) => leaves(inner, [...path, key]))
  return schema.items?.properties === undefined ? [{ path, schema }] : leaves(schema.items, [...path, 0])
}

const fields = leaves(z.toJSONSchema(nodeClassSpec, { target: 'openapi-3.0', io: 'input' }) as Schema, [])
const nameOf = (path: Path) => path.filter((key) => key !== 0).join('.')

/** Values of a field, at least one of which is another than the base's. */
function valuesOf(path: Path, { type, enum: names, minimum = 0 }: Schema): readonly unknown[] {
  const sample = samples[nameOf(path)] ?? samples[String(path.at(-1))]
  if (sample !== undefined) return [sample]
  if (names !== undefined) return names
  if (type === 'boolean') return [true, false]
  if (type === 'integer') return [minimum + 1]
  throw new Error(`${nameOf(path)}: give it a sample`)
}

function withValue(object: unknown, [key, ...rest]: Path, value: unknown): unknown {
  if (key === undefined) return value
  if (Array.isArray(object)) return object.map((one: unknown, at) => (at === key ? withValue(one, rest, value) : one))
  const fieldsOf = (object ?? {}) as Json
  return { ...fieldsOf, [key]: withValue(fieldsOf[key], rest, value) }
}

/** Whether some value of a field makes another node. */
function hasEffect({ path, schema }: (typeof fields)[number]): boolean {
  const before = toldOf(base)
  return valuesOf(path, schema).some((value) => toldOf(withValue(base, path, value) as Json) !== before)
}

/** Fields of which the table says that they change nothing on nodes: those that its expressions name. */
function saidToHaveNone(policies: typeof warningPolicies): readonly string[] {
  const rows = policies
    .filter(({ about }) => about.some(({ kind }) => kind === 'AKSNodeClass'))
    .flatMap(({ warnings }) => warnings.filter(({ because }) => because === 'noEffect'))
  return rows.flatMap(({ holds }) => [...holds.matchAll(/object\.spec\.([A-Za-z.]+)/g)].map(([, name = '']) => name))
}

/** Warnings that are wrong: some field under the one that is warned of has an effect. */
function wrongWarnings(policies: typeof warningPolicies): readonly string[] {
  return saidToHaveNone(policies).filter((warned) =>
    fields.some((field) => `${nameOf(field.path)}.`.startsWith(`${warned}.`) && hasEffect(field)),
  )
}

describe('every field of an AKSNodeClass', () => {
  it.each(fields.map((field) => [nameOf(field.path), field] as const))(
    '%s changes nodes, or is warned of',
    (name, field) => {
      const warned = saidToHaveNone(warningPolicies).some((one) => `${name}.`.startsWith(`${one}.`))
      expect(hasEffect(field)).toBe(!warned)
    },
  )

  it('is among those that were looked at', () => {
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

  it('about a whole kind is right: nothing reads objects of that kind', () => {
    const kinds = warningPolicies
      .filter(({ warnings }) => warnings.some(({ holds }) => holds === 'false'))
      .flatMap(({ about }) => about.map(({ kind }) => kind))
    expect(kinds).toEqual(['NodeOverlay', 'CapacityBuffer'])
    expect(Object.keys(kindRules).filter((kind) => kinds.includes(kind))).toEqual([])
  })
})
