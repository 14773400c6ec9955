import { describe, expect, test } from 'vitest'
import type { Json } from '../../../activities/kubernetes/client/answers.ts'
import { claim, created, meta, node, pod, waitingPod } from '../../../test/samples/sample-cluster.ts'
import { claimFact, nodeFact, podFact, timeOf } from './facts.ts'

const createdMs = Date.parse(created)

describe('a pod', () => {
  test('is a box with what it requests', () => {
    expect(podFact(pod('web', { nodeName: 'a' }))).toEqual({
      key: 'shop/web',
      node: 'a',
      box: ['shop/web', 0.5, 2 ** 30],
    })
  })

  test.each(['Succeeded', 'Failed'])('that has %s is none', (phase) => {
    expect(podFact(pod('web', { nodeName: 'a', phase }))).toBeUndefined()
  })

  test('counts its containers, its sidecars and its overhead', () => {
    const requests = (cpu: string) => ({ resources: { requests: { cpu } } })
    const json = {
      ...pod('web'),
      spec: {
        nodeName: 'a',
        containers: [requests('1'), requests('250m')],
        initContainers: [{ ...requests('500m'), restartPolicy: 'Always' }, requests('100m')],
        overhead: { cpu: '50m', memory: '10Mi' },
      },
    }
    expect(podFact(json)?.box).toEqual(['shop/web', 1.8, 10 * 2 ** 20])
  })

  test('that no node is found for says since when and why', () => {
    expect(podFact(waitingPod('big', 'Insufficient cpu'))?.wait).toEqual({
      sinceMs: createdMs,
      reason: 'Unschedulable',
      message: 'Insufficient cpu',
    })
  })

  test('that is new waits without a reason', () => {
    expect(podFact(pod('new', { phase: 'Pending' }))?.wait).toEqual({ sinceMs: createdMs, reason: '', message: '' })
  })

  test('that is deleted before it has a node does not wait', () => {
    expect(podFact(pod('gone', { phase: 'Pending', deletionTimestamp: created }))).toEqual({
      key: 'shop/gone',
      box: ['shop/gone', 0.5, 2 ** 30, 't'],
    })
  })

  test('keeps when its protection ends', () => {
    const annotations = { 'karpenter.sh/do-not-disrupt': '1h' }
    const json = { ...pod('job', { nodeName: 'a', annotations }), status: { phase: 'Running', startTime: created } }
    expect(podFact(json)).toMatchObject({ box: { 3: 'h' }, markUntilMs: createdMs + 3_600_000 })
  })
})

describe('a Node', () => {
  test('keeps what a view shows', () => {
    expect(nodeFact(node('a', { providerID: 'AZURE:///VM-1' }))).toEqual({
      metadata: {
        name: 'a',
        uid: 'uid-a',
        labels: { 'karpenter.sh/registered': 'true', 'node.kubernetes.io/instance-type': 'Standard_D4s_v5' },
        annotations: {},
        ownerReferences: [],
        creationTimestamp: created,
      },
      unschedulable: false,
      taints: [],
      isDisrupted: false,
      isProtected: false,
      allocatable: { cpu: 3.8, memory: 14 * 2 ** 30, pods: 110 },
      providerId: 'azure:///vm-1',
    })
  })

  test.each<[string, Json[], string]>([
    ['nothing', [], 'no condition Ready'],
    ['a reason', [{ type: 'Ready', status: 'False', reason: 'KubeletNotReady', message: 'cni' }], 'KubeletNotReady'],
    ['a message', [{ type: 'Ready', status: 'Unknown', message: 'silent' }], 'silent'],
  ])('that is not ready says %s', (_, conditions, expected) => {
    expect(nodeFact({ ...node('a'), status: { conditions } }).notReady).toBe(expected)
  })

  test('that is protected by its annotation says so', () => {
    const annotations = { 'karpenter.sh/do-not-disrupt': 'true' }
    expect(nodeFact({ ...node('a'), metadata: meta('a', { annotations }) }).isProtected).toBe(true)
  })
})

describe('a NodeClaim', () => {
  test('keeps annotations of Joiner and Karpenter alone', () => {
    const annotations = { 'joiner.sh/hold-by': 'alice', 'karpenter.sh/nodepool-hash': '1', 'example.com/large': 'x' }
    expect(claimFact(claim('a', { annotations })).metadata.annotations).toEqual({
      'joiner.sh/hold-by': 'alice',
      'karpenter.sh/nodepool-hash': '1',
    })
  })

  test('whose amounts are no quantities has none', () => {
    const json = claim('a', { providerID: 'azure:///a' })
    const broken = { ...json, status: { ...(json['status'] as Json), allocatable: { cpu: 'many' } } }
    expect(claimFact(broken)).toMatchObject({ providerId: 'azure:///a', allocatable: { cpu: 0, memory: 0, pods: 0 } })
  })
})

test.each<[string, number]>([
  [created, createdMs],
  ['yesterday', 0],
  ['', 0],
])('created %j', (creationTimestamp, expected) => expect(timeOf({ creationTimestamp })).toBe(expected))
