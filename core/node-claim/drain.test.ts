import { describe, expect, it } from 'vitest'
import { ownedBy, sampleMeta, samplePod, sampleTime } from '../../test/samples/sample-objects.ts'
import type { Pod } from '../objects.ts'
import { blockingVolumeAttachments, drainPlan, staysOnDrainedNode } from './drain.ts'

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
    expect(drain([])).toEqual({ done: true, evict: [], forceDelete: [], heldBy: [] })
  })

  it('waits for a pod that ends before it goes on to the next tier', () => {
    const { evict, heldBy } = drain([deleting('ending', now + 30_000), daemon])
    expect(evict).toEqual([])
    expect(heldBy.map(({ cause }) => cause)).toEqual(['terminating', 'laterTier'])
  })

  it('evicts nothing of a later tier while a pod of an earlier one is deleted by force', () => {
    const slow = running('slow', { terminationGracePeriodSeconds: 300 })
    const { evict, heldBy } = drain([slow, daemon], now + 120_000)
    expect(evict).toEqual([])
    expect(heldBy.map(({ cause }) => cause)).toEqual(['forced', 'laterTier'])
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
      heldBy: [{ cause: 'doNotDisrupt' }],
    })
    expect(names(drain([guarded('30s')]).evict)).toEqual(['p'])
    expect(drain([guarded('5m')]).evict).toEqual([])
  })

  it('deletes by force, across tiers, pods that would outlast the deadline', () => {
    const slow = running('slow', { terminationGracePeriodSeconds: 300, priorityClassName: 'system-node-critical' })
    const plan = drain([slow, running('quick'), deleting('overlong', now + 200_000)], now + 120_000)
    expect(plan.forceDelete.map(({ pod, gracePeriodSeconds }) => [pod.metadata.name, gracePeriodSeconds])).toEqual([
      ['slow', 120],
      ['overlong', 120],
    ])
    expect(names(plan.evict)).toEqual(['quick'])
    expect(drain([running('p')], now - 1).forceDelete[0]?.gracePeriodSeconds).toBe(1)
  })

  it('deletes by force a pod that a do-not-disrupt would hold', () => {
    const guarded = running('p', { metadata: { annotations: { 'karpenter.sh/do-not-disrupt': 'true' } } })
    expect(drain([guarded], now + 30_000)).toMatchObject({ forceDelete: [], heldBy: [{ cause: 'doNotDisrupt' }] })
    expect(names(drain([guarded], now + 29_999).forceDelete.map(({ pod }) => pod))).toEqual(['p'])
  })
})

describe('blockingVolumeAttachments', () => {
  const attachment = (persistentVolumeName: string, nodeName = 'a') => ({
    kind: 'VolumeAttachment' as const,
    metadata: sampleMeta(persistentVolumeName),
    nodeName,
    persistentVolumeName,
  })
  it('waits for the volumes of the nodes, but not for those of pods that stay', () => {
    const all = [attachment('data'), attachment('logs'), attachment('other', 'b')]
    const blocking = (nodes: readonly string[]) =>
      blockingVolumeAttachments(all, new Set(nodes), new Set(['logs'])).map(({ metadata }) => metadata.name)
    expect(blocking(['a'])).toEqual(['data'])
    expect(blocking(['a', 'b'])).toEqual(['data', 'other'])
  })

  it.each([
    ['tolerates the disruption', running('p', { tolerations: [{ operator: 'Exists' }] }), true],
    ['is stuck', deleting('p', now - 60_001), true],
    ['leaves', running('p'), false],
  ])('a pod that %s', (_, pod, stays) => {
    expect(staysOnDrainedNode(pod, now)).toBe(stays)
  })
})
