import { kubeletAnnotation } from '../../core/node-class/kubelet-conversion.ts'
import { nodePool } from '../world.ts'
import type { HostileObject, Json } from './hostile-object.ts'
import { brokenValues, deepJson, nameOf, prototypeNames, times } from './texts.ts'

/** Only pods that ask for them get nodes of these pools. */
const taint = { key: 'hostile.example/pool', effect: 'NoSchedule' }

interface PoolChange {
  readonly name?: string
  readonly annotations?: Json
  /** Of the template: its spec and its metadata. */
  readonly template?: Json
  readonly metadata?: Json
  readonly spec?: Json
}

type NamedChange = readonly [what: string, change: PoolChange]

function pool({ name = '', annotations = {}, template = {}, metadata = {}, spec = {} }: PoolChange): Json {
  const base = nodePool({ name })
  const own = { ...base.spec.template.spec, taints: [taint], ...template }
  return {
    ...base,
    metadata: { name, annotations },
    spec: { ...base.spec, template: { metadata, spec: own }, ...spec },
  }
}

function requiring(key: string, operator: string, values: readonly string[]): PoolChange {
  const own = nodePool().spec.template.spec.requirements
  return { template: { requirements: [...own, { key, operator, ...(values.length === 0 ? {} : { values }) }] } }
}

const budget = (schedule: string): PoolChange => ({
  spec: { disruption: { consolidateAfter: '1s', budgets: [{ nodes: '1', schedule, duration: '1h' }] } },
})

const classRef = (name: string): PoolChange => ({
  template: { nodeClassRef: { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name } },
})

/** Values that reach labels, taints and kubelet flags of nodes. */
function broken(): readonly NamedChange[] {
  return Object.entries(brokenValues).flatMap(([what, value]): readonly NamedChange[] => {
    const tainted = { key: 'hostile.example/t', value, effect: 'NoSchedule' }
    const kubelet = JSON.stringify({ clusterDNS: [value], evictionHard: { 'memory.available': value } })
    return [
      [`requires a label with ${what}`, requiring('hostile.example/any', 'In', [value])],
      [`labels its nodes with ${what}`, { metadata: { labels: { 'hostile.example/any': value } } }],
      [`annotates its nodes with ${what}`, { metadata: { annotations: { 'hostile.example/any': value } } }],
      [`taints its nodes with ${what}`, { template: { taints: [taint, tainted] } }],
      [`has a kubelet with ${what}`, { annotations: { [kubeletAnnotation]: kubelet } }],
    ]
  })
}

function prototypes(): readonly NamedChange[] {
  return prototypeNames.flatMap((name): readonly NamedChange[] => [
    [`limits ${name}`, { spec: { limits: { [name]: '1' } } }],
    [`requires the label ${name}`, requiring(name, 'Exists', [])],
    [`labels its nodes with ${name}`, { metadata: { labels: { [name]: name } } }],
    [`annotates its nodes with ${name}`, { metadata: { annotations: { [name]: 'x' } } }],
    [`is annotated with ${name}`, { annotations: { [name]: 'x' } }],
    [`taints its nodes with ${name}`, { template: { taints: [taint, { key: name, effect: 'NoSchedule' }] } }],
    [`has a kubelet of ${name}`, { annotations: { [kubeletAnnotation]: `{"${name}": {"${name}": "1"}}` } }],
  ])
}

function odd(): readonly NamedChange[] {
  const reserved = { key: 'karpenter.sh/unregistered', effect: 'NoExecute' }
  return [
    ['has a name that every object has', { name: 'constructor' }],
    ['has a name of 54 characters', { name: `hostile-${'n'.repeat(46)}` }],
    ['has a name of 63 characters', { name: `hostile-${'n'.repeat(55)}` }],
    ['has a name of 64 characters', { name: `hostile-${'n'.repeat(56)}` }],
    ['has a name of 253 characters', { name: `hostile-${'n'.repeat(245)}` }],
    ['has a name with dots', { name: 'hostile.pool.example' }],
    ['names a class that is not there', classRef('none')],
    ['names a class by 100 characters', classRef('c'.repeat(100))],
    ['names a class with a line break', classRef('default\nx')],
    ['requires hyper-v generation 2', requiring('karpenter.azure.com/sku-hyperv-generation', 'In', ['2'])],
    ['requires a build below 0', requiring('node.kubernetes.io/windows-build', 'Lt', ['0'])],
    ['requires more cores than numbers', requiring('karpenter.azure.com/sku-cpu', 'Gt', ['9'.repeat(300)])],
    ['requires 100 labels', { template: { requirements: times(100, (i) => exists(`hostile.example/k${i}`)) } }],
    [
      'requires 50,000 values',
      requiring(
        'hostile.example/any',
        'NotIn',
        times(50_000, (i) => `v${i}`),
      ),
    ],
    ['has 2,000 taints', { template: { taints: times(2000, (i) => ({ ...taint, key: `hostile.example/t${i}` })) } }],
    ['taints its nodes as unregistered', { template: { taints: [taint, reserved] } }],
    [
      'has 5,000 labels',
      { metadata: { labels: Object.fromEntries(times(5000, (i) => [`hostile.example/l${i}`, 'x'])) } },
    ],
    ['has a kubelet of 20,000 levels', { annotations: { [kubeletAnnotation]: deepJson } }],
    ['has half a kubelet', { annotations: { [kubeletAnnotation]: '{"maxPods":' } }],
    ['has a schedule of 100 KB', budget('a '.repeat(50_000))],
    ['has a schedule of blanks', budget(`a${' '.repeat(20_000)}b`)],
    ['has a schedule of every second of nothing', budget('*/0 * * * *')],
    ['has a schedule that never comes', budget('0 0 31 2 *')],
    ['has limits without end', { spec: { limits: { cpu: '1e999999999' } } }],
    ['has limits below nothing', { spec: { limits: { cpu: '-1' } } }],
    ['has a weight beyond all', { spec: { weight: 2_147_483_647 } }],
    ['has the most weight', { spec: { weight: 100 } }],
    ['is static', { spec: { replicas: 1_000_000 } }],
    ['lets its nodes expire at once', { template: { expireAfter: '1s' } }],
    ['lets its nodes expire at no time', { template: { expireAfter: `${'9'.repeat(40)}h` } }],
  ]
}

const exists = (key: string) => ({ key, operator: 'Exists' })

/** Pools as Karpenter before 1.0 had them: the API server has them converted by Joiner. */
function old(): readonly HostileObject[] {
  const template = (kubelet: Json) => {
    const { requirements } = nodePool().spec.template.spec
    return { spec: { requirements, taints: [taint], nodeClassRef: { name: 'default' }, kubelet } }
  }
  return Object.entries(brokenValues).map(([what, value], index) => ({
    kind: 'NodePool',
    what: `has, in v1beta1, a kubelet with ${what}`,
    body: {
      apiVersion: 'karpenter.sh/v1beta1',
      kind: 'NodePool',
      metadata: { name: nameOf('old-pool', index) },
      spec: { template: template({ clusterDNS: [value], evictionSoftGracePeriod: { 'memory.available': value } }) },
    },
  }))
}

/** Values of labels, taints and requirements, and what NodePools may say besides. */
export function hostilePools(): readonly HostileObject[] {
  const own = [...broken(), ...prototypes(), ...odd()].map(
    ([what, change], index): HostileObject => ({
      kind: 'NodePool',
      what,
      body: pool({ ...change, name: change.name ?? nameOf('pool', index) }),
    }),
  )
  return [...own, ...old()]
}
