import { expensivePods } from './expensive-pods.ts'
import type { HostileObject, Json } from './hostile-object.ts'
import { container, expression, type NamedSpec, preferring, requiring, spread } from './pod-parts.ts'
import { brokenValues, nameOf, prototypeNames } from './texts.ts'

export const hostileNamespace = 'tenant'

const windowsBuild = 'node.kubernetes.io/windows-build'

/** Preferences that the API server does not look into: their values would reach a node's labels. */
function brokenPreferences(): readonly NamedSpec[] {
  const keys = [windowsBuild, 'topology.kubernetes.io/zone', 'hostile.example/any']
  const values = keys.flatMap((key) =>
    Object.entries(brokenValues).map(
      ([what, value]): NamedSpec => [`prefers ${key} with ${what}`, preferring(key, 'In', [value])],
    ),
  )
  const broken = Object.entries(brokenValues)
  return [
    ...values,
    ...broken.map(([what, value]): NamedSpec => [`prefers a key with ${what}`, preferring(value, 'Exists', [])]),
    ['prefers not to be on a broken value', preferring(windowsBuild, 'NotIn', Object.values(brokenValues))],
    ['prefers by an operator that is none', preferring(windowsBuild, 'In\nKUBELET_FLAGS=', ['x'])],
  ]
}

/** Requirements that no node can meet, or that our own CRD refuses on a NodeClaim. */
function impossible(): readonly NamedSpec[] {
  const asks = (resources: Json) => ({ containers: [container(resources)] })
  const unicorns = { 'hostile.example/unicorn': '1' }
  const neverVolume = { volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'none' } }] }
  return [
    ['selects hyper-v generation 2', { nodeSelector: { 'karpenter.azure.com/sku-hyperv-generation': '2' } }],
    ['selects a windows build below 0', requiring([expression(windowsBuild, 'Lt', ['0'])])],
    ['selects a windows build above all', requiring([expression(windowsBuild, 'Gt', ['9223372036854775807'])])],
    ['prefers a windows build below 0', preferring(windowsBuild, 'Lt', ['0'])],
    ['prefers cores that are no number', preferring('karpenter.azure.com/sku-cpu', 'Gt', ['many'])],
    ['prefers more cores than numbers', preferring('karpenter.azure.com/sku-cpu', 'Gt', ['9'.repeat(400)])],
    ['selects a NodePool that is not there', { nodeSelector: { 'karpenter.sh/nodepool': 'none' } }],
    ['selects a host', { nodeSelector: { 'kubernetes.io/hostname': 'aks-nodes-32301838-vms0' } }],
    ['selects Windows', { nodeSelector: { 'kubernetes.io/os': 'windows' } }],
    ['selects a zone that is not there', { nodeSelector: { 'topology.kubernetes.io/zone': 'westus2-9' } }],
    ['selects control planes', { nodeSelector: { 'node-role.kubernetes.io/control-plane': '' } }],
    ['selects a label of AKS', { nodeSelector: { 'kubernetes.azure.com/mode': 'system' } }],
    ['asks for a million cores', asks({ requests: { cpu: '1000000' } })],
    ['asks for an exbibyte', asks({ requests: { memory: '1Ei' } })],
    ['asks for more than numbers', asks({ requests: { cpu: '9'.repeat(300) } })],
    ['asks for less than nothing', asks({ requests: { cpu: '-1' } })],
    ['asks for next to nothing', asks({ requests: { cpu: '1n', memory: '1m' } })],
    ['asks for what nothing has', asks({ requests: unicorns, limits: unicorns })],
    ['is for a scheduler that is not there', { schedulerName: 'nobody' }],
    ['waits behind a gate', { schedulingGates: [{ name: 'hostile.example/never' }] }],
    ['claims a volume that is not there', neverVolume],
    ['has the highest priority', { priorityClassName: 'system-node-critical' }],
    ['tolerates everything', { tolerations: [{ operator: 'Exists' }] }],
    ['never ends', { terminationGracePeriodSeconds: 9_000_000_000_000 }],
  ]
}

/** Names that every JavaScript object has, wherever a pod may name something. */
function prototypes(): readonly NamedSpec[] {
  const asking = (name: string) => ({ containers: [container({ requests: { [name]: '1' }, limits: { [name]: '1' } })] })
  return prototypeNames.flatMap((name): readonly NamedSpec[] => [
    [`asks for the resource ${name}`, asking(name)],
    [`asks for the resource hostile.example/${name}`, asking(`hostile.example/${name}`)],
    [`selects the label ${name}`, { nodeSelector: { [name]: 'x' } }],
    [`requires the label ${name}`, requiring([expression(name, 'NotIn', ['x'])])],
    [`prefers the label ${name}`, preferring(name, 'In', ['x'])],
    [`is spread over ${name}`, { topologySpreadConstraints: [spread(name, 'DoNotSchedule')] }],
    [`would be spread over ${name}`, { topologySpreadConstraints: [spread(name, 'ScheduleAnyway')] }],
    [`tolerates ${name}`, { tolerations: [{ key: name, operator: 'Exists' }] }],
    [`claims a device ${name}`, { resourceClaims: [{ name: name.toLowerCase(), resourceClaimName: 'none' }] }],
  ])
}

/** Metadata that planners read. */
function named(): readonly (readonly [string, Json])[] {
  return prototypeNames.flatMap((name): readonly (readonly [string, Json])[] => [
    [`is labelled with ${name}`, { labels: { app: 'hostile', [name]: name } }],
    [`is annotated with ${name}`, { annotations: { [name]: name, 'karpenter.sh/disruption-cost': name } }],
    [`is owned by a ${name}`, { ownerReferences: [{ apiVersion: 'v1', kind: name, name, uid: name }] }],
  ])
}

/** A volume whose topology holds what the API server does not look into. */
function volumes(): readonly HostileObject[] {
  return Object.entries(brokenValues).map(([what, value], index) => {
    const name = nameOf('volume', index)
    const values = [value]
    const storageClass = {
      apiVersion: 'storage.k8s.io/v1',
      kind: 'StorageClass',
      metadata: { name },
      provisioner: 'disk.csi.azure.com',
      volumeBindingMode: 'WaitForFirstConsumer',
      allowedTopologies: [{ matchLabelExpressions: [{ key: windowsBuild, values }] }],
    }
    const claim = {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name, namespace: hostileNamespace },
      spec: {
        accessModes: ['ReadWriteOnce'],
        storageClassName: name,
        resources: { requests: { storage: '1Gi' } },
      },
    }
    const spec = { volumes: [{ name: 'v', persistentVolumeClaim: { claimName: name } }] }
    return { ...pod(`claims a volume for ${what}`, spec), needs: [storageClass, claim] }
  })
}

function pod(what: string, spec: Json, metadata: Json = {}): HostileObject {
  return {
    kind: 'Pod',
    what,
    body: {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { namespace: hostileNamespace, labels: { app: 'hostile' }, ...metadata },
      spec: { terminationGracePeriodSeconds: 0, containers: [container()], ...spec },
    },
  }
}

export function hostilePods(): readonly HostileObject[] {
  const specs = [...brokenPreferences(), ...impossible(), ...prototypes(), ...expensivePods()]
  const all = [
    ...specs.map(([what, spec]) => pod(what, spec)),
    ...named().map(([what, metadata]) => pod(what, {}, metadata)),
    ...volumes(),
  ]
  return all.map(({ body, ...rest }, index) => {
    const metadata = { name: nameOf('pod', index), ...(body['metadata'] as Json) }
    return { ...rest, body: { ...body, metadata } }
  })
}
