// Scenarios and evictions by a rate, as they change what the simulated Azure does while it runs.
import { afterEach, expect, test } from 'vitest'
import { isNotFoundAnswer } from '../../../activities/azure/arm/azure-error.ts'
import { simulatedAzure } from '../../../test/simulated-azure.ts'
import { group, vmBody } from '../../../test/simulator/sdk-clients.ts'

const { simulator, azure } = await simulatedAzure()

afterEach(async () => {
  await simulator.admin('DELETE', '/scenario')
  await simulator.admin('POST', '/settings', { quotas: {}, evictions: {} })
  await simulator.reset()
})

const vms = () => azure.compute.virtualMachines
const create = (name: string, changes = {}) =>
  vms().createOrUpdate(group, name, vmBody(name, changes), { updateIntervalInMs: 20 })
const spot = { priority: 'Spot', evictionPolicy: 'Delete' }
const play = (yaml: string) => simulator.admin('POST', '/scenario', { yaml })
const isGone = (name: string) =>
  vms()
    .get(group, name)
    .then(
      () => false,
      (error: unknown) => isNotFoundAnswer(error),
    )

test('steps happen at their times: settings, faults, and what becomes of VMs', async () => {
  await create('kept')
  await create('taken', spot)
  await play(`
steps:
  - at: 0
    settings: { quotas: { cores: 4 } }
    faults: [{ kind: failSync, code: AllocationFailed, match: { zone: 2 } }]
  # Later than a busy machine takes for three requests.
  - at: 3s
    clearFaults: true
    settings: { quotas: {} }
    vms: [{ do: evict }]
  - at: 1h
    vms: [{ do: delete }]
`)
  await expect(create('more', { zones: ['2'] }).submitted()).rejects.toMatchObject({ code: 'AllocationFailed' })
  await create('second')
  await expect(create('third').submitted()).rejects.toMatchObject({ code: 'OperationNotAllowed' })
  await simulator.until('the spot VM is gone', () => isGone('taken'))
  await create('third')
  expect(await isGone('kept')).toBe(false)
  expect(await simulator.admin('GET', '/scenario')).toMatchObject([
    { line: 3, atMs: 0, done: true },
    { line: 7, atMs: 3000, done: true },
    { line: 11, atMs: 3_600_000, done: false },
  ])
})

test('a scenario that is wrong is refused with the line, and changes nothing', async () => {
  await expect(play('steps:\n  - at: 0\n    settings: { quotas: { cores: -1 } }\n')).rejects.toThrow(
    /yaml:3: steps\[0\]\.settings\.quotas\.cores is -1: write a number of 0 or more/,
  )
  expect(await simulator.admin('GET', '/scenario')).toEqual([])
})

test('spot VMs go by the rate of evictions, others stay; no rate, and they stay too', async () => {
  await create('usual')
  await create('before', spot)
  await simulator.admin('POST', '/settings', { evictions: { perHour: 36_000 } })
  await create('after', spot)
  for (const name of ['before', 'after']) await simulator.until(`${name} is gone`, () => isGone(name))
  await simulator.admin('POST', '/settings', { evictions: { perHour: 0 } })
  await create('safe', spot)
  expect([await isGone('usual'), await isGone('safe')]).toEqual([false, false])
})
