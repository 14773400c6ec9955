// Held to 2 s with a hundred launches on their way, so nothing runs beside it.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { loopStatusQuery, pauseSignal, resumeSignal } from '../workflows/messages.ts'
import { deployment, nodeClass, nodePool } from './applied-objects.ts'
import { World } from './world.ts'

let world: World

beforeAll(async () => {
  world = await World.start()
  world.startJoiner('joiner', { JOINER_RESYNC_INTERVAL: '5s' })
  await world.apply(nodePool(), nodeClass(), deployment({ apart: true }))
  await world.untilReady('general')
})

afterAll(() => world?.stop())

const graceMs = 2000

const eventCount = async () => (await world.loop('provisioning').describe()).historyLength

/** Creation times have whole seconds, so what began in the last second of the grace may carry the next one. */
function isLate(timestamp: string, acceptedMs: number): boolean {
  return Date.parse(timestamp) > acceptedMs + graceMs
}

test('with 100 pods pending, a pause stops creation within 2 s and costs almost no events; resume goes on', async () => {
  await world.scale('inflate', 100)
  await world.until('creation has begun', async () => (await world.list('nodeclaims')).length > 0)
  await world.loop('provisioning').signal(pauseSignal, { reason: 'maintenance' })
  const acceptedMs = Date.now()
  await world.until(
    'the loop says that it is paused',
    async () => (await world.loop('provisioning').query(loopStatusQuery)).pause?.reason === 'maintenance',
  )
  // What was created before goes on to become nodes; a deleted pod's replacement stays pending.
  await world.until('what was created has become nodes', async () => {
    const claims = await world.list('nodeclaims')
    return (await world.list('nodes')).length === claims.length && (await world.running()) === claims.length
  })
  await world.scale('inflate', 110)
  const before = await eventCount()
  // Restarts and resyncs in the middle: the pause holds, and nothing is written to the history.
  await world.crash()
  world.startJoiner('joiner', { JOINER_RESYNC_INTERVAL: '5s' })
  await new Promise((resolve) => setTimeout(resolve, 12_000))
  expect(
    (await world.list('nodeclaims')).filter(({ metadata }) => isLate(metadata.creationTimestamp, acceptedMs)),
  ).toEqual([])
  expect(await eventCount()).toBe(before)
  // That it goes on is seen with some of them.
  const made = (await world.list('nodeclaims')).length + 10
  await world.scale('inflate', made)
  await world.loop('provisioning').signal(resumeSignal)
  await world.untilRunning(made, 120_000)
  expect(await world.list('nodeclaims')).toHaveLength(made)
})
