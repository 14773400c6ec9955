import { expect, test } from 'vitest'
import type { Candidate } from '../../core/disruption/candidates.ts'
import type { DisruptionCommand } from '../../core/disruption/command.ts'
import { disruptionCommandId } from '../../core/task-queues.ts'
import { plannedClaim } from '../../test/fakes/planning.ts'
import { sampleClaim, sampleNode, samplePool } from '../../test/samples/sample-objects.ts'
import { commandDigest, commandMethod, commandReason, isProposal, knownSavings, proposalsOf } from './proposals.ts'

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
const planner = { atMs: 1000, isForced: false, isAsked: false }
const operator = { atMs: 2000, isForced: true, isAsked: true }
/** What the workflow's id is made of. */
const keyOf = (one: DisruptionCommand, by = planner) => disruptionCommandId('test', proposalsOf([one], by)[0]?.id ?? '')

test('a proposal names what goes, why, and what it saves', () => {
  expect(proposalsOf([command('single-node', [candidate('a')])], operator)).toEqual([
    {
      id: expect.stringMatching(/^single-node-[0-9a-f]{10}-[0-9a-f]{8}$/),
      order: [2000, 0],
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

test('two proposals for the same nodes have one workflow, in any order and state of the nodes, and another where an operator asks', () => {
  const [a, b] = [candidate('a'), candidate('b')]
  const key = keyOf(command('multi-node', [a, b]))
  expect(keyOf(command('multi-node', [b, candidate('a', '2')]))).toBe(key)
  expect(keyOf(command('multi-node', [a]))).not.toBe(key)
  expect(keyOf(command('drift', [a, b]))).not.toBe(key)
  expect(keyOf(command('multi-node', [a, b]), operator)).not.toBe(key)
})

test.each<[string, object]>([
  ['nothing', { candidates: [] }],
  ['no order', { order: undefined }],
  ['an order that is no number', { order: [Number.NaN, 0] }],
  ['the id of another method', { id: 'drift-0123456789-01234567' }],
  ['the reason of another method', { reason: 'Empty' }],
  ['a candidate without a name', { candidates: [{ uid: 'x', nodeName: 'a', nodePool: 'web' }] }],
])('a proposal with %s cannot be read', (_, change) => {
  const [proposal] = proposalsOf([command('single-node', [candidate('a')])], planner)
  expect(isProposal(proposal)).toBe(true)
  expect(isProposal({ ...proposal, ...change })).toBe(false)
  expect(isProposal(undefined)).toBe(false)
})

test('no two proposals have one id: what one has left behind is not taken for the other', () => {
  const ids = Array.from({ length: 100 }, () => proposalsOf([command('drift', [candidate('a')])], planner)[0]?.id)
  expect(new Set(ids).size).toBe(100)
})

test('an id contains its method, its reason and its own part', () => {
  const id = proposalsOf([command('multi-node', [candidate('a')])], planner)[0]?.id ?? ''
  expect(commandMethod(id)).toBe('multi-node')
  expect(commandReason(id)).toBe('Underutilized')
  expect(id.endsWith(`-${commandDigest(id)}`)).toBe(true)
  expect(commandMethod('somebody-elses')).toBeUndefined()
  expect(commandReason('toString-0123456789-01234567')).toBeUndefined()
})

test('many empty nodes are several proposals, and an answer stays small', () => {
  const proposals = proposalsOf([command('emptiness', many(250))], planner)
  expect(proposals.map(({ candidates }) => candidates.length)).toEqual([100, 100, 50])
  expect(new Set(proposals.map(({ id }) => id)).size).toBe(3)
  expect(proposals.reduce((sum, { savings }) => sum + savings, 0)).toBeCloseTo(25)
  const answer = proposalsOf([command('emptiness', many(5000)), command('drift', [candidate('z')])], planner)
  expect(answer.flatMap(({ candidates }) => candidates)).toHaveLength(300)
})

test('nodes that go together stay together, however many they are', () => {
  expect(proposalsOf([command('multi-node', many(400))], planner)[0]?.candidates).toHaveLength(400)
})

test('nothing is said to be saved where a price is not known', () => {
  const [known, unknown] = [candidate('a'), { ...candidate('b'), price: 999 }]
  const one = { savings: 0.1234567, candidates: [known], replacements: [] }
  expect(knownSavings(one)).toBe(0.123457)
  expect(knownSavings({ ...one, savings: 999.1, candidates: [known, unknown] })).toBe(0)
  expect(knownSavings({ ...one, savings: -998.9, replacements: [{ ...plannedClaim(), price: 999 }] })).toBe(0)
})
