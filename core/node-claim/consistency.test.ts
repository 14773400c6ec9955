import { describe, expect, it } from 'vitest'
import { sampleClaim, sampleNode } from '../../test/samples/sample-objects.ts'
import { parseResources } from '../resources.ts'
import { initializedConditions, shortfalls } from './consistency.ts'

const claim = sampleClaim('a', {
  spec: { requests: parseResources({ cpu: '500m', memory: '512Mi', 'nvidia.com/gpu': 1 }) },
  status: { capacity: parseResources({ cpu: 4, memory: '16Gi', 'nvidia.com/gpu': 2, pods: 110 }) },
})
const found = (allocatable: Readonly<Record<string, string | number>>) =>
  shortfalls(claim, sampleNode('a', { allocatable }))

describe('shortfalls of a node', () => {
  it.each<[string, Readonly<Record<string, string | number>>, readonly string[]]>([
    ['as promised', { cpu: 4, memory: '16Gi', 'nvidia.com/gpu': 2 }, []],
    ['a tenth less', { cpu: '3600m', memory: '16Gi', 'nvidia.com/gpu': 2 }, []],
    [
      'more than a tenth less',
      { cpu: '3599m', memory: '16Gi', 'nvidia.com/gpu': 2 },
      ['expected 4 of resource cpu, but found 3599m (90.0% of expected)'],
    ],
    [
      'not at all',
      { cpu: 4, memory: '4Gi' },
      [
        'expected 16Gi of resource memory, but found 4Gi (25.0% of expected)',
        'expected 2 of resource nvidia.com/gpu, but found 0 (0.0% of expected)',
      ],
    ],
    ['of what nobody asked for', { cpu: 4, memory: '16Gi', 'nvidia.com/gpu': 2, pods: 1 }, []],
  ])('%s', (_, allocatable, expected) => {
    expect(found(allocatable)).toEqual(expected)
  })
})

it.each([
  ['as promised', '16Gi', ['Initialized', 'ConsistentStateFound']],
  ['smaller: the comparison that follows reports it', '4Gi', ['Initialized']],
])('a node that can take pods and is %s', (_, memory, conditions) => {
  const node = sampleNode('a', { allocatable: { cpu: 4, memory, 'nvidia.com/gpu': 2 } })
  expect(initializedConditions(claim, node).map(({ type }) => type)).toEqual(conditions)
})
