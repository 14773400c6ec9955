import { describe, expect, test } from 'vitest'
import { ownedBy, samplePod, sampleTime } from '../../test/samples/sample-objects.ts'
import type { Pod } from '../objects.ts'
import {
  isActive,
  isDaemonPod,
  isEvictable,
  isMirrorPod,
  isProvisionable,
  isReschedulable,
  neverRuns,
  podName,
  toleratesDisruption,
} from './pod-rules.ts'

const deleting = { deletionTimestamp: '2026-01-01T00:00:00Z' }
const of = (metadata: Partial<Pod['metadata']>, change: Partial<Omit<Pod, 'kind' | 'metadata' | 'requests'>> = {}) =>
  samplePod('p', { phase: 'Running', metadata, ...change })
const plain = of({})
const daemon = of(ownedBy('DaemonSet'))
const mirror = of(ownedBy('Node', 'v1'))
const stateful = of(ownedBy('StatefulSet'))
const guarded = of({ annotations: { 'karpenter.sh/do-not-disrupt': 'true' } })

describe('a pod', () => {
  test.each<[string, Pod, Partial<Record<'active' | 'reschedulable' | 'evictable', boolean>>]>([
    ['that runs', plain, { active: true, reschedulable: true, evictable: true }],
    ['that has succeeded', of({}, { phase: 'Succeeded' }), { active: false, reschedulable: false, evictable: false }],
    ['that has failed', of({}, { phase: 'Failed' }), { active: false, reschedulable: false, evictable: false }],
    ['that is being deleted', of(deleting), { active: false, reschedulable: false, evictable: false }],
    [
      'of a StatefulSet that is being deleted, which comes back',
      of({ ...deleting, ...ownedBy('StatefulSet') }),
      { active: false, reschedulable: true, evictable: false },
    ],
    [
      'of something that is merely called StatefulSet',
      of({ ...deleting, ...ownedBy('StatefulSet', 'example.com/v1') }),
      { reschedulable: false },
    ],
    ['of a StatefulSet', stateful, { active: true, reschedulable: true, evictable: true }],
    ['of a DaemonSet', daemon, { active: true, reschedulable: false, evictable: true }],
    [
      'of something that is merely called DaemonSet',
      of(ownedBy('DaemonSet', 'example.com/v1')),
      { reschedulable: true },
    ],
    ['of the kubelet', mirror, { active: true, reschedulable: false, evictable: false }],
    ['that must not be disrupted', guarded, { active: true, reschedulable: true, evictable: false }],
    [
      'that tolerates everything',
      of({}, { tolerations: [{ operator: 'Exists' }] }),
      { active: true, reschedulable: true, evictable: false },
    ],
  ])('%s', (_, pod, { active, reschedulable, evictable }) => {
    if (active !== undefined) expect(isActive(pod)).toBe(active)
    if (reschedulable !== undefined) expect(isReschedulable(pod)).toBe(reschedulable)
    if (evictable !== undefined) expect(isEvictable(pod, sampleTime)).toBe(evictable)
  })

  test('is of a DaemonSet or of a kubelet by kind and group of an owner', () => {
    expect([
      isDaemonPod(daemon),
      isDaemonPod(mirror),
      isMirrorPod(mirror),
      isMirrorPod(of(ownedBy('Node', 'example.com/v1'))),
    ]).toEqual([true, false, true, false])
  })

  test.each<[string, Pod, boolean]>([
    ['is pending', samplePod('p'), false],
    ['is pending and being deleted', samplePod('p', { metadata: deleting }), true],
    ['failed on no node', samplePod('p', { phase: 'Failed' }), true],
    ['is bound and being deleted', samplePod('p', { nodeName: 'a', metadata: deleting }), false],
    ['failed on its node', samplePod('p', { nodeName: 'a', phase: 'Failed' }), false],
  ])('never runs if it %s: %#', (_, pod, is) => {
    expect(neverRuns(pod)).toBe(is)
  })

  test('is named with its namespace', () => {
    expect(podName(samplePod('p'))).toBe('default/p')
    expect(podName({ metadata: { ...plain.metadata, namespace: 'n' } })).toBe('n/p')
  })
})

describe('a pod that waits for capacity', () => {
  test.each<[string, Pod, boolean]>([
    ['since the scheduler gave up', samplePod('p'), true],
    ['whose scheduler has not looked yet', samplePod('p', { conditions: [] }), false],
    [
      'behind a scheduling gate',
      samplePod('p', { conditions: [{ type: 'PodScheduled', status: 'False', reason: 'SchedulingGated' }] }),
      false,
    ],
    [
      'of another condition that is called so',
      samplePod('p', { conditions: [{ type: 'Ready', status: 'False', reason: 'Unschedulable' }] }),
      false,
    ],
    ['that was bound since', samplePod('p', { nodeName: 'a' }), false],
    ['that preempts others', samplePod('p', { nominatedNodeName: 'a' }), false],
    ['that is being deleted before it was bound', samplePod('p', { metadata: deleting }), false],
    [
      'of a StatefulSet that is being deleted before it was bound',
      samplePod('p', { metadata: { ...deleting, ...ownedBy('StatefulSet') } }),
      false,
    ],
    ['that failed before it was bound', samplePod('p', { phase: 'Failed' }), false],
    ['that succeeded before it was bound', samplePod('p', { phase: 'Succeeded' }), false],
    ['of a DaemonSet', samplePod('p', { metadata: ownedBy('DaemonSet') }), false],
    ['of the kubelet', samplePod('p', { metadata: ownedBy('Node', 'v1') }), false],
  ])('%s: %s', (_, pod, is) => {
    expect(isProvisionable(pod)).toBe(is)
  })
})

describe('a toleration of the taint of disruption', () => {
  test.each<[string, Pod['tolerations'][number], boolean]>([
    ['of everything', { operator: 'Exists' }, true],
    ['of the key', { key: 'karpenter.sh/disrupted', operator: 'Exists' }, true],
    ['of the key and its empty value', { key: 'karpenter.sh/disrupted', operator: 'Equal', value: '' }, true],
    ['of the key and another value', { key: 'karpenter.sh/disrupted', operator: 'Equal', value: 'x' }, false],
    [
      'of the key for another effect',
      { key: 'karpenter.sh/disrupted', operator: 'Exists', effect: 'NoExecute' },
      false,
    ],
    ['of another key', { key: 'karpenter.sh/unregistered', operator: 'Exists' }, false],
  ])('%s: %s', (_, toleration, stays) => {
    expect(toleratesDisruption(of({}, { tolerations: [toleration] }))).toBe(stays)
  })
})
