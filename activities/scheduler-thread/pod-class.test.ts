import { describe, expect, it } from 'vitest'
import type { Pod } from '../../core/objects.ts'
import { sampleMeta, samplePod } from '../../test/samples/sample-objects.ts'
import { podClass } from './pod-fingerprint.ts'

const volumeClaim = (name: string, storageClassName: string, volumeName?: string) =>
  [
    `default/${name}`,
    {
      kind: 'PersistentVolumeClaim' as const,
      metadata: sampleMeta(name),
      storageClassName,
      ...(volumeName && { volumeName }),
    },
  ] as const
const persistentVolumeClaims = new Map([
  volumeClaim('data-0', 'disks'),
  volumeClaim('data-1', 'disks', 'a-volume'),
  volumeClaim('files', 'files'),
])
const classOf = (pod: Pod) => podClass({ persistentVolumeClaims: persistentVolumeClaims as never }, pod)
const labelled = (labels: Readonly<Record<string, string>>) => ({ metadata: { labels: { app: 'web', ...labels } } })
const using = (...names: readonly string[]) => ({ persistentVolumeClaims: names })

describe('a class of pods', () => {
  it.each([
    [
      'replicas of a StatefulSet',
      labelled({ 'apps.kubernetes.io/pod-index': '0' }),
      labelled({ 'apps.kubernetes.io/pod-index': '1' }),
    ],
    [
      'runs of a CronJob',
      labelled({ 'batch.kubernetes.io/job-name': 'a', 'controller-uid': 'x' }),
      labelled({ 'batch.kubernetes.io/job-name': 'b' }),
    ],
    ['a pod that is bound, with labels of the place', labelled({}), labelled({ 'topology.kubernetes.io/zone': 'z' })],
    ['pods with their own names as a label', labelled({ self: 'a' }), labelled({ self: 'b' })],
    ['volumes of one StorageClass, bound or not', using('data-0'), using('data-1')],
  ])('contains %s', (_, one, other) => {
    expect(classOf(samplePod('a', one))).toBe(classOf(samplePod('b', other)))
  })

  it.each([
    ['labels', labelled({}), labelled({ tier: 'front' })],
    ['requests', {}, { requests: { cpu: 2 } }],
    ['constraints', {}, { nodeSelector: { zone: '1' } }],
    ['numbers of volumes', using('data-0'), using('data-0', 'data-1')],
    ['StorageClasses', using('data-0'), using('files')],
  ])('does not contain pods with other %s', (_, one, other) => {
    expect(classOf(samplePod('a', one))).not.toBe(classOf(samplePod('b', other)))
  })

  it('changes when a volume claim comes after the pod', () => {
    const pod = samplePod('a', using('late'))
    const before = classOf(pod)
    persistentVolumeClaims.set(...volumeClaim('late', 'files'))
    expect(classOf(pod)).not.toBe(before)
  })
})
