import { expect, it } from 'vitest'
import { kubeletAnnotation } from '../node-class/kubelet-conversion.ts'
import type { RequirementSpec, Taint } from '../objects.ts'
import { errorText } from '../values/field-error.ts'
import { type ClaimValues, claimValueErrors } from './values.ts'

const nodeClassRef = { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' }
const claim = (spec: Partial<ClaimValues['spec']>, name = 'general-abcde'): ClaimValues => ({
  metadata: { name },
  spec: { requirements: [], taints: [], startupTaints: [], nodeClassRef, ...spec },
})
const requiring = (...requirements: readonly RequirementSpec[]) => claim({ requirements })
const tainted = (value: string): Taint[] => [{ key: 'a', value, effect: 'NoSchedule' }]

it('a claim of a NodePool has values that a node can have', () => {
  const requirements: RequirementSpec[] = [
    { key: 'karpenter.sh/nodepool', operator: 'In', values: ['general'] },
    { key: 'karpenter.sh/capacity-type', operator: 'In', values: ['spot', 'on-demand'] },
    { key: 'example.com/a', operator: 'NotIn', values: ['', 'x'] },
    { key: 'node.kubernetes.io/windows-build', operator: 'Gte', values: ['0'] },
  ]
  expect(claimValueErrors(claim({ requirements, taints: tainted('x'), startupTaints: tainted('y').slice(1) }))).toEqual(
    [],
  )
})

it.each<[string, ClaimValues, RegExp]>([
  ['a name', claim({}, 'n'.repeat(60)), /^metadata\.name .*use at most 59/],
  [
    'a kubelet of v1beta1',
    { ...claim({}), metadata: { name: 'a', annotations: { [kubeletAnnotation]: '{"maxPods":-1}' } } },
    /v1beta1-kubelet-conversion\]: maxPods -1 must/,
  ],
  ['a node class', claim({ nodeClassRef: { ...nodeClassRef, name: 'n'.repeat(64) } }), /^spec\.nodeClassRef\.name /],
  ['a taint', claim({ taints: tainted('a/b') }), /^spec\.taints of key a: value "a\/b"/],
  ['a startup taint', claim({ startupTaints: tainted('a/b') }), /^spec\.startupTaints of key a/],
  [
    'a value',
    requiring({ key: 'a', operator: 'In', values: ['b', 'x\ny'] }),
    /^spec\.requirements\[0\] invalid value x\ny/,
  ],
  ['no value', requiring({ key: 'a', operator: 'In', values: [] }), /must have a value defined/],
  ['a bound', requiring({ key: 'a', operator: 'Gt', values: ['1', '2'] }), /single positive integer/],
  ['a key', requiring({ key: 'a b', operator: 'Exists' }), /is not a qualified name/],
  [
    "AKS' own key",
    requiring({ key: 'agentpool', operator: 'In', values: ['x'] }),
    /is restricted: .*; remove the requ/,
  ],
  [
    'a capacity type',
    requiring({ key: 'karpenter.sh/capacity-type', operator: 'In', values: ['x'] }),
    /no valid values/,
  ],
])('%s that a node cannot have is refused', (_, given, message) => {
  const errors = claimValueErrors(given).map(errorText)
  expect(errors).toHaveLength(1)
  expect(errors[0]).toMatch(message)
})
