import { describe, expect, it } from 'vitest'
import {
  ownedBy,
  sampleClaim,
  sampleCondition,
  sampleMeta,
  sampleNode,
  samplePod,
  sampleTime,
  sampleType,
} from '../../test/samples/sample-objects.ts'
import type { NodeClaim, Pod } from '../objects.ts'
import { parseResources } from '../resources.ts'
import { hasPromisedRoom, type MadeNode, nodeVerdict } from './node-verdict.ts'
import { Storage } from './volumes.ts'

const second = 1000
const made = (readyMs = sampleTime): NodeClaim =>
  sampleClaim('a', {
    status: {
      conditions: [
        sampleCondition('Registered', 'True', sampleTime - 5 * second),
        sampleCondition('Initialized', 'True', readyMs),
      ],
    },
  })
const judged = (seconds: number, message = 'no'): Pick<Pod, 'unschedulable'> => ({
  unschedulable: { atMs: sampleTime + seconds * second, message },
})

describe('the verdict of kube-scheduler on a node that was made for a pod', () => {
  it.each([
    // Seconds of its text and of now, from the initialization on.
    ['is a refusal by a text of after the initialization', judged(1), 1, 'refused'],
    ['is open in the second of the initialization', judged(0), 1, 'awaited'],
    ['is a refusal where that text still stands when kube-scheduler has had time', judged(0), 15, 'refused'],
    ['is a refusal by a text of after the registration, then', judged(-3), 15, 'refused'],
    ['is open while kube-scheduler has written nothing since the Node came', judged(-6), 300, 'awaited'],
    ['is a refusal by an equal text of an earlier refusal', judged(-100, 'as before'), 15, 'refused'],
    ['is open in the beginning, even with an equal text', judged(-100, 'as before'), 14, 'awaited'],
    ['is a refusal when kube-scheduler has tried every pod again', judged(-600), 330, 'refused'],
  ])('%s', (_, pod, seconds, kind) => {
    expect(nodeVerdict(pod, made(), { now: sampleTime + seconds * second, before: 'as before' })?.kind).toBe(kind)
  })

  it('does not exist before the node is initialized', () => {
    const starting = sampleClaim('a', { status: { conditions: [sampleCondition('Initialized', 'Unknown')] } })
    expect(nodeVerdict(judged(1), starting, { now: sampleTime })).toBeUndefined()
  })
})

const driver = 'disk.csi.azure.com'
const claimsOf = (...names: readonly string[]) => ({ persistentVolumeClaims: names })
const storage = new Storage({
  persistentVolumeClaims: ['v1', 'v2', 'v3', 'v4', 'v5'].map((name) => ({
    kind: 'PersistentVolumeClaim',
    metadata: sampleMeta(name, { namespace: 'default' }),
    storageClassName: 'disks',
  })),
  persistentVolumes: [],
  storageClasses: [{ kind: 'StorageClass', metadata: sampleMeta('disks'), provisioner: driver, allowedTopologies: [] }],
})
const node = (change: Partial<MadeNode> = {}): MadeNode => ({
  claim: sampleClaim('a'),
  node: sampleNode('a'),
  pods: [],
  type: { ...sampleType('small', 4), volumeAttachmentLimits: { [driver]: 4 } },
  storage,
  ...change,
})
const selector = { topologyKey: 'kubernetes.io/hostname', labelSelector: {} }
const apart = { affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [selector] } } }
const running = (change: Parameters<typeof samplePod>[1]) => samplePod('other', { phase: 'Running', ...change })
const csiNode = { kind: 'CSINode' as const, metadata: sampleMeta('a'), drivers: [{ name: driver, count: 1 }] }
const tainted = sampleNode('a', { taints: [{ key: 'sick', effect: 'NoSchedule' }] })
const smaller = sampleNode('a', { allocatable: { cpu: '200m', memory: '16Gi', pods: 110 } })

describe('the room that a NodeClaim promises', () => {
  it.each([
    ['is there on an empty node', {}, node(), true],
    [
      'is gone when another pod took it',
      { requests: { cpu: 3 } },
      node({ pods: [running({ requests: { cpu: 2 } })] }),
      false,
    ],
    [
      'is back when that pod has ended',
      { requests: { cpu: 3 } },
      node({ pods: [running({ phase: 'Succeeded', requests: { cpu: 2 } })] }),
      true,
    ],
    ['is there though the kubelet reports less', { requests: { cpu: 3 } }, node({ node: smaller }), true],
    ['is there though the CSINode says fewer', claimsOf('v1', 'v2'), node({ csiNode }), true],
    [
      'is gone when disks of another pod took it',
      claimsOf('v1', 'v2'),
      node({ pods: [running(claimsOf('v3', 'v4', 'v5'))] }),
      false,
    ],
    [
      'is there when the disks are the same',
      claimsOf('v1', 'v2'),
      node({ pods: [running(claimsOf('v1', 'v2', 'v3', 'v4'))] }),
      true,
    ],
    [
      'is gone when a host port is',
      { hostPorts: [{ hostPort: 80 }] },
      node({ pods: [running({ hostPorts: [{ hostPort: 80 }] })] }),
      false,
    ],
    ['is there though the node has another taint', {}, node({ node: tainted }), true],
    ['is in doubt for a pod apart from others', apart, node(), false],
    ['is in doubt where such a pod runs', {}, node({ pods: [running(apart)] }), false],
    [
      'is not in doubt for a daemon of such a kind',
      {},
      node({ pods: [running({ ...apart, metadata: ownedBy('DaemonSet') })] }),
      true,
    ],
    [
      'is there for a pod apart from others where the CSINode falls short',
      { ...apart, ...claimsOf('v1', 'v2') },
      node({ csiNode }),
      true,
    ],
    ['is there for it where the kubelet falls short', apart, node({ node: smaller }), true],
    ['is there for it where a taint came', apart, node({ node: tainted }), true],
  ])('%s', (_, change, one, expected) => {
    expect(hasPromisedRoom(samplePod('p', change), one, false)).toBe(expected)
  })

  it('is not in doubt where the scheduler has just planned the pod', () => {
    expect(hasPromisedRoom(samplePod('p', apart), node(), true)).toBe(true)
  })

  it('does not count the pod itself, and not what the type did not promise', () => {
    const pod = samplePod('p', { requests: { cpu: 3 } })
    expect(hasPromisedRoom(pod, node({ pods: [pod] }), false)).toBe(true)
    const small = sampleClaim('a', { status: { allocatable: parseResources({ cpu: 2, memory: '16Gi', pods: 110 }) } })
    expect(hasPromisedRoom(pod, node({ claim: small }), false)).toBe(false)
  })
})
