// Field by field, the configuration of a node beside the protobuf that Azure/AgentBaker publishes (published-fields.tsv): names, types, values of enums.
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { nodeClassSettings } from '../../activities/azure/node-class/node-class-settings.ts'
import { aksNodeConfig } from '../../activities/azure/node-config/bootstrap.ts'
import { type Field, jsonName } from '../../api/node-config/field.ts'
import { nodeConfigSchema } from '../../api/node-config/schema.ts'
import { sampleSpec } from '../azure-fields/sample-spec.ts'
import { goldenConfig, goldenNodeClass, goldenSubnet } from '../vectors/golden-cases.ts'

interface Published {
  readonly name: string
  readonly number: number
  readonly type: string
  readonly json: string | undefined
}

const messages = new Map<string, Published[]>()
for (const line of readFileSync(new URL('published-fields.tsv', import.meta.url), 'utf8')
  .trim()
  .split('\n')) {
  if (/^[#@]/.test(line)) continue
  const [message = '', name = '', number, type = '', json] = line.split('\t')
  messages.set(message, [...(messages.get(message) ?? []), { name, number: Number(number), type, json }])
}

/** Types of fields by their paths; `*` stands for the keys of a map. A type has the field's JSON name where that is not its own in camel case. */
type Types = ReadonlyMap<string, string>

const typeText = (type: string, json?: string) => (json === undefined ? type : `${type} as ${json}`)

function publishedTypes(message = 'Configuration', path = ''): Types {
  return new Map(
    (messages.get(message) ?? []).flatMap(({ name, type, json }) => {
      const at = `${path}${name}`
      const [, inner = type] = /^map<(.*)>$/.exec(type) ?? []
      const fields = messages.get(inner)
      if (fields === undefined) return [[at, typeText(type, json)] as const]
      if (fields[0]?.type === 'enum') return [[at, typeText(fields.map((one) => one.name).join('|'), json)] as const]
      return [...publishedTypes(inner, inner === type ? `${at}.` : `${at}.*.`)]
    }),
  )
}

function ownTypes(fields: Readonly<Record<string, Field>> = nodeConfigSchema.fields, path = ''): Types {
  return new Map(
    Object.entries(fields).flatMap(([name, field]) => {
      const at = `${path}${name}`
      const inner = field.kind === 'map' ? field.of : field
      if (inner.kind === 'message') return [...ownTypes(inner.fields, inner === field ? `${at}.` : `${at}.*.`)]
      const json = field.json === undefined ? undefined : jsonName(name, field)
      return [[at, typeText(simpleType(field), json)] as const]
    }),
  )
}

function simpleType(field: Field): string {
  if (field.kind === 'enum') return field.names.join('|')
  if (field.kind === 'list') return `[]${field.of.kind}`
  return field.kind === 'map' ? `map<${field.of.kind}>` : field.kind
}

const [published, own] = [publishedTypes(), ownTypes()]
const dns = ['vnet', 'kube'].map((of) => `local_dns_profile.${of}_dns_overrides.*.`)
const file = 'kubelet_config.kubelet_config_file_config.'

describe('the schema of a node configuration', () => {
  it('has each published field but those that Joiner has no use for', () => {
    expect([...published.keys()].filter((path) => !own.has(path)).sort()).toEqual(
      [
        // Deprecated by the timeouts beside it.
        'bootstrapping_config.secure_tls_bootstrapping_deadline',
        // The node finds out by itself.
        'containerd_config.is_containerd_v2',
        // Of no setting of an AKSNodeClass.
        'rdma_config.enable_rdma',
        ...dns.map((path) => `${path}serve_stale_policy`),
      ].sort(),
    )
  })

  it('has the published type and JSON name of each field', () => {
    const differs = [...own].filter(([path, type]) => published.has(path) && published.get(path) !== type)
    // JSON has one form for both integers up to 2147483647. JSON names of the kubelet's file are those that a kubelet reads; Joiner writes none of these three.
    expect(differs.map(([path, type]) => `${path}: ${type}, published ${published.get(path)}`)).toEqual([
      `${file}authentication.webhook.cache_ttl: string as cacheTTL, published string`,
      `${file}authorization.webhook.cache_authorized_ttl: string as cacheAuthorizedTTL, published string`,
      `${file}authorization.webhook.cache_unauthorized_ttl: string as cacheUnauthorizedTTL, published string`,
      `${file}pod_pids_limit: int64, published int32`,
    ])
  })

  it('has fields besides that were published later than those that were read', () => {
    const later = [...own.keys()].filter((path) => !published.has(path))
    const ofCloudProvider = later.filter((path) => path.startsWith('cluster_config.cloud_provider_config.'))
    expect(ofCloudProvider).toHaveLength(11)
    expect(later.filter((path) => !ofCloudProvider.includes(path))).toEqual([
      'enabled_features',
      `${file}eviction_soft`,
      `${file}eviction_soft_grace_period`,
      `${file}eviction_max_pod_grace_period`,
      `${file}kube_reserved_cgroup`,
      `${file}system_reserved_cgroup`,
      'gpu_config.mig_profile_layout',
      'gpu_config.enable_managed_gpu_dra',
    ])
  })
})

it('each field that Joiner writes is published, with a value of its type', () => {
  const base = goldenConfig('westus2', {
    nodeResourceGroup: 'MC_rg',
    vnetSubnetID: goldenSubnet,
    networkPlugin: 'azure',
    networkPluginMode: 'overlay',
    vmMemoryOverheadPercent: 0.075,
  })
  const httpProxy = { httpProxy: 'http://proxy', httpsProxy: 'https://proxy', noProxy: ['a'], trustedCa: 'Y2E=' }
  const config = { ...base, customCaCerts: ['Y2E='], httpProxy }
  const document = aksNodeConfig({
    config,
    nodeClass: nodeClassSettings(goldenNodeClass(sampleSpec(0)), config),
    network: { securityGroupId: '/nsg', securityGroupName: 'nsg', routeTableName: 'table' },
    vmSize: 'Standard_NC4as_T4_v3',
    arch: 'amd64',
    gpuVendor: 'nvidia',
    kubernetesVersion: '1.33.4',
    bootstrapToken: 'abcdef.0123456789abcdef',
    nodeLabels: { a: 'b' },
    kubeletFlags: { '--max-pods': '250' },
  })
  const written = leaves(document)
  expect(written.length).toBeGreaterThan(80)
  expect(written.filter(([path, value]) => !isOf(published.get(path), value))).toEqual([])
})

/** The values of a document by the paths of their fields. */
function leaves(document: object, path = ''): readonly (readonly [string, unknown])[] {
  return Object.entries(document).flatMap(([name, value]: readonly [string, unknown]) => {
    const inMap = [`${path}${name}`, `${path}*`].find((at) =>
      [...own.keys()].some((one) => `${one}.`.startsWith(`${at}.`)),
    )
    const at = inMap ?? `${path}${name}`
    if (own.has(at) || typeof value !== 'object' || value === null) return [[at, value] as const]
    return leaves(value, `${at}.`)
  })
}

function isOf(type = 'none', value: unknown): boolean {
  const [bare = ''] = type.split(' as ')
  const [, item] = /^\[\](.*)$/.exec(bare) ?? []
  if (item !== undefined) return Array.isArray(value) && value.every((one) => isOf(item, one))
  const [, inMap] = /^map<(.*)>$/.exec(bare) ?? []
  if (inMap !== undefined) return Object.values(value as object).every((one) => isOf(inMap, one))
  if (bare === 'bool') return typeof value === 'boolean'
  if (bare.startsWith('int')) return Number.isSafeInteger(value)
  return typeof value === 'string' && (bare === 'string' || bare.split('|').includes(value))
}

it('a number stands for one field of a message', () => {
  for (const [message, fields] of messages) {
    const numbers = fields.map(({ number }) => number)
    expect(new Set(numbers).size, message).toBe(numbers.length)
  }
})
