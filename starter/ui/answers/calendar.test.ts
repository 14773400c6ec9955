import { expect, test } from 'vitest'
import type { NodePool } from '../../../core/objects.ts'
import { type Pause, Pauses } from '../../../core/pauses/pauses.ts'
import { calendarOf } from './calendar.ts'

const hourMs = 3_600_000
// A Monday.
const now = Date.UTC(2026, 10, 23, 6)

test('spans join the reasons for which budgets allow the same, and pauses of both loops are named by their scope', () => {
  const pool = {
    metadata: { name: 'general', uid: 'general', labels: {}, annotations: {} },
    disruption: {
      budgets: [{ nodes: '2' }, { nodes: '0', reasons: ['Drifted'], schedule: '0 9 * * mon', duration: '8h' }],
    },
  } as unknown as NodePool
  const onPool: Pause = { reason: 'training', by: 'alice', sinceMs: now, scope: { kind: 'nodePool', name: 'gpu' } }
  const whole: Pause = { reason: 'release day', sinceMs: now, untilMs: now + hourMs }
  const { pools, pauses, fromMs, toMs } = calendarOf(
    { nodePools: [pool], nodes: [], nodeClaims: [], pauses: new Pauses([onPool]) },
    [whole],
    now,
  )
  expect((toMs - fromMs) / hourMs).toBe(7 * 24)
  expect(
    pools[0]?.spans.map((span) => [
      (span.fromMs - now) / hourMs,
      (span.toMs - now) / hourMs,
      span.allowed,
      span.reasons,
    ]),
  ).toEqual([
    [0, 7 * 24, 2, ['Unhealthy', 'Empty', 'Underutilized']],
    [0, 3, 2, ['Drifted']],
    [3, 11, 0, ['Drifted']],
    [11, 7 * 24, 2, ['Drifted']],
  ])
  expect(pools[0]?.spans[2]?.limitedBy).toBe('0 by "0 9 * * mon" for 8h (budgets[1])')
  expect(pauses).toEqual([
    { loop: 'disruption', scope: 'nodepool gpu', reason: 'training', by: 'alice', sinceMs: now },
    { loop: 'provisioning', scope: 'all', reason: 'release day', sinceMs: now, untilMs: now + hourMs },
  ])
})
