// A replica that stands still for a while, and does not know that another one works in its place.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { loopStatusQuery, pauseSignal, resumeSignal } from '../../workflows/messages.ts'
import { dated } from '../scenarios/dated.ts'
import { expectWhole } from '../whole.ts'
import { claimsPath, type World } from '../world.ts'
import { Durable } from './durable.ts'

/** NodeClaims that are created at once (activities/provisioning/create-claims.ts). */
const atOnce = 16
let durable: Durable

beforeAll(async () => {
  durable = await Durable.start()
})

afterAll(() => durable?.stop())

test('a planner that stood still in the midst of creating NodeClaims creates nothing on top of its successor', async () => {
  const { world, proxy } = durable
  const { supervisor } = world.cluster
  const before = (await world.list('nodeclaims')).length
  const asked: string[] = []
  proxy.listen({ asked: ({ method, path }) => void asked.push(`${method} ${path}`) })
  const create = proxy.hold(({ method, path }) => method === 'POST' && path === claimsPath)
  await scaleAtOnce(world, before + atOnce + 2)
  await world.until('as many as are created at once', async () => asked.filter(isCreate).length === atOnce)
  const answers: (() => Promise<void>)[] = []
  for (let count = 0; count < atOnce; count += 1) answers.push(await create.carryOut())
  await supervisor.kill('joiner', 'SIGSTOP')
  expect(await world.list('nodeclaims')).toHaveLength(before + atOnce)
  durable.startDirect('second')
  await expectWhole(world, before + atOnce + 2)
  create.release()
  asked.length = 0
  await supervisor.kill('joiner', 'SIGCONT')
  await Promise.all(answers.map((answer) => answer()))
  // Every few seconds it asks for the Lease of the bridge. What it would do with the answers comes before that.
  const leases = () => asked.filter((request) => request.endsWith('/leases/joiner-bridge')).length
  await world.until('it goes on with other work', async () => leases() >= 3)
  expect(asked.filter(isCreate)).toEqual([])
  await expectWhole(world, before + atOnce + 2)
  await supervisor.stop('joiner')
})

const isCreate = (request: string) => request === `POST ${claimsPath}`

/** Scales up so that all the pods are in one plan: the loop is paused until they wait for nodes. */
async function scaleAtOnce(world: World, replicas: number): Promise<void> {
  const loop = world.loop('provisioning')
  await loop.signal(pauseSignal, { reason: 'until all pods wait' })
  await world.until('planning is paused', async () => (await loop.query(loopStatusQuery)).pause !== undefined)
  const placed = await world.running()
  await world.scale('inflate', replicas)
  await world.until('kube-scheduler has a place for none of the new pods', async () => {
    const pods = await world.list('pods')
    const refused = pods.filter(({ status }) => status?.conditions?.some(({ reason }) => reason === 'Unschedulable'))
    return refused.length === replicas - placed
  })
  await loop.signal(resumeSignal, dated())
}
