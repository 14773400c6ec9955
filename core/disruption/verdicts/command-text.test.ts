import { expect, test } from 'vitest'
import { sampleClaim, sampleNode, samplePod, samplePool } from '../../../test/samples/sample-objects.ts'
import { labels } from '../../requirements/labels.ts'
import { inValues } from '../../requirements/requirement.ts'
import type { PlannedNodeClaim } from '../../scheduling/snapshot.ts'
import type { Candidate } from '../candidates.ts'
import { commandText, savingsText } from './command-text.ts'

function candidate(name: string, pods: number): Candidate {
  const reschedulable = Array.from({ length: pods }, (_, at) => samplePod(`${name}-${at}`))
  const own = { [labels.instanceType]: 'D4', [labels.capacityType]: 'spot' }
  return {
    nodeClaim: sampleClaim(name),
    node: sampleNode(name, { metadata: { labels: own } }),
    nodePool: samplePool(),
    pods: reschedulable,
    reschedulable,
    instanceType: undefined,
    price: 1,
    disruptionCost: 1 + pods,
  }
}

function replacement(capacityTypes: readonly string[], instanceTypes: readonly string[]): PlannedNodeClaim {
  return {
    nodePool: 'default',
    requirements: [],
    wanted: new Map([[labels.capacityType, inValues(labels.capacityType, capacityTypes)]]),
    labels: {},
    instanceTypes,
    requests: {},
    pods: [],
    price: 0.5,
  }
}

test('a deletion names each node with its type', () => {
  const candidates = [candidate('a', 2), candidate('b', 0)]
  expect(commandText({ decision: 'delete', candidates, replacements: [] })).toBe(
    'delete, terminating 2 nodes (2 pods) a/D4/spot, b/D4/spot',
  )
})

test('a replacement names its capacity type if there is only one, and its first types', () => {
  const text = (claim: PlannedNodeClaim) =>
    commandText({ decision: 'replace', candidates: [candidate('a', 1)], replacements: [claim] })
  const going = 'replace, terminating 1 nodes (1 pods) a/D4/spot and replacing with'
  expect(text(replacement(['spot'], ['D2', 'E2']))).toBe(`${going} spot node from types D2, E2`)
  expect(text(replacement(['spot', 'on-demand'], ['1', '2', '3', '4', '5', '6', '7']))).toBe(
    `${going} node from types 1, 2, 3, 4, 5 and 2 other(s)`,
  )
})

test('replacements known only by number are shown as a number', () => {
  const text = (replacements: number) =>
    commandText({ decision: 'replace', candidates: [candidate('a', 1)], replacements })
  const going = 'replace, terminating 1 nodes (1 pods) a/D4/spot'
  expect([0, 1, 2].map(text)).toEqual([
    going,
    `${going} and replacing with 1 node`,
    `${going} and replacing with 2 nodes`,
  ])
})

test('several replacements are counted', () => {
  const replacements = [replacement(['spot'], ['D2']), replacement(['on-demand'], ['E2'])]
  expect(commandText({ decision: 'replace', candidates: [candidate('a', 9)], replacements })).toBe(
    'replace, terminating 1 nodes (9 pods) a/D4/spot and replacing with 1 spot and 1 on-demand, from types D2',
  )
  expect(savingsText(1.005)).toBe('savings: $1.00')
})
