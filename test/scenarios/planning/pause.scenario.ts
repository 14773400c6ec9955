// That no creation begins later than half a second after a pause was read: activities/provisioning/create-claims.test.ts.
import { loopStatusQuery, pauseSignal, resumeSignal } from '../../../workflows/messages.ts'
import { deployment, nodeClass, nodePool } from '../../applied-objects.ts'
import { untilResyncs } from '../../observed/metrics.ts'
import { type Seen, World } from '../../world.ts'
import { dated } from '../dated.ts'
import { afterAll, beforeAll, expect, test } from '../scenario.ts'

let world: World

beforeAll(async () => {
  world = await World.start({ cloud: 'instant' })
  startJoiner()
  await world.apply(nodePool(), nodeClass(), deployment({ apart: true }))
  await world.untilReady('general')
})

afterAll(() => world?.stop())

const startJoiner = () => world.startJoiner('joiner', { JOINER_RESYNC_INTERVAL: '2s' })

const names = (claims: readonly Seen[]) => claims.map(({ metadata }) => metadata.name).toSorted()

const eventCount = async () => (await world.loop('provisioning').describe()).historyLength

test('with 100 pods pending, a pause stops creation and costs almost no events; resume goes on', async () => {
  await world.scale('inflate', 100)
  await world.until('creation has begun', async () => (await world.list('nodeclaims')).length > 0)
  await world.loop('provisioning').signal(pauseSignal, { reason: 'maintenance' })
  await world.until(
    'the loop says that it is paused',
    async () => (await world.loop('provisioning').query(loopStatusQuery)).pause?.reason === 'maintenance',
  )
  // What was created before goes on to become nodes; a deleted pod's replacement stays pending.
  await world.until('what was created has become nodes', async () => {
    const claims = await world.list('nodeclaims')
    return (await world.list('nodes')).length === claims.length && (await world.running()) === claims.length
  })
  const created = await world.list('nodeclaims')
  await world.scale('inflate', 110)
  const before = await eventCount()
  // Restarts and resyncs in the middle: the pause holds, and nothing is written to the history.
  await world.crash()
  startJoiner()
  await untilResyncs(world, 3)
  expect(names(await world.list('nodeclaims'))).toEqual(names(created))
  expect(await eventCount()).toBe(before)
  // That it goes on is seen with some of them.
  const made = (await world.list('nodeclaims')).length + 10
  await world.scale('inflate', made)
  await world.loop('provisioning').signal(resumeSignal, dated())
  await world.untilRunning(made, 120_000)
  expect(await world.list('nodeclaims')).toHaveLength(made)
})
