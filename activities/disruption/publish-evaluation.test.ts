import type { Logger } from 'pino'
import { Registry } from 'prom-client'
import { expect, it } from 'vitest'
import { sampleClaim, sampleNode, samplePool } from '../../test/samples/sample-objects.ts'
import { DisruptionMetrics } from './metrics.ts'
import { type PublishEvaluationDeps, publishEvaluation } from './pass.ts'

it('each pass is measured, each judged move counted, and a budget that blocks its pool is named once, with the remedy', async () => {
  const logged: unknown[] = []
  const pool = samplePool('web', { disruption: { budgets: [{ nodes: '1', schedule: '0 25 * * *', duration: '1h' }] } })
  const registry = new Registry()
  const deps = {
    now: () => 0,
    cache: { nodePools: new Map([['web', pool]]) } as unknown as PublishEvaluationDeps['cache'],
    disruptionMetrics: new DisruptionMetrics(registry),
    log: { error: (...entry: unknown[]) => logged.push(entry) } as unknown as Logger,
  }
  const count = { nodes: 3, disrupted: [], remaining: 0, allowed: 0 }
  const budgets = new Map([
    ['web', { ...count, invalid: true }],
    ['batch', { ...count, invalid: false }],
  ])
  const pass = { candidates: ['n1', 'n2'], commands: 0, budgets }
  const balanced = samplePool('web', { disruption: { consolidationPolicy: 'Balanced' } })
  const candidate = {
    nodeClaim: sampleClaim('a'),
    node: sampleNode('a'),
    nodePool: balanced,
    pods: [],
    reschedulable: [],
    instanceType: undefined,
    price: 1,
    disruptionCost: 2,
  }
  const note = { method: 'single-node', candidate, cause: { kind: 'chosen-underutilized' } } as const
  const score = { nodePool: 'web', value: 1.5, savings: 0.3, disruption: 0.2 }
  publishEvaluation(deps, {
    passes: [
      { ...pass, method: 'emptiness', eligible: 0, milliseconds: 20 },
      { ...pass, method: 'drift', eligible: 4, milliseconds: 500 },
    ],
    notes: [
      { ...note, outcome: 'chosen', scores: [score] },
      { ...note, outcome: 'rejected', scores: [{ ...score, value: 0.2 }] },
      { ...note, outcome: 'rejected' },
      { ...note, method: 'drift', outcome: 'chosen', scores: [score] },
    ],
  })
  expect(logged).toEqual([
    [{ nodePool: 'web' }, expect.stringMatching(/budgets\[0\]\.schedule: "0 25 \* \* \*" cannot be read/)],
  ])
  const metrics = await registry.metrics()
  expect(metrics).toContain('eligible_nodes{reason="drifted"} 4')
  expect(metrics).toContain('evaluation_duration_seconds_sum{reason="drifted",consolidation_type=""} 0.5')
  expect(metrics).toContain('evaluation_duration_seconds_count{reason="empty",consolidation_type="empty"} 1')
  const moves = (decision: string) => `{decision="${decision}",nodepool="web",policy="Balanced"}`
  expect(metrics).toContain(`karpenter_consolidation_moves_total${moves('approved')} 1\n`)
  expect(metrics).toContain(`karpenter_consolidation_moves_total${moves('rejected')} 1\n`)
  expect(metrics).toContain(`karpenter_consolidation_score_sum${moves('approved')} 1.5\n`)
})
