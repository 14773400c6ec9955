import { totalmem } from 'node:os'
import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { observeProcess } from './process-metrics.ts'

test('a process says whether it is ready, has Temporal and leads, as it is at the scrape', async () => {
  const registry = new Registry()
  let reasons: readonly string[] = ['waiting for temporal']
  let reaches = false
  const leases = new Map<string, boolean>()
  observeProcess(
    { roles: ['core', 'bridge'], notReady: () => reasons, isTemporalReachable: () => reaches, leases: () => leases },
    registry,
  )
  const shown = async () => (await registry.metrics()).split('\n').filter((line) => /^[a-z].*[01]$/.test(line))
  const values = (ready: number, temporal: number) => [
    `joiner_process_ready{role="core"} ${ready}`,
    `joiner_process_ready{role="bridge"} ${ready}`,
    `joiner_temporal_reachable ${temporal}`,
  ]
  expect((await shown()).filter((line) => !line.includes('memory'))).toEqual(values(0, 0))
  ;[reasons, reaches] = [[], true]
  leases.set('joiner-bridge', true).set('joiner-planner', false)
  expect((await shown()).filter((line) => !line.includes('memory'))).toEqual([
    ...values(1, 1),
    'leader_election_master_status{name="joiner-bridge"} 1',
    'leader_election_master_status{name="joiner-planner"} 0',
  ])
  const [limit] = (await registry.getSingleMetric('joiner_process_memory_limit_bytes')?.get())?.values ?? []
  expect(limit?.value).toBeGreaterThan(2 ** 27)
  expect(limit?.value).toBeLessThanOrEqual(totalmem())
})
