import { ledgerMaps } from '../../core/cost/ledger-format.ts'
import { cancellationsMap } from '../../core/node-claim/cancellation.ts'
import { withheldMapName } from '../withheld-machines.ts'
import { type Grantee, on, type Right, type Rule } from './right.ts'
import {
  admin,
  crds,
  edit,
  evaluationMaps,
  namespaceUid,
  operator,
  planMaps,
  ui,
  view,
  waitingMap,
} from './rights-of-people.ts'

export type { Grantee, Right, RightCondition } from './right.ts'

const karpenter = on('karpenter.sh')
const karpenterAzure = on('karpenter.azure.com')
const cluster = on('')
const apps = on('apps')
const autoscaling = on('autoscaling.x-k8s.io')
const policy = on('policy')
const storage = on('storage.k8s.io')
const own = on('', 'own')
const ownLeases = on('coordination.k8s.io', 'own')

const clusterUid = cluster('namespaces', 'get', { why: "its UID is the cluster's identity", names: ['kube-system'] })
const marker = on('apiextensions.k8s.io')('customresourcedefinitions', 'get', {
  why: 'which installation works in the cluster, in an annotation',
  names: ['nodepools.karpenter.sh'],
})
const events = cluster('events', 'create', 'events')
const limited = 'the policy joiner-own-objects limits the names'
const createMaps = own('configmaps', 'create', `those below; ${limited}`)
const createLeases = ownLeases('leases', 'create', `those below; ${limited}`)

/** Registers, drains and ends nodes. */
const core: readonly Rule[] = [
  karpenter(
    'nodeclaims',
    'get list watch patch delete',
    'finalizers, holds; claims that expire, fail or are disrupted',
  ),
  karpenter('nodepools', 'get list watch patch', 'recent registrations, in an annotation'),
  karpenter('nodeclaims/status nodepools/status', 'patch', 'conditions'),
  karpenter('nodeclaims/finalizers', 'update', 'a Node blocks the deletion of its NodeClaim'),
  karpenterAzure('aksnodeclasses', 'list watch', 'the version of the class that a node was registered with'),
  cluster('nodes', 'get list watch patch delete', 'labels, taints, finalizers; the Node of a machine that goes'),
  cluster('pods', 'list watch delete', 'drains; deletes pods when their time is over or their machine is gone'),
  cluster('pods/eviction', 'create', 'drains'),
  policy('poddisruptionbudgets', 'list watch', 'an eviction is retried when its budget changes'),
  storage('volumeattachments', 'list watch', 'a drain waits for volumes'),
  cluster('persistentvolumeclaims', 'get', 'which volumes stay with pods that stay'),
  events,
  clusterUid,
  marker,
  namespaceUid,
  createMaps,
  own('configmaps', 'get patch', { why: 'pauses', names: ['joiner-pauses'] }),
  own('configmaps', 'get patch', { why: 'cancellations of lifecycles in Temporal', names: [cancellationsMap] }),
]

/** Pokes workflows on changes, and publishes metrics of the cluster. */
const bridge: readonly Rule[] = [
  karpenter('nodeclaims', 'list watch', 'starts and pokes lifecycles'),
  karpenter('nodepools', 'get list watch', 'counts nodes and resources of each pool; metrics'),
  karpenter('nodepools/status', 'patch', 'counts nodes and resources of each pool'),
  karpenter('nodeoverlays', 'list watch', { why: 'prices of nodes', when: 'overlays' }),
  autoscaling('capacitybuffers', 'list watch', { why: 'metrics of conditions', when: 'buffers' }),
  karpenterAzure('aksnodeclasses', 'list watch', 'metrics of conditions; prices of nodes'),
  cluster('nodes', 'list watch', 'pokes the lifecycle of a Node that goes'),
  cluster('pods', 'list watch', 'metrics of pods and of what nodes hold'),
  clusterUid,
  marker,
  namespaceUid,
  own('configmaps', 'list watch', { why: 'metric of what pools cost', names: ['joiner-catalogue', 'joiner-prices'] }),
  createLeases,
  ownLeases('leases', 'get patch', { why: 'one process bridges', names: ['joiner-bridge'] }),
]

const localDns = 'whether localDNS may be on'
const whenLocalDns = { when: 'localDnsPreferred' } as const

/** Creates and deletes VMs, registers nodes, and updates the status of node classes and pools. */
const azure: readonly Rule[] = [
  karpenter('nodeclaims', 'get list watch patch delete', 'what was launched; claims whose VM is gone'),
  karpenter('nodepools', 'get list watch patch', 'hashes and recent registrations, in annotations'),
  karpenter('nodeclaims/status nodepools/status', 'patch', 'conditions'),
  karpenter('nodeclaims/finalizers', 'update', 'a Node blocks the deletion of its NodeClaim'),
  karpenterAzure('aksnodeclasses', 'get list watch patch', 'finalizer and hashes'),
  karpenter('nodeoverlays', 'get list watch', { why: 'prices of offerings', when: 'overlays' }),
  karpenter('nodeoverlays/status', 'patch', { why: 'conditions', when: 'overlays' }),
  karpenterAzure('aksnodeclasses/status', 'patch', 'status'),
  cluster('nodes', 'get list watch patch delete', 'registers a Node that joins; lets go the Node whose VM it deleted'),
  events,
  clusterUid,
  marker,
  namespaceUid,
  on('', 'kube-system')(
    'secrets',
    'create delete',
    'bootstrap tokens; the policy joiner-bootstrap-tokens allows no other Secret',
  ),
  on('', 'kube-system')('services', 'get', {
    why: 'the address of DNS',
    names: ['kube-dns'],
    when: 'dnsServiceIpUnset',
  }),
  on('apps', 'kube-system')('daemonsets', 'get', { why: localDns, names: ['node-local-dns'], ...whenLocalDns }),
  on('networking.k8s.io')('networkpolicies', 'list', { why: localDns, ...whenLocalDns }),
  on('cilium.io')('ciliumnetworkpolicies ciliumclusterwidenetworkpolicies', 'list', { why: localDns, ...whenLocalDns }),
  on('crd.projectcalico.org')('networkpolicies globalnetworkpolicies', 'list', { why: localDns, ...whenLocalDns }),
  createMaps,
  own('configmaps', 'get patch', {
    why: 'what Azure answered, for other processes and restarts; ends pauses that are over',
    names: [
      'joiner-catalogue',
      'joiner-prices',
      'joiner-quota',
      'joiner-reservations',
      'joiner-image-versions',
      'joiner-late-lists',
      'joiner-pauses',
    ],
  }),
  own('configmaps', 'get patch', {
    why: 'machines that run pods without a NodeClaim, for joiner status and doctor',
    names: [withheldMapName],
  }),
  own('configmaps', 'get list watch patch', {
    why: 'offerings that Azure refused',
    names: ['joiner-unavailable-offerings'],
  }),
  own('configmaps', 'get', { why: 'when nodes may get new images', names: ['upcoming-maintenance-window'] }),
  own('pods', 'get', {
    why: 'joiner doctor, run in a pod: whether Temporal waits for its volume',
    names: ['joiner-temporal-0'],
    when: 'bundledTemporal',
  }),
  createLeases,
  ownLeases('leases', 'get patch', { why: 'one process maintains the cluster', names: ['joiner-maintenance'] }),
]

const whenBuffers = { when: 'buffers' } as const
const whenSpread = { when: 'defaultSpread' } as const

const inPod = 'joiner status, why pod and capacity list, run in a pod of joiner-planner'
/** Decides, and creates NodeClaims. */
const planner: readonly Rule[] = [
  karpenter('nodeclaims', 'get list watch create patch delete', 'creates claims, stamps candidates, undoes commands'),
  karpenter('nodepools', 'get list watch', 'plans; reads limits again'),
  karpenter('nodeclaims/status nodepools/status', 'patch', 'conditions, time of the last pod event'),
  karpenter('nodepools/finalizers', 'update', 'a NodeClaim blocks the deletion of its NodePool'),
  karpenter('nodeoverlays', 'list watch', { why: 'plans', when: 'overlays' }),
  autoscaling('capacitybuffers', 'get list watch', { why: 'which room to keep', ...whenBuffers }),
  autoscaling('capacitybuffers/status', 'patch', { why: 'what became of it', ...whenBuffers }),
  cluster('podtemplates', 'list watch', { why: 'for what pods', ...whenBuffers }),
  apps('deployments replicasets statefulsets', 'list watch', { why: 'for what pods, and how many', ...whenBuffers }),
  karpenterAzure('aksnodeclasses', 'list watch', 'plans'),
  cluster('nodes', 'get list watch patch', 'plans; taints nodes that are to be disrupted'),
  cluster('pods persistentvolumeclaims persistentvolumes namespaces', 'list watch', 'plans'),
  apps('daemonsets', 'list watch', 'what each node will hold'),
  policy('poddisruptionbudgets', 'list watch', 'which nodes can be disrupted'),
  storage('storageclasses csinodes volumeattachments', 'list watch', 'where volumes can be attached'),
  cluster('services replicationcontrollers', 'list watch', { why: 'which pods are spread together', ...whenSpread }),
  apps('replicasets statefulsets', 'list watch', { why: 'which pods are spread together', ...whenSpread }),
  events,
  clusterUid,
  marker,
  namespaceUid,
  createMaps,
  own('configmaps', 'get patch', { why: 'obeys pauses, ends those that are over', names: ['joiner-pauses'] }),
  own('configmaps', 'get patch', { why: 'what the last evaluation found, for joiner why', names: evaluationMaps }),
  own('configmaps', 'get patch', { why: 'why pods wait, for joiner why', names: [waitingMap] }),
  own('configmaps', 'get patch', { why: 'what nodes cost and who shared them, for joiner cost', names: ledgerMaps }),
  own('configmaps', 'get patch delete', { why: 'plans that an operator asked for', names: planMaps }),
  own('configmaps', 'get patch', { why: 'objects that crashed passes', names: ['joiner-quarantine'] }),
  own('configmaps', 'get patch', { why: 'nodes that kube-scheduler refused', names: ['joiner-node-refusals'] }),
  own('configmaps', 'list watch', {
    why: 'sizes, prices, quota and refused offerings',
    names: ['joiner-catalogue', 'joiner-prices', 'joiner-quota', 'joiner-reservations', 'joiner-unavailable-offerings'],
  }),
  own('configmaps', 'get', {
    why: inPod,
    names: [
      'joiner-catalogue',
      'joiner-image-versions',
      'joiner-late-lists',
      'joiner-prices',
      'joiner-quota',
      'joiner-reservations',
      'joiner-unavailable-offerings',
      cancellationsMap,
      withheldMapName,
    ],
  }),
  cluster('pods', 'get', inPod),
  createLeases,
  ownLeases('leases', 'get patch', {
    why: 'one process plans, and one attempt of it writes',
    names: ['joiner-planner', 'joiner-planner-fence', 'joiner-disruption-fence'],
  }),
]

/** Serves the API server's conversion webhook. */
const conversion: readonly Rule[] = [
  on('apiextensions.k8s.io')('customresourcedefinitions', 'list watch patch', {
    why: 'where the webhook is, whom to trust, whether v1beta1 is served; the policy joiner-conversion allows no more',
    names: ['nodepools.karpenter.sh', 'nodeclaims.karpenter.sh'],
  }),
  marker,
  namespaceUid,
  own('secrets', 'list watch patch', {
    why: 'certificate, key and path of the webhook, in a Secret that the chart creates',
    names: ['joiner-conversion'],
  }),
]

/** Every rule that the chart grants; a test compares the list with the rendered chart. */
export const rights: readonly Right[] = Object.entries({
  core,
  bridge,
  azure,
  planner,
  conversion,
  ui,
  crds,
  operator,
  view,
  edit,
  admin,
} satisfies Record<Grantee, readonly Rule[]>).flatMap(([to, rules]) =>
  rules.map((rule) => ({ ...rule, to: to as Grantee })),
)

/** Objects that rules name and that others create: AKS, and Helm. */
const ofOthers: readonly string[] = ['upcoming-maintenance-window', 'joiner-settings', 'joiner-files']

/** Returns the names of ConfigMaps or Leases in the namespace of the release that Joiner's processes and commands create. */
export function ownedNames(resource: 'configmaps' | 'leases'): ReadonlySet<string> {
  const own = rights.filter(({ where, resources }) => where === 'own' && resources.includes(resource))
  return new Set(own.flatMap(({ names = [] }) => names).filter((name) => !ofOthers.includes(name)))
}
