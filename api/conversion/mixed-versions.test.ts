import { expect, it } from 'vitest'
import { mixedVersions } from './mixed-versions.ts'
import type { Json } from './residue.ts'

const pool = (version: string, node: Json, disruption: Json = {}): Json => ({
  apiVersion: `karpenter.sh/${version}`,
  kind: 'NodePool',
  spec: { disruption, template: { spec: node } },
})

it.each<[Json, readonly string[] | undefined]>([
  [pool('v1', { nodeClassRef: { group: 'a', kind: 'b', name: 'c' }, expireAfter: 'Never' }), undefined],
  [pool('v1beta1', { nodeClassRef: { name: 'c' }, kubelet: {} }, { expireAfter: '720h' }), undefined],
  [
    pool(
      'v1',
      { nodeClassRef: { apiVersion: 'a/v1' } },
      { expireAfter: '1h', consolidationPolicy: 'WhenUnderutilized' },
    ),
    [
      'spec.disruption.expireAfter',
      'spec.disruption.consolidationPolicy WhenUnderutilized',
      'spec.template.spec.nodeClassRef.apiVersion',
    ],
  ],
  [pool('v1', { nodeClassRef: { name: 'c' } }), ['spec.template.spec.nodeClassRef of a name alone']],
  [pool('v1', { kubelet: { maxPods: 3 } }, { consolidationPolicy: 'WhenEmpty' }), ['spec.template.spec.kubelet']],
  [
    pool('v1beta1', { expireAfter: '1h' }, { consolidationPolicy: 'WhenEmptyOrUnderutilized' }),
    ['spec.disruption.consolidationPolicy WhenEmptyOrUnderutilized', 'spec.template.spec.expireAfter'],
  ],
  [{ apiVersion: 'karpenter.sh/v1', kind: 'NodeClaim', spec: { disruption: { expireAfter: '1h' } } }, undefined],
  [{ apiVersion: { toString: 1 }, kind: 'NodePool', spec: [] }, undefined],
])('%j has the fields %j of another version', (object, fields) => {
  expect(mixedVersions(object)?.fields).toEqual(fields)
})
