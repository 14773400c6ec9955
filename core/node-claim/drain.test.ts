import { describe, expect, it } from 'vitest'
import type { Pod } from '../objects.ts'
import { ownedBy, sampleMeta, samplePod, sampleTime } from '../sample-objects.ts'
import { blockingVolumeAttachments, drainPlan } from './drain.ts'

const now = sampleTime
const iso = (time: number) => new Date(time).toISOString()
const running = (name: string, change: Parameters<typeof samplePod>[1] = {}) =>
  samplePod(name, { phase: 'Running', ...change })
const daemon = running('daemon', { metadata: ownedBy('DaemonSet') })
const critical = running('critical', { priorityClassName: 'system-cluster-critical' })
const criticalDaemon = running('critical-daemon', {
  metadata: ownedBy('DaemonSet'),
  priorityClassName: 'system-node-critical',
})
const deleting = (name: string, at: number) => running(name, { metadata: { deletionTimestamp: iso(at) } })
const names = (pods: readonly Pod[]) => pods.map(({ metadata }) => metadata.name)
const drain = (pods: readonly Pod[], terminationDeadline?: number) =>
  drainPlan({ pods, now, ...(terminationDeadline === undefined ? {} : { terminationDeadline }) })

describe('drainPlan', () => {
  it('evicts one tier after the other', () => {
    const all = [criticalDaemon, critical, daemon, running('web')]
    const order: string[][] = []
    for (let left = all; left.length > 0; ) {
      const { evict, done } = drain(left)
      expect(done).toBe(false)
      order.push(names(evict))
      left = left.filter((pod) => !evict.includes(pod))
    }
    expect(order).toEqual([['web'], ['daemon'], ['critical'], ['critical-daemon']])
    expect(drain([])).toEqual({ done: true, evict: [], forceDelete: [], waitingFor: [] })
  })

  it('waits for a pod that ends before it goes on to the next tier', () => {
    const { evict, waitingFor } = drain([deleting('ending', now + 30_000), daemon])
    expect(evict).toEqual([])
    expect(waitingFor.map(({ reason }) => reason)).toEqual(['is terminating', 'leaves after the pods of a lower tier'])
  })

  it.each([
    ['tolerates the disruption', running('p', { tolerations: [{ operator: 'Exists' }] })],
    ['is a mirror', running('p', { metadata: ownedBy('Node', 'v1') })],
    ['has ended', samplePod('p', { phase: 'Failed' })],
    ['is stuck', deleting('p', now - 60_001)],
  ])('does not wait for a pod that %s', (_, pod) => {
    expect(drain([pod])).toMatchObject({ done: true, evict: [] })
  })

  it('stalls on do-not-disrupt, but not on one that is over', () => {
    const guarded = (value: string) =>
      running('p', {
        metadata: { annotations: { 'karpenter.sh/do-not-disrupt': value } },
        startTime: iso(now - 60_000),
      })
    expect(drain([guarded('true')])).toMatchObject({
      done: false,
      evict: [],
      waitingFor: [{ reason: 'has the annotation karpenter.sh/do-not-disrupt' }],
    })
    expect(names(drain([guarded('30s')]).evict)).toEqual(['p'])
    expect(drain([guarded('5m')]).evict).toEqual([])
  })

  it('deletes by force, across tiers, what would outlast the deadline', () => {
    const slow = running('slow', { terminationGracePeriodSeconds: 300, priorityClassName: 'system-node-critical' })
    const plan = drain([slow, running('quick'), deleting('overlong', now + 200_000)], now + 120_000)
    expect(plan.forceDelete.map(({ pod, gracePeriodSeconds }) => [pod.metadata.name, gracePeriodSeconds])).toEqual([
      ['slow', 120],
      ['overlong', 120],
    ])
    expect(names(plan.evict)).toEqual(['quick'])
    expect(drain([running('p')], now - 1).forceDelete[0]?.gracePeriodSeconds).toBe(1)
  })
})

describe('blockingVolumeAttachments', () => {
  const attachment = (persistentVolumeName: string, nodeName = 'a') => ({
    kind: 'VolumeAttachment' as const,
    metadata: sampleMeta(persistentVolumeName),
    nodeName,
    persistentVolumeName,
  })
  const blocking = (terminationDeadline?: number) =>
    blockingVolumeAttachments({
      attachments: [attachment('data'), attachment('logs'), attachment('other', 'b')],
      nodeName: 'a',
      pods: [running('agent', { tolerations: [{ operator: 'Exists' }], persistentVolumeClaims: ['logs'] })],
      volumesOf: (pod) => pod.persistentVolumeClaims,
      now,
      ...(terminationDeadline === undefined ? {} : { terminationDeadline }),
    }).map(({ metadata }) => metadata.name)

  it('waits for the volumes of the node, but not for those of pods that stay', () => {
    expect(blocking()).toEqual(['data'])
    expect(blocking(now + 1)).toEqual(['data'])
    expect(blocking(now)).toEqual([])
  })
})
