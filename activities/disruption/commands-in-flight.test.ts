import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { annotations } from '../../core/requirements/labels.ts'
import { sampleClaim } from '../../test/samples/sample-objects.ts'
import { observeCommandsInFlight } from './budget-metrics.ts'

test('each command counts once, however many nodes it has, and is gone with its stamps', async () => {
  const registry = new Registry()
  const stamped = (name: string, id: string) =>
    sampleClaim(name, { metadata: { annotations: { [annotations.disruptionCommand]: id } } })
  let claims = [
    stamped('a', 'multi-node-0123456789-00000000'),
    stamped('b', 'multi-node-0123456789-00000000'),
    stamped('c', 'drift-0123456789-00000001'),
    stamped('d', 'drift-0123456789-00000002'),
    sampleClaim('e'),
  ]
  observeCommandsInFlight({ values: () => claims }, () => true, registry)
  const shown = async () => (await registry.metrics()).split('\n').filter((line) => line.startsWith('joiner_'))
  expect(await shown()).toEqual([
    'joiner_disruption_commands_in_flight{reason="underutilized",consolidation_type="multi"} 1',
    'joiner_disruption_commands_in_flight{reason="drifted",consolidation_type=""} 2',
  ])
  claims = [sampleClaim('a')]
  expect(await shown()).toEqual([])
})
