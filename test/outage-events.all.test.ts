import { afterAll, beforeAll, expect, test } from 'vitest'
import { isTrue } from '../core/conditions.ts'
import type { Condition } from '../core/objects.ts'
import { standaloneClaim } from './applied-objects.ts'
import { claimsPath, type Seen, World } from './world.ts'

/** Most events that a lifecycle may have in Temporal with an API server that is away for a minute in it; 40 are those of an untroubled one. */
const mostEvents = 80
const outageMs = 60_000

let world: World

beforeAll(async () => {
  world = await World.start({ cloud: 'instant' })
  // A launch that has to wait for its node class is tried again, which has events.
  await world.startWithNodeClass()
})

afterAll(() => world?.stop())

const create = (name: string) => world.operator.api<Seen>('POST', claimsPath, standaloneClaim(name))
const remove = (name: string) => world.operator.api('DELETE', `${claimsPath}/${name}`)
const claimOf = async (name: string) => (await world.list('nodeclaims')).find(({ metadata }) => metadata.name === name)

/** After an outage kube-controller-manager takes up to half a minute to look again, and a Node keeps its first taints that long; events are what counts here. */
const patienceMs = 120_000

const untilInitialized = (name: string) =>
  world.until(
    `NodeClaim ${name} is initialized`,
    async () => isTrue(((await claimOf(name))?.status?.conditions ?? []) as readonly Condition[], 'Initialized'),
    patienceMs,
  )

const untilGone = (name: string) =>
  world.until(`NodeClaim ${name} is gone`, async () => (await claimOf(name)) === undefined, patienceMs)

async function eventsOf(...names: readonly string[]): Promise<readonly number[]> {
  return world.until(`the lifecycles of ${names.join(', ')} are closed`, async () => {
    const closed = await world.lifecycles("ExecutionStatus = 'Completed'")
    const own = names.map((name) => closed.find(({ nodeClaim }) => nodeClaim === name)?.events)
    return own.every((events) => events !== undefined) && own
  })
}

test('lifecycles that begin and end while the API server is away for a minute stay within their events', async () => {
  await create('ends')
  await untilInitialized('ends')
  await create('begins')
  await remove('ends')
  await world.until('the VM is asked for', async () =>
    (await world.journal()).some(({ method, name }) => method === 'PUT' && name === 'aks-begins'),
  )
  await world.restartServer('kube-apiserver', outageMs)
  await untilInitialized('begins')
  await untilGone('ends')
  await remove('begins')
  await world.untilNothingLeft(patienceMs)
  for (const events of await eventsOf('begins', 'ends')) expect(events).toBeLessThanOrEqual(mostEvents)
})
