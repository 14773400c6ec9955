import { describe, expect, it } from 'vitest'
import type { Taint } from '../objects.ts'
import { parseResources } from '../resources.ts'
import { sampleClaim, sampleMeta, sampleNode } from '../sample-objects.ts'
import { initializationState, registrationPatch } from './registration.ts'

const unregistered: Taint = { key: 'karpenter.sh/unregistered', effect: 'NoExecute' }
const notReady: Taint = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' }
const team: Taint = { key: 'team', value: 'a', effect: 'NoSchedule' }
const cni: Taint = { key: 'cni', effect: 'NoExecute' }
const claim = sampleClaim('a', { spec: { taints: [team], startupTaints: [cni] } })
const joining = (labels = {}) => ({
  ...sampleNode('a', { taints: [unregistered, notReady] }),
  metadata: sampleMeta('a', { labels }),
})

describe('registrationPatch', () => {
  it('gives a Node what its claim has, and takes the unregistered taint', () => {
    expect(registrationPatch(claim, joining())).toEqual({
      labels: { 'karpenter.sh/nodepool': 'default', 'karpenter.sh/registered': 'true' },
      annotations: {},
      taints: [notReady, team, cni],
      finalizers: ['karpenter.sh/termination'],
      ownerReferences: [
        {
          apiVersion: 'karpenter.sh/v1',
          kind: 'NodeClaim',
          name: 'a-claim',
          uid: 'uid-a-claim',
          blockOwnerDeletion: true,
        },
      ],
      unregisteredTaintMissing: false,
    })
  })

  it('leaves taints alone on request', () => {
    expect(registrationPatch(claim, joining({ 'karpenter.sh/do-not-sync-taints': 'true' })).taints).toEqual([notReady])
  })

  it('changes nothing the second time', () => {
    const first = registrationPatch(claim, joining())
    const after = { ...joining(first.labels), taints: first.taints }
    const second = registrationPatch(claim, { ...after, metadata: { ...after.metadata, ...first } })
    expect(second).toEqual(first)
  })

  describe('of a claim that was made again', () => {
    const before = { apiVersion: 'karpenter.sh/v1', kind: 'NodeClaim', name: 'a-claim', uid: 'uid-before' }
    const again = {
      ...claim,
      metadata: { ...claim.metadata, annotations: { 'joiner.sh/adopted-from': 'uid-before' } },
    }
    const used = { ...joining({ 'karpenter.sh/registered': 'true' }), taints: [notReady] }

    it('replaces the lost owner, and taints no pod away', () => {
      const node = { ...used, metadata: { ...used.metadata, ownerReferences: [before] } }
      const { ownerReferences, taints } = registrationPatch(again, node)
      expect([ownerReferences.map(({ uid }) => uid), taints]).toEqual([['uid-a-claim'], [notReady]])
    })

    it('taints a Node that was not registered yet', () => {
      expect(registrationPatch(again, joining()).taints).toEqual([notReady, team, cni])
    })
  })

  it('reports a Node that joined without the taint', () => {
    expect(registrationPatch(claim, { ...joining(), taints: [] }).unregisteredTaintMissing).toBe(true)
  })
})

describe('initializationState', () => {
  const requests = parseResources({ cpu: 1, 'nvidia.com/gpu': 1, 'example.com/none': 0 })
  const wanting = sampleClaim('a', { spec: { startupTaints: [{ ...team, value: 'x' }], requests } })
  const gpu = { cpu: 4, 'nvidia.com/gpu': 1 }

  it.each([
    ['no Node', undefined, 'NodeNotFound', 'Node not registered with cluster'],
    ['not ready', sampleNode('a', { conditions: [] }), 'NodeNotReady', 'Node status is NotReady'],
    [
      'a startup taint',
      sampleNode('a', { taints: [team] }),
      'StartupTaintsExist',
      'StartupTaint "team=x:NoSchedule" still exists',
    ],
    [
      'an ephemeral taint',
      sampleNode('a', { taints: [notReady] }),
      'KnownEphemeralTaintsExist',
      'KnownEphemeralTaint "node.kubernetes.io/not-ready:NoSchedule" still exists',
    ],
    [
      'no devices',
      sampleNode('a'),
      'ResourceNotRegistered',
      'Resource "nvidia.com/gpu" was requested but not registered',
    ],
  ])('waits: %s', (_, node, reason, message) => {
    expect(initializationState(wanting, node)).toEqual({ initialized: false, reason, message })
  })

  it('is done when nothing is missing', () => {
    expect(initializationState(wanting, sampleNode('a', { allocatable: gpu }))).toEqual({ initialized: true })
  })
})
