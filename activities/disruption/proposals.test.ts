import { expect, test } from 'vitest'
import type { Candidate } from '../../core/disruption/candidates.ts'
import type { DisruptionCommand } from '../../core/disruption/command.ts'
import { sampleClaim, sampleNode, samplePool } from '../../core/sample-objects.ts'
import { plannedClaim } from '../../test/fakes/planning.ts'
import { commandDigest, commandMethod, commandReason, knownSavings, proposalsOf } from './proposals.ts'

const nodePool = samplePool('web')

function candidate(name: string, resourceVersion = '1'): Candidate {
  const nodeClaim = sampleClaim(name)
  return {
    nodeClaim: { ...nodeClaim, metadata: { ...nodeClaim.metadata, resourceVersion } },
    node: sampleNode(name),
    nodePool,
    pods: [],
    reschedulable: [],
    instanceType: undefined,
    price: 0.1,
    disruptionCost: 1,
  }
}

function command(method: DisruptionCommand['method'], candidates: readonly Candidate[]): DisruptionCommand {
  return { method, decision: 'delete', candidates, replacements: [], savings: 0.1 * candidates.length }
}

const many = (count: number) => Array.from({ length: count }, (_, at) => candidate(`node-${at}`))
const idOf = (one: DisruptionCommand) => proposalsOf([one], false)[0]?.id

test('a proposal names what goes, why, and what it saves', () => {
  expect(proposalsOf([command('single-node', [candidate('a')])], true)).toEqual([
    {
      id: expect.stringMatching(/^single-node-[0-9a-f]{10}$/),
      method: 'single-node',
      reason: 'Underutilized',
      decision: 'delete',
      forced: true,
      candidates: [{ name: 'a-claim', uid: 'uid-a-claim', nodeName: 'a', nodePool: 'web' }],
      replacements: 0,
      savings: 0.1,
    },
  ])
})

test('the id is the same for the same nodes in any order, and another once one of them has changed', () => {
  const [a, b] = [candidate('a'), candidate('b')]
  const id = idOf(command('multi-node', [a, b]))
  expect(idOf(command('multi-node', [b, a]))).toBe(id)
  expect(idOf(command('multi-node', [a, candidate('b', '2')]))).not.toBe(id)
  expect(idOf(command('drift', [a, b]))).not.toBe(id)
})

test('an id contains its method, its reason and its digest', () => {
  const id = idOf(command('multi-node', [candidate('a')])) ?? ''
  expect(commandMethod(id)).toBe('multi-node')
  expect(commandReason(id)).toBe('Underutilized')
  expect(`multi-node-${commandDigest(id)}`).toBe(id)
  expect(commandMethod('somebody-elses')).toBeUndefined()
  expect(commandReason('toString-0123456789')).toBeUndefined()
})

test('many empty nodes are several proposals, and an answer stays small', () => {
  const proposals = proposalsOf([command('emptiness', many(250))], false)
  expect(proposals.map(({ candidates }) => candidates.length)).toEqual([100, 100, 50])
  expect(new Set(proposals.map(({ id }) => id)).size).toBe(3)
  expect(proposals.reduce((sum, { savings }) => sum + savings, 0)).toBeCloseTo(25)
  const answer = proposalsOf([command('emptiness', many(5000)), command('drift', [candidate('z')])], false)
  expect(answer.flatMap(({ candidates }) => candidates)).toHaveLength(300)
})

test('nodes that go together stay together, however many they are', () => {
  expect(proposalsOf([command('multi-node', many(400))], false)[0]?.candidates).toHaveLength(400)
})

test('nothing is said to be saved where a price is not known', () => {
  const [known, unknown] = [candidate('a'), { ...candidate('b'), price: 999 }]
  const one = { savings: 0.1234567, candidates: [known], replacements: [] }
  expect(knownSavings(one)).toBe(0.123457)
  expect(knownSavings({ ...one, savings: 999.1, candidates: [known, unknown] })).toBe(0)
  expect(knownSavings({ ...one, savings: -998.9, replacements: [{ ...plannedClaim(), price: 999 }] })).toBe(0)
})
