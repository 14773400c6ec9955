// Token buckets and the counting of calls, as Joiner's SDK clients meet them.
import { afterEach, expect, test } from 'vitest'
import { armErrorCode, retryAfterSeconds } from '../../../activities/azure/arm/azure-error.ts'
import { simulatedAzure } from '../../../test/simulated-azure.ts'
import { arm, collect, credential, group, plainClient, vmBody } from '../../../test/simulator/sdk-clients.ts'

import type { BucketCounts, ThrottlingSetting } from './throttling/throttling.ts'

const { simulator, azure } = await simulatedAzure()

afterEach(async () => {
  await throttle('off')
  await simulator.reset()
})

const vms = () => azure.compute.virtualMachines
const create = (name: string) => vms().createOrUpdate(group, name, vmBody(name), { updateIntervalInMs: 20 })
const throttle = (setting: ThrottlingSetting) => simulator.admin('POST', '/settings', { throttling: setting })

async function buckets(): Promise<Readonly<Record<string, BucketCounts>>> {
  const { buckets: counts } = await simulator.admin<{ buckets: Record<string, BucketCounts> }>('GET', '/throttling')
  return counts
}

test('nothing is throttled, and no header speaks of limits, unless that is asked for', async () => {
  const { token } = await credential(simulator).getToken('https://management.azure.com/.default')
  const path = `${arm('Microsoft.Compute', 'virtualMachines', 'vm')}?api-version=2026-04-01`
  for (let count = 0; count < 50; count += 1) expect((await simulator.send('GET', path, { token })).status).toBe(404)
  expect(await buckets()).toEqual({})
})

test('an empty bucket of Compute refuses as Compute does, and the SDK itself comes back when it may', async () => {
  await throttle({ createVm: { tokens: 1, refillPerMinute: 60 } })
  await create('first')
  const refused = await create('second')
    .submitted()
    .then(undefined, (error: unknown) => error)
  expect(refused).toMatchObject({ statusCode: 429, code: 'OperationNotAllowed' })
  expect(retryAfterSeconds(refused)).toBe(1)
  await plainClient(simulator).compute.virtualMachines.createOrUpdate(group, 'third', vmBody('third')).submitted()
  const { createVm } = await buckets()
  expect(createVm).toMatchObject({ taken: 2, earlyRetries: 0 })
  expect(createVm?.refused).toBeGreaterThan(0)
})

test('a client that does not wait is reported on', async () => {
  await throttle({ listVms: { tokens: 1, refillPerMinute: 1 } })
  await collect(vms().list(group))
  for (let count = 0; count < 3; count += 1)
    expect(armErrorCode(await collect(vms().list(group)).catch((error: unknown) => error))).toBe('OperationNotAllowed')
  expect((await buckets())['listVms']).toEqual({ taken: 1, refused: 3, early: 2, earlyRetries: 2 })
})

test('ARM itself refuses writes in its own words', async () => {
  await throttle({ armWrites: { tokens: 1, refillPerMinute: 1 } })
  await create('one')
  const error = await create('two')
    .submitted()
    .then(undefined, (reason: unknown) => reason)
  expect(error).toMatchObject({ statusCode: 429, code: 'SubscriptionRequestsThrottled' })
  expect(retryAfterSeconds(error)).toBe(60)
})

test('calls are counted by operation and by VM since the last clearing', async () => {
  await simulator.admin('DELETE', '/calls')
  await create('one')
  await vms().get(group, 'one')
  await collect(vms().list(group))
  await vms().delete(group, 'one', { updateIntervalInMs: 20 })
  expect((await simulator.callsByVm())['one']).toMatchObject({ 'PUT virtualMachines': 1, 'DELETE virtualMachines': 1 })
  expect(await simulator.calls()).toMatchObject({ 'LIST virtualMachines': 1, 'DELETE virtualMachines': 1 })
  await simulator.admin('DELETE', '/calls')
  expect(await simulator.calls()).toEqual({})
})

test('tags of a NIC change in place, and of a disk that is left it is deleted by itself', async () => {
  await vms().createOrUpdate(group, 'vm', {
    ...vmBody('vm'),
    storageProfile: { osDisk: { name: 'kept', createOption: 'FromImage', deleteOption: 'Detach', diskSizeGB: 64 } },
  })
  await azure.network.networkInterfaces.updateTags(group, 'vm-nic', { tags: { team: 'blue' } })
  expect((await azure.network.networkInterfaces.get(group, 'vm-nic')).tags).toEqual({ team: 'blue' })
  await expect(azure.compute.disks.delete(group, 'kept')).rejects.toMatchObject({ code: 'OperationNotAllowed' })
  await vms().delete(group, 'vm', { updateIntervalInMs: 20 })
  expect((await simulator.state()).disks).toEqual(['kept'])
  await azure.compute.disks.delete(group, 'kept')
  expect((await simulator.state()).disks).toEqual([])
})
