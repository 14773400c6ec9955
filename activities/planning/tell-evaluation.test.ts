import type { Logger } from 'pino'
import { Registry } from 'prom-client'
import { expect, it } from 'vitest'
import { samplePool } from '../../core/sample-objects.ts'
import type { PlanningDeps } from './dependencies.ts'
import { DisruptionMetrics } from './disruption-metrics.ts'
import { tellEvaluation } from './tell-evaluation.ts'

it('each pass is measured, and a budget that blocks its pool is named once, with the remedy', async () => {
  const logged: unknown[] = []
  const pool = samplePool('web', { disruption: { budgets: [{ nodes: '1', schedule: '0 25 * * *', duration: '1h' }] } })
  const registry = new Registry()
  const deps = {
    now: () => 0,
    cache: { nodePools: new Map([['web', pool]]) } as unknown as PlanningDeps['cache'],
    disruptionMetrics: new DisruptionMetrics(registry),
    log: { error: (...entry: unknown[]) => logged.push(entry) } as unknown as Logger,
  }
  const count = { nodes: 3, disrupted: [], remaining: 0, allowed: 0 }
  const budgets = new Map([
    ['web', { ...count, invalid: true }],
    ['batch', { ...count, invalid: false }],
  ])
  const pass = { candidates: 2, commands: 0, budgets }
  tellEvaluation(deps, {
    passes: [
      { ...pass, method: 'emptiness', eligible: 0, milliseconds: 20 },
      { ...pass, method: 'drift', eligible: 4, milliseconds: 500 },
    ],
  })
  expect(logged).toEqual([
    [{ nodePool: 'web' }, expect.stringMatching(/budgets\[0\]\.schedule: "0 25 \* \* \*" cannot be read/)],
  ])
  const metrics = await registry.metrics()
  expect(metrics).toContain('eligible_nodes{reason="drifted"} 4')
  expect(metrics).toContain('evaluation_duration_seconds_sum{reason="drifted",consolidation_type=""} 0.5')
  expect(metrics).toContain('evaluation_duration_seconds_count{reason="empty",consolidation_type="empty"} 1')
})
