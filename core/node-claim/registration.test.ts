import * as fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { sampleClaim, sampleCondition, sampleMeta, sampleNode } from '../../test/samples/sample-objects.ts'
import type { Node, NodeClaim, Taint } from '../objects.ts'
import { parseResources } from '../resources.ts'
import { asClaimed, initializationState, registrationPatch } from './registration.ts'

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

const registered = sampleClaim('aks-a', { metadata: { name: 'a', uid: 'uid-a' } })
const launched: NodeClaim = {
  ...registered,
  status: { ...registered.status, nodeName: undefined as never, conditions: [sampleCondition('Launched')] },
}
const starting = sampleClaim('aks-a', {
  metadata: { name: 'a', uid: 'uid-a' },
  status: { conditions: [sampleCondition('Registered')] },
})

test.each<[string, NodeClaim, Readonly<Record<string, string>>]>([
  ['initialized', registered, { nodepool: 'default', registered: 'true', initialized: 'true' }],
  ['not initialized yet', starting, { nodepool: 'default', registered: 'true' }],
  ['not registered yet', launched, { nodepool: 'default' }],
  [
    'not of a NodePool',
    { ...registered, metadata: { ...registered.metadata, labels: {} } },
    { registered: 'true', initialized: 'true' },
  ],
])('whatever its kubelet says, a node is %s', (_, claim, said) => {
  const { labels } = asClaimed(sampleNode('aks-a'), claim).metadata
  const ofKarpenter = Object.entries(labels).filter(([key]) => key.startsWith('karpenter.sh/'))
  expect(Object.fromEntries(ofKarpenter.map(([key, value]) => [key.split('/')[1], value]))).toEqual(said)
})

test('a Node is what it was, whatever a kubelet does to labels that registration wrote; its other labels count', () => {
  const claim = sampleClaim('aks-a', {
    metadata: {
      name: 'a',
      uid: 'uid-a',
      labels: { 'karpenter.sh/nodepool': 'default', 'karpenter.sh/capacity-type': 'spot', 'example.com/team': 'a' },
    },
  })
  const honest = sampleNode('aks-a', { metadata: { labels: claim.metadata.labels } })
  expect(asClaimed(honest, claim)).toBe(honest)
  const written = [...Object.keys(claim.metadata.labels), 'karpenter.sh/registered', 'karpenter.sh/initialized']
  const lies = fc.dictionary(fc.constantFrom(...written), fc.option(fc.string(), { nil: undefined }))
  fc.assert(
    fc.property(lies, fc.dictionary(fc.string(), fc.string()), (changed, others) => {
      const labels = Object.entries({ ...others, ...honest.metadata.labels, ...changed })
      const lying = sampleNode('aks-a')
      const metadata = {
        ...lying.metadata,
        labels: Object.fromEntries(labels.filter(([, value]) => value !== undefined)),
      }
      const seen = asClaimed({ ...lying, metadata } as Node, claim)
      expect(seen).toEqual({
        ...honest,
        metadata: { ...honest.metadata, labels: { ...others, ...honest.metadata.labels } },
      })
    }),
  )
})

test('a Node that lies is one other object, as long as it and its NodeClaim are the same', () => {
  const lying = sampleNode('aks-a', { metadata: { labels: { 'karpenter.sh/nodepool': 'other' } } })
  expect(asClaimed(lying, registered)).toBe(asClaimed(lying, registered))
  expect(asClaimed(lying, { ...registered })).not.toBe(asClaimed(lying, registered))
  expect(asClaimed(lying, launched)).not.toEqual(asClaimed(lying, registered))
})
