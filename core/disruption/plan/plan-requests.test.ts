import { expect, test } from 'vitest'
import { applyRefusal, consolidateAskedFor, consolidateRefusal, pauseOfRequest, planRefusal } from './plan-requests.ts'

test.each<[unknown, RegExp | undefined]>([
  [undefined, undefined],
  [null, undefined],
  [{}, undefined],
  [
    { nodePools: ['general'], nodes: ['aks-1'], budget: 3, by: 'alice', reasons: ['Empty', 'Drifted'], now: true },
    undefined,
  ],
  [{ nodepool: 'general' }, /plan: nodepool: not a field; use nodePools, nodes, budget, by, at, reasons, now/],
  [{ nodePools: 'general' }, /nodePools "general": not a list of names/],
  [{ nodes: [] }, /nodes \[\]: not a list of names; leave it out/],
  [{ nodes: ['A b'] }, /nodes: "A b": not the name of an object/],
  [{ budget: 0 }, /budget 0: not a whole number of nodes from 1 on/],
  [{ budget: '10%' }, /budget "10%": not a whole number/],
  [{ reasons: ['Expired'] }, /reasons \["Expired"\]: not a list of Empty, Drifted, Underutilized/],
  [{ now: 'yes' }, /now "yes": not true or false/],
  [{ by: 7 }, /by 7: not a text/],
])('a plan of %j', (request, expected) => {
  const refusal = planRefusal(request)
  if (expected === undefined) expect(refusal).toBeUndefined()
  else expect(refusal).toMatch(expected)
})

test.each<[unknown, RegExp | undefined]>([
  [{ id: '3f9a01c2' }, undefined],
  [{ id: '3f9a01c2', partial: true, by: 'alice' }, undefined],
  [undefined, /id undefined: not the id of a plan; make one with joiner plan/],
  [{ id: 'plan.json' }, /id "plan.json": not the id/],
  [{ id: '9f9a01c2' }, /not the id/],
  [{ id: '3f9a01c2', partial: 1 }, /partial 1: not true or false/],
])('an apply of %j', (request, expected) => {
  const refusal = applyRefusal(request)
  if (expected === undefined) expect(refusal).toBeUndefined()
  else expect(refusal).toMatch(expected)
})

test('an unreadable signal does nothing', () => {
  expect(consolidateRefusal({ reasons: ['Empty'] })).toMatch(/reasons: not a field/)
  expect(consolidateAskedFor(undefined)).toEqual({})
  expect(consolidateAskedFor({ nodePools: ['general'], budget: null })).toEqual({ nodePools: ['general'] })
  expect(consolidateAskedFor({ nodePool: 'general' })).toBeUndefined()
  expect(consolidateAskedFor('general')).toBeUndefined()
})

test('a request that pauses cover entirely cannot be carried out', () => {
  const pause = (kind: 'nodePool' | 'node', name: string) => ({ reason: name, sinceMs: 0, scope: { kind, name } })
  const pauses = [pause('nodePool', 'gpu'), pause('node', 'aks-1')]
  expect(pauseOfRequest({ nodePools: ['gpu'] }, pauses)?.reason).toBe('gpu')
  expect(pauseOfRequest({ nodePools: ['gpu', 'web'] }, pauses)).toBeUndefined()
  expect(pauseOfRequest({ nodePools: ['web'], nodes: ['aks-1'] }, pauses)?.reason).toBe('aks-1')
  expect(pauseOfRequest({}, pauses)).toBeUndefined()
})
