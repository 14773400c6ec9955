import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { metricLines } from '../../test/fakes/deps.ts'
import { ReconcileMetrics } from './reconcile-metrics.ts'

const metricsOf = () => {
  const registry = new Registry()
  const metrics = new ReconcileMetrics(registry)
  const run = (activity: string, work: () => Promise<unknown>, isCancelled = false) =>
    metrics.measure({ activity, slots: 10, isCancelled: () => isCancelled }, work).catch(() => {})
  return { registry, run }
}
const fails = () => Promise.reject(new Error('no'))

test('attempts count as reconciles of the controller that does the same upstream; what is called off is no error', async () => {
  const { registry, run } = metricsOf()
  await run('observe', async () => {})
  await run('finalize', fails)
  await run('awaitNode', fails, true)
  const of = (result: string) =>
    `controller_runtime_reconcile_total{controller="nodeclaim.lifecycle",result="${result}"}`
  expect(await metricLines(registry, 'controller_runtime_reconcile_total{')).toEqual([
    `${of('success')} 1`,
    `${of('error')} 1`,
    `${of('requeue')} 1`,
    `${of('requeue_after')} 0`,
  ])
  expect(await metricLines(registry, 'controller_runtime_reconcile_errors_total{')).toEqual([
    'controller_runtime_reconcile_errors_total{controller="nodeclaim.lifecycle"} 1',
  ])
  // What waits has no duration.
  expect(await metricLines(registry, 'controller_runtime_reconcile_time_seconds_count{')).toEqual([
    'controller_runtime_reconcile_time_seconds_count{controller="nodeclaim.lifecycle"} 2',
  ])
})

test('what runs is active, and an activity that upstream has no controller for has its own name', async () => {
  const { registry, run } = metricsOf()
  let end: () => void = () => {}
  const running = run('readPause', () => new Promise<void>((resolve) => (end = resolve)))
  const active = () => metricLines(registry, 'controller_runtime_active_workers{')
  expect(await active()).toEqual(['controller_runtime_active_workers{controller="readPause"} 1'])
  end()
  await running
  expect(await active()).toEqual(['controller_runtime_active_workers{controller="readPause"} 0'])
  expect(await metricLines(registry, 'controller_runtime_max_concurrent_reconciles{')).toEqual([
    'controller_runtime_max_concurrent_reconciles{controller="readPause"} 10',
  ])
})
