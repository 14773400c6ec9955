// What a process of Joiner had in hand when it was killed goes on in another within seconds, however long its heartbeats are apart.
import proto from '@temporalio/proto'
import { lifecycleId } from '../../../core/task-queues.ts'
import { clusterName } from '../../../deploy/local/cluster.ts'
import { deployment, nodeClass, nodePool } from '../../applied-objects.ts'
import { isTrue, type Seen, World } from '../../world.ts'
import { afterAll, beforeAll, expect, keepsTime, test } from '../scenario.ts'

const { PENDING_ACTIVITY_STATE_STARTED: started } = proto.temporal.api.enums.v1.PendingActivityState
const nodes = 6
/** From the start of the next process, or from the end of the one that led. */
const takenUpMs = 10_000
/** From the end of the one that led, where another stands by. */
const stoodByMs = 4000
const pods = '/api/v1/namespaces/joiner/pods'

let world: World

beforeAll(async () => {
  world = await World.start()
  await world.startWithPool(nodePool({ consolidateAfter: 'Never' }), nodeClass(), deployment({ apart: true }))
})

afterAll(() => world?.stop())

interface Held {
  readonly type: string
  readonly by: string
  readonly attempt: number
}

/** What lifecycles have in hand now: attempts that a process has begun. */
async function inHand(): Promise<readonly Held[]> {
  const claims = await world.list('nodeclaims')
  const described = await Promise.all(
    claims.map(({ metadata }) => world.temporal.workflow.getHandle(lifecycleId(clusterName, metadata)).describe()),
  )
  return described.flatMap(({ raw }) =>
    (raw.pendingActivities ?? [])
      .filter(({ state }) => state === started)
      .map(({ activityType, lastWorkerIdentity, attempt }) => ({
        type: activityType?.name ?? '',
        by: lastWorkerIdentity ?? '',
        attempt: attempt ?? 0,
      })),
  )
}

/** Waits until that many have a step in hand, all of this type. */
async function untilAllIn(type: string, count = nodes): Promise<readonly Held[]> {
  return world.until(`${count} lifecycles are in ${type}`, async () => {
    const held = (await inHand()).filter((each) => each.type === type)
    return held.length === count && held
  })
}

/** Waits until that many have their VMs and wait for their Nodes. */
async function untilAllJoin(count = nodes): Promise<readonly Held[]> {
  await world.until(`${count} VMs are accepted`, async () => {
    const claims = await world.list('nodeclaims')
    return claims.filter((claim: Seen) => isTrue(claim, 'Launched') && !isTrue(claim, 'Registered')).length === count
  })
  return untilAllIn('launch', count)
}

/** Waits until a process takes its share of activities, and knows who holds the Leases for which it stands by. */
async function untilStandingBy(process: string): Promise<void> {
  const log = () => world.cluster.supervisor.tail(process, 1000)
  await world.until(`${process} works`, async () => (await log()).includes('started workers'))
  await world.until(`${process} stands by`, async () => (await log()).includes('and this one stands by'))
}

/** Waits until nothing is in the hands of whoever had it. Returns how long that took, in ms. */
async function untilTaken(before: readonly Held[]): Promise<number> {
  const all = (await inHand()).length
  const gone = new Set(before.map(({ by }) => by))
  const startMs = Date.now()
  await world.until('living processes have all of it', async () => {
    const held = await inHand()
    return held.length === all && held.every(({ by }) => !gone.has(by))
  })
  return Date.now() - startMs
}

const readyClaims = async () => (await world.list('nodeclaims')).filter((claim: Seen) => isTrue(claim, 'Ready'))
const expectWithin = (ms: number, limitMs: number) => expect(keepsTime ? ms : 0).toBeLessThan(limitMs)

test('waits for Nodes go on in the process that starts in its place, and every node comes once', async () => {
  await world.timing({ bootMs: 90_000 })
  await world.scale('inflate', nodes)
  const before = await untilAllJoin()
  await world.crash()
  world.startJoiner()
  expectWithin(await untilTaken(before), takenUpMs)
  expect((await inHand()).map(({ attempt }) => attempt)).toEqual(before.map(() => 2))
  await world.untilRunning(nodes)
  expect((await world.azure()).virtualMachines).toHaveLength(nodes)
})

test('deletions go on likewise', async () => {
  await world.until('all are ready', async () => (await readyClaims()).length === nodes)
  await world.timing({ deleteMs: 90_000 })
  await world.scale('inflate', 0)
  await world.operator.kubectl(['delete', 'nodeclaims', '--all', '--wait=false'])
  const before = await untilAllIn('deleteInstance')
  await world.crash()
  world.startJoiner()
  expectWithin(await untilTaken(before), takenUpMs)
  await world.untilNothingLeft()
})

test('what the leader had in hand goes on in the one that stood by, before its Lease has run out', async () => {
  await world.timing({ bootMs: 120_000, deleteMs: 0 })
  await world.scale('inflate', nodes)
  const before = await untilAllJoin()
  world.startJoiner('second')
  await untilStandingBy('second')
  await world.crash()
  expectWithin(await untilTaken(before), stoodByMs)
  expect(new Set((await inHand()).map(({ by }) => by.split('/')[0]))).toEqual(new Set(['second']))
  await world.untilRunning(nodes, 240_000)
})

test('what a process had in hand whose Pod is gone goes on at once', async () => {
  await world.operator.api('POST', pods, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'third' },
    spec: { nodeSelector: { nowhere: 'yes' }, containers: [{ name: 'main', image: 'joiner' }] },
  })
  world.startJoiner('third')
  await untilStandingBy('third')
  await world.scale('inflate', 4 * nodes)
  const before = (await untilAllJoin(3 * nodes)).filter(({ by }) => by.startsWith('third/'))
  expect(before.length).toBeGreaterThan(0)
  await world.crash('third')
  await world.operator.api('DELETE', `${pods}/third`)
  expectWithin(await untilTaken(before), takenUpMs)
  await world.untilRunning(4 * nodes, 240_000)
})
