import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { WorkQueueMetrics } from './work-queue-metrics.ts'

test('a key waits, is worked on, fails and waits again', async () => {
  const registry = new Registry()
  let nowMs = 0
  const metrics = new WorkQueueMetrics('bridge', () => nowMs, registry)
  const shown = async (name: string) =>
    (await registry.metrics()).match(
      new RegExp(`^workqueue_${name}\\{name="bridge",controller="bridge"\\} (.*)$`, 'm'),
    )?.[1]
  const all = async () => Promise.all(['depth', 'adds_total', 'retries_total', 'unfinished_work_seconds'].map(shown))
  expect(await all()).toEqual(['0', '0', '0', '0'])
  metrics.added('a')
  metrics.added('b')
  expect(await all()).toEqual(['2', '2', '0', '0'])
  nowMs = 3000
  metrics.began('a')
  nowMs = 5000
  expect(await all()).toEqual(['1', '2', '0', '2'])
  expect(await shown('longest_running_processor_seconds')).toBe('2')
  metrics.retried('a')
  metrics.ended('a')
  expect(await all()).toEqual(['2', '3', '1', '0'])
  expect(await Promise.all(['queue_duration_seconds_sum', 'work_duration_seconds_sum'].map(shown))).toEqual(['3', '2'])
  metrics.stopped()
  expect(await shown('depth')).toBe('0')
})
