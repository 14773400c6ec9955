import { describe, expect, it } from 'vitest'
import { sampleMeta, samplePod, samplePool, sampleTime, sampleType } from '../../test/samples/sample-objects.ts'
import type { Pod } from '../objects.ts'
import { schedulingSnapshot } from './cluster.ts'
import { indexOf } from './cluster-index/index-of.ts'
import { unschedulableText } from './unschedulable-text.ts'

const claimNamed = (name: string) => ({
  kind: 'PersistentVolumeClaim' as const,
  metadata: sampleMeta(name, { namespace: 'default' }),
  storageClassName: 'disks',
})

/** A pod that stores in the claim `sole`, which is for one pod at a time. */
const pod = (name: string, change: Parameters<typeof samplePod>[1] = {}, claims = ['sole']) =>
  samplePod(name, { persistentVolumeClaims: claims, ...change })
const bound = (name: string, change: Parameters<typeof samplePod>[1] = {}) =>
  pod(name, { nodeName: 'a', phase: 'Running', conditions: [], ...change })
const deleting = { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } }

/** What a pass says of pods that it leaves out, by name; the same from the objects and from their index. */
function leftOut(...pods: readonly Pod[]): Readonly<Record<string, string>> {
  const objects = {
    pods,
    nodes: [],
    nodeClaims: [],
    nodePools: [samplePool('default', { conditions: [{ type: 'Ready', status: 'True' }] })],
    daemonSets: [],
    podDisruptionBudgets: [],
    persistentVolumeClaims: [{ ...claimNamed('sole'), isOncePod: true as const }, claimNamed('shared')],
    persistentVolumes: [],
    storageClasses: [
      { kind: 'StorageClass' as const, metadata: sampleMeta('disks'), provisioner: 'd', allowedTopologies: [] },
    ],
  }
  const instanceTypes = new Map([['default', [sampleType('small', 2)]]])
  const found = [
    schedulingSnapshot({ ...objects, instanceTypes }, { now: sampleTime }),
    indexOf(objects).snapshot(instanceTypes, { now: sampleTime }),
  ].map(({ ignored = new Map() }) =>
    Object.fromEntries([...ignored].map(([{ metadata }, cause]) => [metadata.name, unschedulableText(cause)])),
  )
  expect(found[1]).toEqual(found[0])
  return found[0] ?? {}
}

const usedBy = (name: string) =>
  `ignoring pod, persistentvolumeclaim with access mode ReadWriteOncePod is used by another pod (PersistentVolumeClaim=default/sole, Pod=default/${name})`

describe('a claim for one pod at a time', () => {
  it.each<[string, readonly Pod[], Readonly<Record<string, string>>]>([
    ['is free', [pod('p')], {}],
    ['is used by a pod on a node', [pod('p'), bound('user')], { p: usedBy('user') }],
    ['is used by a pod that is being deleted, and soon free', [pod('p'), bound('user', deleting)], {}],
    ['was used by a pod that ended', [pod('p'), bound('user', { phase: 'Succeeded' })], {}],
    ['is that of another namespace', [pod('p', { metadata: { namespace: 'other' } }, []), bound('user')], {}],
    ['is beside one that many may use', [pod('p', {}, ['shared', 'sole']), bound('user')], { p: usedBy('user') }],
    ['is not the one that is used', [pod('p', {}, ['shared']), bound('user', {}), pod('q', {}, ['shared'])], {}],
    [
      'is wanted by several: the most important comes first, then the oldest',
      [
        pod('old'),
        pod('young', { metadata: { creationTimestamp: '2027-01-01T00:00:00Z' } }),
        pod('important', { priority: 5, metadata: { creationTimestamp: '2027-01-01T00:00:00Z' } }),
      ],
      { old: usedBy('important'), young: usedBy('important') },
    ],
    [
      'is wanted by one that is left out itself',
      [pod('broken', { priority: 5, nodeSelector: { '/': 'no key' } }), pod('p')],
      { broken: expect.stringContaining('ignoring pod, ') },
    ],
    ['is wanted by one that will never run', [pod('p'), pod('gone', { priority: 5, ...deleting })], {}],
  ])('%s', (_, pods, expected) => {
    expect(leftOut(...pods)).toEqual(expected)
  })
})
