import { lifecycleStatusQuery } from '../../../workflows/messages.ts'
import { deployment, nodeClass, nodePool } from '../../applied-objects.ts'
import { endOf } from '../../observed/lifecycle-ends.ts'
import { World } from '../../world.ts'
import { afterAll, beforeAll, expect, test } from '../scenario.ts'

let world: World

beforeAll(async () => {
  world = await World.start()
  await world.startWithPool(nodePool({ consolidateAfter: 'Never' }), nodeClass(), deployment())
})

afterAll(() => world?.stop())

interface Attempt {
  readonly kind: string
  readonly reason?: string
  readonly instanceType: string
  readonly zone: string
}

/** What each launch attempt came to, read from the workflow's history. */
async function attempts(workflowId: string): Promise<readonly Attempt[]> {
  const { events } = await world.temporal.workflow.getHandle(workflowId).fetchHistory()
  const launches = new Set(
    (events ?? []).flatMap((event) =>
      event.activityTaskScheduledEventAttributes?.activityType?.name === 'launch' ? [Number(event.eventId)] : [],
    ),
  )
  return (events ?? []).flatMap((event) => {
    const done = event.activityTaskCompletedEventAttributes
    if (!launches.has(Number(done?.scheduledEventId))) return []
    return [JSON.parse(Buffer.from(done?.result?.payloads?.[0]?.data ?? []).toString())]
  })
}

test('the first offering is refused, the second fails later, the same NodeClaim ends on the third', async () => {
  await world.fault({ kind: 'failSync', code: 'SkuNotAvailable', count: 1 })
  await world.fault({ kind: 'failAsync', code: 'AllocationFailed', count: 1 })
  await world.scale('inflate', 1)
  const [claim] = await world.until('a NodeClaim', async () => {
    const found = await world.list('nodeclaims')
    return found.length > 0 && found
  })
  await world.untilRunning(1)
  const after = await world.list('nodeclaims')
  expect(after.map(({ metadata }) => metadata.uid)).toEqual([claim?.metadata.uid])
  const [lifecycle] = await world.lifecycles()
  const tried = await attempts(lifecycle?.id ?? '')
  expect(tried.map(({ kind }) => kind)).toEqual(['capacity', 'launched', 'launched'])
  expect(tried[0]?.reason).toBe('SKUNotAvailable')
  expect(new Set(tried.map(({ instanceType, zone }) => `${instanceType} ${zone}`)).size).toBe(3)
  const { virtualMachines, networkInterfaces, disks } = await world.azure()
  expect(virtualMachines.map(({ state, size }) => [state, size])).toEqual([['Succeeded', tried[2]?.instanceType]])
  expect([networkInterfaces.length, disks.length]).toEqual([1, 1])
  const status = await world.temporal.workflow.getHandle(lifecycle?.id ?? '').query(lifecycleStatusQuery)
  expect(status.attempt).toBe(3)
  expect(status.lastCapacityFailure).toMatch(/AllocationFailure/)
})

test('when every offering is gone, an event says why and no NodeClaim stays behind', async () => {
  await world.fault({ kind: 'failSync', code: 'AllocationFailed', count: 10_000 })
  await world.apply(deployment({ name: 'late', replicas: 1, cpu: '60' }))
  const event = await world.until('an event names the lack of capacity', async () =>
    (await world.list('events')).find(({ reason }) => reason === 'InsufficientCapacityError'),
  )
  expect(event.message).toMatch(/\d+ fit, in \d+ offerings; \d+ are marked AllocationFailure, the first until 20/)
  await world.until(
    'only the claim of the running pod is left',
    async () => (await world.list('nodeclaims')).length === 1,
  )
  expect((await world.azure()).virtualMachines).toHaveLength(1)
  const failed = await world.until('the failed lifecycle is listed', async () => {
    const found = await world.lifecycles("ExecutionStatus = 'Failed'")
    return found.length > 0 && found
  })
  const refused = event.involvedObject?.name ?? ''
  expect(failed.map(({ nodeClaim }) => nodeClaim)).toEqual([refused])
  const end = await endOf(world, refused)
  expect(end).toMatchObject({
    status: 'FAILED',
    type: 'Refused',
    outcome: 'refused',
    reason: expect.stringMatching(/^gave up: insufficient_capacity: /),
  })
  expect(end).not.toHaveProperty('vm')
  expect(end.message).toMatch(
    new RegExp(
      `^NodeClaim ${refused} never became ready: \\d+ launch attempts, last refused Standard_.*; gave up: insuff`,
    ),
  )
  expect(await world.joiner('history', 'node', refused)).toContain('went: gave up: insufficient_capacity')
})
