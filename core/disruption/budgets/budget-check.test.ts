import { expect, it } from 'vitest'
import type { Budget } from '../../objects.ts'
import { budgetFindings } from './budget-check.ts'
import { allowedDisruptions } from './budgets.ts'

const now = Date.parse('2026-03-04T12:00:00Z')

it.each<[Budget, RegExp]>([
  [{ nodes: 'some' }, /^spec\.disruption\.budgets\[1\]\.nodes: "some" is neither a number nor a percentage/],
  [{ nodes: '1', duration: '8h' }, /duration: "8h" has no schedule/],
  [{ nodes: '1', schedule: '@daily', duration: 'a day' }, /duration: "a day" is not a duration/],
  [{ nodes: '1', schedule: '0 9 * * 7', duration: '8h' }, /schedule: "0 9 \* \* 7" cannot be read.*Sunday is 0/],
  [{ nodes: '1', schedule: '', duration: '8h' }, /has no schedule/],
])('%j blocks all, and says so', (budget, message) => {
  const budgets = [{ nodes: '10%' }, budget]
  expect(budgetFindings(budgets, now)).toEqual([
    { index: 1, isBlocking: true, message: expect.stringMatching(message) as string },
  ])
  expect(allowedDisruptions({ budgets, nodes: 10, reason: 'Empty', now })).toMatchObject({ allowed: 0, invalid: true })
})

it.each<[Budget, RegExp]>([
  [{ nodes: '1', reasons: [] }, /reasons: an empty list/],
  [{ nodes: '1', schedule: '@daily' }, /has no duration, so it is never in force/],
  [{ nodes: '1', schedule: '@every 1h', duration: '10m' }, /it is never in force/],
  [{ nodes: '1', schedule: '@every 1h', duration: '60m' }, /it is always in force/],
  [{ nodes: '1', schedule: '0 0 31 2 *', duration: '1h' }, /counts as always in force/],
])('%j is odd', (budget, message) => {
  expect(budgetFindings([budget], now)).toEqual([
    { index: 0, isBlocking: false, message: expect.stringMatching(message) as string },
  ])
})

it('reports nothing about valid budgets', () => {
  const budgets = [{ nodes: '10%' }, { nodes: '0', reasons: ['Drifted'], schedule: '0 9 * * mon-fri', duration: '8h' }]
  expect(budgetFindings(budgets, now)).toEqual([])
})
