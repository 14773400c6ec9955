import { expect, test } from 'vitest'
import type { WaitingClass } from '../../../core/scheduling/explain/waiting-classes.ts'
import { pendingClasses } from './cluster-model.ts'
import type { PodFact } from './facts.ts'

function waiting(...pods: readonly (readonly [name: string, reason: string, message: string, sinceMs?: number])[]) {
  return new Map(
    pods.map(([name, reason, message, sinceMs = 5]): [string, PodFact] => [
      name,
      { key: name, box: [name, 1, 1], wait: { sinceMs, reason, message } },
    ]),
  )
}

const found = (pods: readonly string[], count: number): WaitingClass => ({
  state: 'unschedulable',
  cause: 'too-big',
  pods,
  count,
  sinceMs: 0,
  plannedOn: [],
  finding: 'too big',
  funnel: [],
  remedies: [],
})

test('pods of which kube-scheduler says the same are one class, the largest first', () => {
  const classes = pendingClasses(
    waiting(
      ['shop/a', 'Unschedulable', 'taint', 7],
      ['shop/c', 'Unschedulable', 'cpu', 3],
      ['shop/b', 'Unschedulable', 'cpu', 9],
      ['shop/d', 'SchedulingGated', ''],
      ['shop/e', '', ''],
    ),
  )
  expect(classes.map(({ state, pods, count, sinceMs, finding }) => ({ state, pods, count, sinceMs, finding }))).toEqual(
    [
      { state: 'unschedulable', pods: ['shop/b', 'shop/c'], count: 2, sinceMs: 3, finding: 'cpu' },
      { state: 'unschedulable', pods: ['shop/a'], count: 1, sinceMs: 7, finding: 'taint' },
      { state: 'held', pods: ['shop/d'], count: 1, sinceMs: 5, finding: 'SchedulingGated' },
      { state: 'held', pods: ['shop/e'], count: 1, sinceMs: 5, finding: 'kube-scheduler has not tried it yet' },
    ],
  )
})

test('a class names a few pods, and there are not more than fifty classes', () => {
  const alike = Array.from({ length: 100 }, (_, at) => [`shop/a-${at}`, 'Unschedulable', 'cpu'] as const)
  const apart = Array.from({ length: 100 }, (_, at) => [`shop/b-${at}`, 'Unschedulable', `cause ${at}`] as const)
  const classes = pendingClasses(waiting(...alike, ...apart))
  expect([classes.length, classes[0]?.count, classes[0]?.pods.length]).toEqual([50, 100, 5])
})

test('findings are sorted by size, and those about pods that wait no longer are left out', () => {
  const pods = waiting(['shop/a', 'Unschedulable', 'cpu'], ['shop/b', 'Unschedulable', 'cpu'])
  const classes = pendingClasses(pods, [found(['shop/a'], 1), found(['shop/gone'], 9), found(['shop/b', 'shop/x'], 4)])
  expect(classes.map(({ count }) => count)).toEqual([4, 1])
})

test('nothing waits', () => expect(pendingClasses(new Map(), [found(['shop/a'], 1)])).toEqual([]))
