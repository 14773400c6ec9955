import { expect, it } from 'vitest'
import { samplePod, sampleType } from '../../test/samples/sample-objects.ts'
import { nodePrice, rescheduleCost } from './costs.ts'

const own = 'karpenter.sh/disruption-cost'
const replicaSets = 'controller.kubernetes.io/pod-deletion-cost'
const costing = (annotations: Readonly<Record<string, string>>, priority?: number) =>
  samplePod('p', { metadata: { annotations }, ...(priority === undefined ? {} : { priority }) })

it.each([
  ['a common pod', {}, undefined, 2],
  ['a cost of its own', { [own]: String(2 ** 27) }, undefined, 3],
  ['a cost for its ReplicaSet', { [replicaSets]: String(-(2 ** 26)) }, undefined, 1.5],
  ['its own before that for its ReplicaSet', { [own]: '0', [replicaSets]: '2147483647' }, undefined, 2],
  ['its own even where it cannot be read', { [own]: '1.5', [replicaSets]: '2147483647' }, undefined, 2],
  ['no 32-bit integer', { [replicaSets]: '2147483648' }, undefined, 2],
  ['a sign', { [replicaSets]: `+${2 ** 27}` }, undefined, 3],
  ['a priority', {}, 2 ** 25, 3],
  ['at most 10', {}, 2_000_000_000, 11],
  ['nothing below nothing', {}, -2_000_000_000, 1],
] as const)('moving a node with one pod costs, by %s', (_, annotations, priority, cost) => {
  expect(rescheduleCost([costing(annotations, priority)])).toBe(cost)
})

it('ignores the cost for ReplicaSets when another party manages it', () => {
  expect(rescheduleCost([costing({ [replicaSets]: '2147483647' })], false)).toBe(2)
})

it('costs 1 without pods', () => expect(rescheduleCost([])).toBe(1))

it.each([
  ['zone-1', 'spot', 0.06],
  ['zone-2', 'on-demand', 0.2],
  ['zone-9', 'on-demand', 0],
  ['zone-1', 'reserved', 0],
])('takes the price of zone %s and capacity type %s', (zone, capacityType, price) => {
  const labels = { 'topology.kubernetes.io/zone': zone, 'karpenter.sh/capacity-type': capacityType }
  expect(nodePrice(labels, sampleType('four', 4))).toBeCloseTo(price, 9)
  expect(nodePrice(labels, undefined)).toBe(0)
})
