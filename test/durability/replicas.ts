// Two replicas, of which one ends in order, or stands still for a while.
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js'
import { expect, test } from 'vitest'
import { loopStatusQuery, pauseSignal, resumeSignal } from '../../workflows/messages.ts'
import { expectWhole } from '../whole.ts'
import { claimsPath, type World } from '../world.ts'
import type { Durable } from './durable.ts'

/** NodeClaims that are created at once (activities/provisioning/create-claims.ts). */
const atOnce = 16

export function replicaTests(durable: () => Durable): void {
  test('SIGTERM of one of two replicas: the other plans at once, without waiting until the first counts as lost', async () => {
    const { world } = durable()
    const direct = (name: string) => durable().startDirect(name)
    await begin(world, 'second', direct)
    // The one that has run longer has the poll.
    for (const [ended, start] of [
      ['joiner', (name: string) => durable().startBehindProxies(name)],
      ['second', direct],
    ] as const) {
      const claims = (await world.list('nodeclaims')).length
      const events = (await loopEvents(world)).length
      await world.scale('inflate', claims + 1)
      await world.cluster.supervisor.kill(ended, 'SIGTERM')
      await expectWhole(world, claims + 1)
      const planned = await world.until('the plan is in the history', async () => {
        const added = (await loopEvents(world)).slice(events)
        return added.some((event) => event.includes('"kind":"planned"')) && added
      })
      // An attempt that was given up in order failed or was cancelled; one that is lost runs into its heartbeat timeout.
      expect(planned.filter((event) => event.includes('timeoutFailureInfo'))).toEqual([])
      await begin(world, ended, start)
    }
  })

  test('a planner that stood still in the midst of creating NodeClaims creates nothing on top of its successor', async () => {
    const { world, proxy } = durable()
    const { supervisor } = world.cluster
    await supervisor.stop('second')
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
    durable().startDirect('second')
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
}

const isCreate = (request: string) => request === `POST ${claimsPath}`

/** Starts a process, and waits until it works. */
async function begin(world: World, name: string, start: (name: string) => void): Promise<void> {
  const begun = async () => (await world.cluster.supervisor.tail(name, 100_000)).split('"msg":"started workers"').length
  const before = await begun()
  start(name)
  await world.until(`${name} works`, async () => (await begun()) > before)
}

/** The events of the planning loop's present run, as text. Payloads are decoded. */
async function loopEvents(world: World): Promise<readonly string[]> {
  const history = historyToJSON(await world.loop('provisioning').fetchHistory())
  const { events } = JSON.parse(history) as { readonly events: readonly object[] }
  const decoded = (key: string, value: unknown) =>
    key === 'data' && typeof value === 'string'
      ? (JSON.parse(Buffer.from(value, 'base64').toString()) as unknown)
      : value
  return events.map((event) => JSON.stringify(event, decoded))
}

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
  await loop.signal(resumeSignal)
}
