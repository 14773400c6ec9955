import { ledgerMaps } from '../../core/cost/ledger-format.ts'
import { planMapName, planPlaces } from '../../core/disruption/plan/plan-requests.ts'
import { verdictMapName, verdictShards } from '../../core/disruption/verdicts/verdict.ts'
import { cancellationsMap } from '../../core/node-claim/cancellation.ts'
import { waitingMapName } from '../../core/scheduling/explain/waiting-classes.ts'
import { withheldMapName } from '../withheld-machines.ts'
import { on, type Rule } from './right.ts'

const karpenter = on('karpenter.sh')
const karpenterAzure = on('karpenter.azure.com')
const definitions = on('apiextensions.k8s.io')
const cluster = on('')
const policy = on('policy')
const storage = on('storage.k8s.io')
const own = on('', 'own')

/** ConfigMaps with what evaluations found. */
export const evaluationMaps = Array.from({ length: verdictShards }, (_, shard) => verdictMapName(shard))
/** ConfigMaps that only processes use, of which `joiner status` and `joiner doctor` say whether they can be read. */
const processMaps = [
  'joiner-catalogue',
  'joiner-quota',
  'joiner-reservations',
  'joiner-image-versions',
  'joiner-node-refusals',
] as const
/** ConfigMap with why pods wait. */
export const waitingMap = waitingMapName
/** ConfigMaps with plans. */
export const planMaps = planPlaces.map(planMapName)
/** Each grantee reads whose installation this is. */
export const namespaceUid = own('namespaces', 'get', 'its UID identifies this installation')

/** Jobs of the chart that run `joiner admin crds apply` and `joiner admin crds release`. */
export const crds: readonly Rule[] = [
  definitions('customresourcedefinitions', 'create', 'those that are missing; no name can be given here'),
  definitions('customresourcedefinitions', 'get patch', {
    why: 'brings the CRDs to the version of the image; ends their conversion before an uninstall',
    names: [
      'aksnodeclasses.karpenter.azure.com',
      'capacitybuffers.autoscaling.x-k8s.io',
      'nodeclaims.karpenter.sh',
      'nodeoverlays.karpenter.sh',
      'nodepools.karpenter.sh',
    ],
  }),
  definitions('customresourcedefinitions/status', 'patch', {
    why: 'versions that nothing is stored in any more',
    names: ['nodeclaims.karpenter.sh', 'nodepools.karpenter.sh'],
  }),
  karpenter('nodepools nodeclaims', 'list patch', 'stores objects of old versions as v1 before nobody converts them'),
  namespaceUid,
]

const ofJoiner = "Joiner's settings, and how Temporal is reached"
/** Reads and writes of the command line, with the rights of its user. */
export const operator: readonly Rule[] = [
  karpenter('nodepools nodeclaims', 'get list watch', 'budgets, node, pause, quota, top, ui, why'),
  karpenterAzure('aksnodeclasses', 'list', 'quota, ui'),
  cluster('nodes pods', 'get list watch', 'budgets, pause, top, ui, why'),
  cluster('events', 'list', 'ui, why'),
  storage('volumeattachments', 'list', 'ui, why node: what a drain waits for'),
  policy('poddisruptionbudgets', 'list', 'ui, why'),
  own('configmaps', 'get', {
    why: 'budgets, status, top, ui, why',
    names: ['joiner-late-lists', 'joiner-pauses', 'joiner-prices', waitingMap, ...evaluationMaps],
  }),
  own('configmaps', 'get', { why: 'doctor, status', names: [cancellationsMap, withheldMapName, ...processMaps] }),
  own('configmaps', 'get', { why: 'cost, ui', names: ledgerMaps }),
  own('configmaps', 'create', 'apply, of a plan from a file'),
  own('configmaps', 'get patch delete', { why: 'plan, apply', names: planMaps }),
  own('configmaps', 'get patch', { why: 'quarantine list, quarantine clear, status', names: ['joiner-quarantine'] }),
  own('configmaps', 'get patch', { why: 'capacity list, capacity clear', names: ['joiner-unavailable-offerings'] }),
  own('configmaps', 'get', { why: ofJoiner, names: ['joiner-settings', 'joiner-files'] }),
  on('coordination.k8s.io', 'own')('leases', 'get', {
    why: 'doctor, status: who leads, and by which clock',
    names: ['joiner-bridge', 'joiner-maintenance', 'joiner-planner'],
  }),
  on('apps', 'own')('deployments', 'get', { why: ofJoiner, names: ['joiner', 'joiner-azure'] }),
]

const shared = { why: 'the page of joiner ui', when: 'uiEnabled' } as const
/** Reads of the page that runs in the cluster; it writes nothing. */
export const ui: readonly Rule[] = [
  karpenter('nodepools nodeclaims', 'get list watch', shared),
  karpenterAzure('aksnodeclasses', 'list', shared),
  cluster('nodes', 'get list watch', shared),
  cluster('pods', 'list watch', shared),
  cluster('events', 'list', shared),
  policy('poddisruptionbudgets', 'list', shared),
  storage('volumeattachments', 'list', shared),
  own('configmaps', 'get', {
    ...shared,
    names: ['joiner-pauses', 'joiner-prices', waitingMap, ...evaluationMaps, ...ledgerMaps],
  }),
]

const aggregated = "part of Kubernetes' own role of this name"
/** What people get by Kubernetes' own role of this name. */
export const view: readonly Rule[] = [
  karpenter('nodepools nodeclaims nodeoverlays', 'get list watch', aggregated),
  karpenterAzure('aksnodeclasses', 'get list watch', aggregated),
]
/** What people get by Kubernetes' own role of this name. */
export const edit: readonly Rule[] = [
  karpenter('nodepools nodeoverlays', 'create update patch delete', aggregated),
  karpenter('nodeclaims', 'update patch delete', aggregated),
  karpenterAzure('aksnodeclasses', 'create update patch delete', aggregated),
]
/** What people get by Kubernetes' own role of this name. */
export const admin: readonly Rule[] = [
  karpenter('nodeclaims', 'create', `${aggregated}: each is a VM that no NodePool limits`),
  karpenter('nodepools nodeclaims nodeoverlays', 'deletecollection', aggregated),
  karpenterAzure('aksnodeclasses', 'deletecollection', aggregated),
]
