import { kubeletAnnotation } from '../../core/node-class/kubelet-conversion.ts'
import { azureIds } from '../../deploy/local/cluster.ts'
import { standaloneClaim } from '../world.ts'
import type { HostileObject, Json } from './hostile-object.ts'
import { brokenValues, deepJson, nameOf, prototypeNames, times } from './texts.ts'

interface ClaimChange {
  readonly name?: string
  readonly spec?: Json
  readonly metadata?: Json
  readonly status?: Json
}

type NamedChange = readonly [what: string, change: ClaimChange]

/** No pod of this suite tolerates it: a node of a hostile claim helps nobody. */
const taint = { key: 'hostile.example/claim', effect: 'NoSchedule' }

const exists = (key: string) => ({ key, operator: 'Exists' })
const annotated = (annotations: Json): ClaimChange => ({ metadata: { annotations } })

function broken(): readonly NamedChange[] {
  return Object.entries(brokenValues).flatMap(([what, value]): readonly NamedChange[] => {
    const requirements = [{ key: 'hostile.example/any', operator: 'In', values: [value] }]
    const reserved = { systemReserved: { cpu: value }, evictionSoft: { 'memory.available': value } }
    return [
      [`requires a label with ${what}`, { spec: { requirements } }],
      [`is tainted with ${what}`, { spec: { taints: [{ key: 'hostile.example/t', value, effect: 'NoSchedule' }] } }],
      [`is labelled with ${what}`, { metadata: { labels: { 'hostile.example/any': value } } }],
      [`has a kubelet that reserves ${what}`, annotated({ [kubeletAnnotation]: JSON.stringify(reserved) })],
      [`has its DNS at ${what}`, annotated({ [kubeletAnnotation]: JSON.stringify({ clusterDNS: [value] }) })],
    ]
  })
}

function prototypes(): readonly NamedChange[] {
  return prototypeNames.flatMap((name): readonly NamedChange[] => [
    [`asks for ${name}`, { spec: { resources: { requests: { [name]: '1' } } } }],
    [`asks for so many of ${name}`, { spec: { resources: { requests: { [name]: '9'.repeat(400) } } } }],
    [`requires the label ${name}`, { spec: { requirements: [exists(name)] } }],
    [`is annotated with ${name}`, annotated({ [name]: 'x' })],
    [`is labelled with ${name}`, { metadata: { labels: { [name]: name } } }],
    [`is owned by a ${name}`, { metadata: { ownerReferences: [{ apiVersion: 'v1', kind: name, name, uid: name }] } }],
    [`says that it has ${name}`, { status: { capacity: { [name]: '1' }, allocatable: { [name]: '1' } } }],
  ])
}

const isTrue = (type: string) => ({
  type,
  status: 'True',
  reason: type,
  message: '',
  lastTransitionTime: '2026-01-01T00:00:00Z',
})
const conditions = ['Launched', 'Registered', 'Initialized'].map(isTrue)

/** A claim that says of itself that it has a VM somewhere. */
function located(providerID: string): ClaimChange {
  return { status: { conditions, providerID } }
}

function vmId(group: string, name: string): string {
  return `azure:///subscriptions/${azureIds.subscriptionId}/resourceGroups/${group}/providers/Microsoft.Compute/virtualMachines/${name}`
}

/** What a claim says of itself, in its status and in the annotations that Joiner reads. */
function forged(): readonly NamedChange[] {
  const group = azureIds.nodeResourceGroup.toLowerCase()
  const inScaleSet = vmId(group, 'x').replace('virtualMachines/x', 'virtualMachineScaleSets/aks-pool/virtualMachines/0')
  const stamp = { 'joiner.sh/disruption-command': 'forged', 'joiner.sh/replacement-for': 'forged' }
  const hold = { 'joiner.sh/hold-until': 'never\n', 'joiner.sh/hold-reason': '\u001b[2J', 'joiner.sh/hold-by': '💥' }
  const terminatedAt = 'karpenter.sh/nodeclaim-termination-timestamp'
  const impossible = { cpu: '-1', constructor: '1', memory: '1e400' }
  return [
    ['has a VM in another group', located(vmId('mc_other', 'aks-x'))],
    ['has a VM of an AKS node pool', located(vmId(group, 'aks-nodes-32301838-vms0'))],
    ['has a VM of another subscription', located(vmId(group, 'x').replace(azureIds.subscriptionId, 'other'))],
    ['has a VM of a scale set', located(inScaleSet)],
    ['has a VM of another cloud', located('aws:///us-east-1a/i-0123456789abcdef0')],
    ['has a provider id that is a path upwards', located(vmId(group, '../../virtualMachines/x'))],
    ['has a provider id of 200 KB', located(vmId(group, 'x'.repeat(200_000)))],
    ['has a provider id that is none', located('../../x\n')],
    ['has capacity that is none', { status: { conditions, capacity: impossible, allocatable: impossible } }],
    ['has an image that is none', { status: { conditions, imageID: '\u001b[2J\n' } }],
    ['has the Node of somebody else', { status: { conditions, nodeName: 'aks-nodes-32301838-vms0' } }],
    ['has 5,000 conditions', { status: { conditions: times(5000, (i) => isTrue(`C${i}`)) } }],
    [
      'says that it is an AKS machine',
      annotated({ 'karpenter.azure.com/aks-machine-resource-id': '/subscriptions/s/x' }),
    ],
    ['carries the stamp of a command', annotated(stamp)],
    ['carries a hold without sense', annotated(hold)],
    ['carries a deadline of long ago', annotated({ [terminatedAt]: '1970-01-01T00:00:00Z' })],
    ['carries a deadline that is none', annotated({ [terminatedAt]: 'x\n' })],
    ['carries a trace without sense', annotated({ 'joiner.sh/traceparent': `00-${'z'.repeat(32)}-x-01` })],
    ['carries tag names without sense', annotated({ 'joiner.sh/tag-names': '["karpenter.azure.com_cluster"' })],
    ['carries a kubelet of 20,000 levels', annotated({ [kubeletAnnotation]: deepJson })],
    ['says that it is of the NodePool of others', { metadata: { labels: { 'karpenter.sh/nodepool': 'general' } } }],
  ]
}

function odd(): readonly NamedChange[] {
  const ref = (name: string) => ({ nodeClassRef: { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name } })
  const kubelet = (requests: Json) => ({ spec: { resources: { requests } } })
  return [
    ['expires at once', { spec: { expireAfter: '1s' } }],
    ['expires at no time', { spec: { expireAfter: `${'9'.repeat(40)}h` } }],
    ['grants its pods no time', { spec: { terminationGracePeriod: '0s', expireAfter: '5s' } }],
    ['asks for all cores of the world', kubelet({ cpu: '1e12' })],
    ['asks for less than nothing', kubelet({ cpu: '-1' })],
    ['asks for more than numbers', kubelet({ memory: '1e999999999' })],
    ['names a class that is not there', { spec: ref('none') }],
    ['names a class with a line break', { spec: ref('default\nx') }],
    ['requires hyper-v generation 2', requiring('karpenter.azure.com/sku-hyperv-generation', ['2'])],
    [
      'requires 50,000 values',
      requiring(
        'hostile.example/any',
        times(50_000, (i) => `v${i}`),
      ),
    ],
    ['requires 100 labels', { spec: { requirements: times(100, (i) => exists(`hostile.example/k${i}`)) } }],
    ['has 2,000 taints', { spec: { taints: times(2000, (i) => ({ ...taint, key: `hostile.example/t${i}` })) } }],
    ['is a control plane', { metadata: { labels: { 'node-role.kubernetes.io/control-plane': '' } } }],
    ['has a name that every object has', { name: 'constructor' }],
    ['has a name of 59 characters', { name: `hostile-${'n'.repeat(51)}` }],
    ['has a name of 60 characters', { name: `hostile-${'n'.repeat(52)}` }],
    ['has a name of 253 characters', { name: `hostile-${'n'.repeat(245)}` }],
    ['has a name with dots', { name: 'hostile.claim.example' }],
  ]
}

function requiring(key: string, values: readonly string[]): ClaimChange {
  return { spec: { requirements: [{ key, operator: 'In', values }] } }
}

/** NodeClaims that no planner made. */
export function hostileClaims(): readonly HostileObject[] {
  return [...broken(), ...prototypes(), ...forged(), ...odd()].map(
    ([what, { name = '', spec, metadata, status }], index) => {
      const base = standaloneClaim(name || nameOf('claim', index), { taints: [taint], ...spec })
      return {
        kind: 'NodeClaim',
        what,
        body: { ...base, metadata: { ...base.metadata, ...metadata } },
        ...(status === undefined ? {} : { status }),
      }
    },
  )
}
