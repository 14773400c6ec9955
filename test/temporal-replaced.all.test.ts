// Temporal behind a Service is replaced, where packets to the one before are dropped.
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { deployment, nodeClass, nodePool } from './applied-objects.ts'
import { BlackHole } from './faults/black-hole.ts'
import { expectWhole } from './whole.ts'
import { World } from './world.ts'

const pods = 4

let world: World
let service: BlackHole

beforeAll(async () => {
  world = await World.start({ cloud: 'instant' })
  await world.startWithPool(nodePool({ consolidateAfter: 'Never' }), nodeClass(), deployment({ apart: true }))
  service = await BlackHole.before(world.cluster.ports.temporal)
})

afterAll(async () => {
  await world?.stop()
  service?.stop()
})

afterEach(async () => {
  await world.scale('inflate', 0)
  await world.operator.kubectl(['delete', 'nodeclaims', '--all', '--wait=false'])
  await world.untilNothingLeft()
})

/** What this Joiner has logged, as soon as a line of it has the text. */
const untilLogged = (text: RegExp, since: number) =>
  world.until(`the log has ${text}`, async () => {
    const lines = (await world.cluster.supervisor.tail('joiner', 10_000)).split('\n').slice(since)
    return lines.find((line) => text.test(line))
  })

test.each([
  ['while the Service leads nowhere', false, /accepts connections and does not answer/],
  // A busy machine may not answer a new connection in time either.
  ['while the Service leads to the next one', true, /gets no answer, and a new one does|; trying again/],
])('it is reported %s, and the same process makes nodes', async (_when, isServed, problem) => {
  await world.cluster.supervisor.stop('joiner')
  const begun = (await world.cluster.supervisor.tail('joiner', 10_000)).split('\n').length
  world.startJoiner('joiner', { TEMPORAL_ADDRESS: service.address, TEMPORAL_TLS: 'false' })
  const { address } = JSON.parse(await untilLogged(/serving health and metrics/, begun)) as { address: string }
  await untilLogged(/"started workers"/, begun)
  const pid = world.cluster.supervisor.pids['joiner']
  service.lose()
  if (isServed) service.serve()
  await world.scale('inflate', pods)
  await untilLogged(problem, begun)
  if (!isServed) expect(await (await fetch(`${address}/readyz`)).text()).toContain('waiting for temporal: Temporal at')
  service.serve()
  await untilLogged(/"reconnected to Temporal"/, begun)
  await expectWhole(world, pods)
  expect(await (await fetch(`${address}/readyz`)).text()).toBe('ok')
  expect(world.cluster.supervisor.pids['joiner']).toBe(pid)
})
