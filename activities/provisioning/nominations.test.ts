import { expect, test } from 'vitest'
import { Nominations } from './nominations.ts'

// Upstream state, Node Resource Level: a node is nominated until the nomination time passes, twice the longest batch window and at least 10 s.
test.each([
  [10_000, 20_000],
  [1000, 10_000],
])('with a batch window of at most %i ms a node is nominated for %i ms', (batchMaxMs, ms) => {
  const nominations = new Nominations(batchMaxMs)
  nominations.nominate('pod', 'node', 0)
  expect([...nominations.targets(ms - 1)]).toEqual(['node'])
  expect([...nominations.targets(ms)]).toEqual([])
})

test('a second nomination of the node holds from its own time', () => {
  const nominations = new Nominations(10_000)
  nominations.nominate('p', 'node', 0)
  nominations.nominate('q', 'node', 15_000)
  expect([...nominations.targets(34_999)]).toEqual(['node'])
  expect([...nominations.targets(35_000)]).toEqual([])
})

test('after the clock was set back no node is held by an earlier nomination, and by a new one as ever', () => {
  const nominations = new Nominations(10_000)
  const days = 31 * 86_400_000
  nominations.nominate('p', 'node', days)
  expect([...nominations.targets(days)]).toEqual(['node'])
  expect([...nominations.targets(1)]).toEqual([])
  nominations.nominate('p', 'node', 1)
  expect(nominations.plannedSince('p')).toBe(1)
  expect([...nominations.targets(20_000)]).toEqual(['node'])
  expect([...nominations.targets(20_001)]).toEqual([])
})

// Upstream state, Pod Ack: the mapping of a pod to its NodeClaim is forgotten when the pod is deleted or not placed any more.
test('a pod is known to its target until it is not pending any more', () => {
  const nominations = new Nominations(10_000)
  nominations.nominate('p', 'claim-1', 0)
  nominations.nominate('q', 'claim-2', 0)
  expect(nominations.targetOf('p')).toBe('claim-1')
  nominations.keepOnly(new Set(['q']))
  expect([nominations.targetOf('p'), nominations.targetOf('q')]).toEqual([undefined, 'claim-2'])
  expect([...nominations.targets(1)]).toEqual(['claim-2'])
})

test('a pod is planned onto a target since it was first planned there in a row', () => {
  const nominations = new Nominations(10_000)
  const planned = () => [nominations.plannedSince('p'), nominations.plannedAt('p')]
  nominations.nominate('p', 'a', 1)
  nominations.nominate('p', 'a', 2)
  expect(planned()).toEqual([1, 2])
  nominations.nominate('p', 'b', 3)
  expect(planned()).toEqual([3, 3])
  expect([[...nominations.podsOf('a')], [...nominations.podsOf('b')]]).toEqual([[], ['p']])
  nominations.forget('p')
  nominations.nominate('p', 'b', 4)
  expect(planned()).toEqual([4, 4])
})
