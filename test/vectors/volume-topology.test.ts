import { expect, test } from 'vitest'
import { readSuite } from './packs.ts'
import { answer, type VectorScenario } from './scheduling.ts'

// Names say which tests of upstream's suite provisioning, Volume Topology Requirements, they answer to.
type Json = Readonly<Record<string, unknown>>

const base = (readSuite('scheduling') as readonly VectorScenario[]).find(
  ({ name }) => name === 'volumes-ephemeral-volume',
)
const zoneKey = 'topology.kubernetes.io/zone'
const zones = (...names: readonly string[]) => ({
  key: zoneKey,
  operator: 'In',
  values: names.map((name) => `eastus-${name}`),
})

const storageClass = (provisioner = 'disk.csi.azure.com', allowed: readonly string[] = ['eastus-2', 'eastus-3']) => ({
  apiVersion: 'storage.k8s.io/v1',
  kind: 'StorageClass',
  metadata: { name: 'zoned' },
  provisioner,
  volumeBindingMode: 'WaitForFirstConsumer',
  allowedTopologies: [{ matchLabelExpressions: [{ key: zoneKey, values: allowed }] }],
})
const claim = (name: string, volumeName?: string) => ({
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata: {
    name,
    namespace: 'default',
    ...(volumeName === undefined ? {} : { annotations: { 'pv.kubernetes.io/bind-completed': 'yes' } }),
  },
  spec: { storageClassName: 'zoned', ...(volumeName === undefined ? {} : { volumeName }) },
  status: { phase: volumeName === undefined ? 'Pending' : 'Bound' },
})
const volume = (source: Json, expressions: readonly Json[]) => ({
  apiVersion: 'v1',
  kind: 'PersistentVolume',
  metadata: { name: 'volume' },
  spec: { ...source, nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: expressions }] } } },
})
const disk = { csi: { driver: 'disk.csi.azure.com', volumeHandle: 'disk' } }
const onOtherHost = [{ key: 'kubernetes.io/hostname', operator: 'In', values: ['some-other-node'] }]
/** The claim of a pod's generic ephemeral volume has the names of both. */
const ephemeral = { name: 'scratch', ephemeral: { volumeClaimTemplate: { spec: { storageClassName: 'zoned' } } } }
const ordinary = { name: 'data', persistentVolumeClaim: { claimName: 'own' } }

/** The zones of the NodeClaim for a pod with this volume, among these objects; undefined: it gets none. */
function zonesOf(podVolume: Json, objects: readonly object[], terms: readonly (readonly Json[])[] = []) {
  if (base === undefined) throw new Error('the golden vectors have no scenario "volumes-ephemeral-volume"')
  const pools = base.objects.filter((object) => (object as Json)['kind'] === 'NodePool')
  const nodeSelectorTerms = terms.map((matchExpressions) => ({ matchExpressions }))
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p', namespace: 'default', uid: 'p' },
    spec: {
      containers: [{ name: 'main', resources: { requests: { cpu: '1' } } }],
      volumes: [podVolume],
      ...(terms.length === 0
        ? {}
        : { affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } } }),
    },
    status: { phase: 'Pending', conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }] },
  }
  const [one] = answer({ ...base, objects: [...pools, ...objects, pod] }).newNodeClaims
  if (one === undefined) return undefined
  const entry = one.requirements.find(({ key }) => key === zoneKey) as { values?: readonly string[] } | undefined
  return entry?.values ?? 'any'
}

test.each<[string, Json, readonly object[], readonly (readonly Json[])[], readonly string[] | 'any' | undefined]>([
  [
    'should schedule to storage class zones if volume does not exist (ephemeral volume)',
    ephemeral,
    [storageClass(), claim('p-scratch')],
    [[zones('1', '3')]],
    ['eastus-3'],
  ],
  [
    'should not schedule if storage class zones are incompatible (ephemeral volume)',
    ephemeral,
    [storageClass(), claim('p-scratch')],
    [[zones('1')]],
    undefined,
  ],
  [
    'should schedule to volume zones if volume already bound (ephemeral volume)',
    ephemeral,
    [storageClass(), claim('p-scratch', 'volume'), volume(disk, [zones('3')])],
    [],
    ['eastus-3'],
  ],
  [
    'should not schedule if volume zones are incompatible (ephemeral volume)',
    ephemeral,
    [storageClass(), claim('p-scratch', 'volume'), volume(disk, [zones('3')])],
    [[zones('1')]],
    undefined,
  ],
  [
    'should ignore hostname affinity scheduling when using local path volumes, when using hostpath volumes',
    ordinary,
    [
      storageClass('kubernetes.io/no-provisioner'),
      claim('own', 'volume'),
      volume({ hostPath: { path: '/data' } }, onOtherHost),
    ],
    [],
    'any',
  ],
  [
    'should ignore hostname affinity scheduling when using local path volumes (ephemeral volume), when using local volumes',
    ephemeral,
    [
      storageClass('kubernetes.io/no-provisioner'),
      claim('p-scratch', 'volume'),
      volume({ local: { path: '/data' } }, onOtherHost),
    ],
    [],
    'any',
  ],
  [
    'should ignore hostname affinity scheduling when using local path volumes (ephemeral volume), when using hostpath volumes',
    ephemeral,
    [
      storageClass('kubernetes.io/no-provisioner'),
      claim('p-scratch', 'volume'),
      volume({ hostPath: { path: '/data' } }, onOtherHost),
    ],
    [],
    'any',
  ],
  [
    'should not ignore hostname affinity when using non-local path volumes',
    ordinary,
    [storageClass(), claim('own', 'volume'), volume(disk, onOtherHost)],
    [],
    undefined,
  ],
  [
    'should not relax an added volume topology zone node-selector away',
    ordinary,
    [storageClass(), claim('own', 'volume'), volume(disk, [zones('3')])],
    [
      [{ key: 'example.com/label', operator: 'In', values: ['unsupported'] }],
      [{ key: 'karpenter.sh/capacity-type', operator: 'In', values: ['on-demand'] }],
    ],
    ['eastus-3'],
  ],
])('%s', (_, podVolume, objects, terms, expected) => {
  expect(zonesOf(podVolume, objects, terms)).toEqual(expected)
})
