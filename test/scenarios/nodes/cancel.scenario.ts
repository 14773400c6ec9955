import { lifecycleId } from '../../../core/task-queues.ts'
import { clusterName } from '../../../deploy/local/cluster.ts'
import { type LifecycleStatus, lifecycleStatusQuery } from '../../../workflows/messages.ts'
import { deployment, nodeClass, nodePool } from '../../applied-objects.ts'
import { patient } from '../../runner/patience.ts'
import { isTrue, type Seen, World } from '../../world.ts'
import { afterAll, beforeAll, expect, test } from '../scenario.ts'

let world: World

const nodes = 50

beforeAll(async () => {
  world = await World.start()
  world.startJoiner()
  world.startJoiner('second')
  await world.apply(nodePool({ consolidateAfter: 'Never' }), nodeClass(), deployment({ apart: true }))
  await world.untilReady('general')
  await world.scale('inflate', nodes)
  await world.untilRunning(nodes, patient(240_000))
  await untilAtRest(await world.list('nodeclaims'))
})

afterAll(() => world?.stop())

const lifecycle = ({ metadata }: Seen) => world.temporal.workflow.getHandle(lifecycleId(clusterName, metadata))
const isGoing = ({ metadata }: Seen) => metadata.deletionTimestamp !== undefined
const statusOf = (claim: Seen): Promise<LifecycleStatus> => lifecycle(claim).query(lifecycleStatusQuery)

async function untilAtRest(claims: readonly Seen[]): Promise<void> {
  await world.until('the lifecycles are at rest', async () => {
    const all = await Promise.all(claims.map(statusOf))
    return all.every(({ phase }) => phase === 'Ready')
  })
}

/** A NodeClaim that nobody has asked to go. */
async function keptClaim(): Promise<Seen> {
  const claims = await world.list('nodeclaims')
  return claims.find((claim) => !isGoing(claim) && isReady(claim)) as Seen
}

const isReady = ({ status }: Seen) =>
  status?.conditions?.some(({ type, status: is }) => type === 'Initialized' && is === 'True') === true

async function eventsOf(reason: string, claim?: Seen): Promise<readonly string[]> {
  const events = await world.list('events')
  return events
    .filter(
      (event) => event.reason === reason && (claim === undefined || event.involvedObject?.name === claim.metadata.name),
    )
    .map(({ message = '' }) => message)
}

/** How many pods the drains of nodes that went have evicted, as their lifecycles counted. */
async function evictedPods(claims: readonly Seen[]): Promise<number> {
  const facts = await Promise.all(
    claims.map(
      async (claim) => (await lifecycle(claim).describe()).memo?.['facts'] as { readonly drainedPods?: number },
    ),
  )
  return facts.reduce((sum, { drainedPods = 0 }) => sum + drainedPods, 0)
}

async function isStillThere(claim: Seen): Promise<boolean> {
  const found = (await world.list('nodeclaims')).find(({ metadata }) => metadata.uid === claim.metadata.uid)
  return found !== undefined && !isGoing(found)
}

/** Presses the button until the minute of those before is over. Returns once the NodeClaim is being deleted. */
async function cancelUntilObeyed(claim: Seen): Promise<void> {
  await world.until(`the cancellation of ${claim.metadata.name} is obeyed`, async () => {
    await lifecycle(claim).cancel()
    return !(await isStillThere(claim))
  })
}

/** Cancels a lifecycle that is not to end, and finds the reason where people look: in an event, and in what the new run shows. */
async function expectRefused(claim: Seen, why: string): Promise<void> {
  const { runId } = await lifecycle(claim).describe()
  await lifecycle(claim).cancel()
  await world.until('the lifecycle has begun anew', async () => (await lifecycle(claim).describe()).runId !== runId)
  await untilAtRest([claim])
  expect(await isStillThere(claim)).toBe(true)
  expect((await eventsOf('CancellationRefused', claim)).join('\n')).toContain(why)
  const { currentDetails = '' } = await lifecycle(claim).query<{ currentDetails?: string }>(
    '__temporal_workflow_metadata',
  )
  expect(currentDetails.replaceAll(/\\([^\w\s])/g, '$1')).toContain(why)
}

test('of all lifecycles cancelled at once three go, and the others begin anew', async () => {
  const claims = await world.list('nodeclaims')
  expect(claims).toHaveLength(nodes)
  await Promise.all(claims.map((claim) => lifecycle(claim).cancel()))
  await world.until('each cancellation is obeyed or refused', async () => {
    const [obeyed, others] = await Promise.all([eventsOf('LifecycleCancelled'), eventsOf('CancellationRefused')])
    return obeyed.length + others.length === nodes
  })
  const [going, staying] = [await eventsOf('LifecycleCancelled'), await eventsOf('CancellationRefused')]
  expect([going.length, staying.length]).toEqual([3, nodes - 3])
  expect(staying[0]).toMatch(/goes on: 3 lifecycles were cancelled within a minute.*kubectl delete nodeclaim general-/)

  await world.until('three nodes are gone, and their pods run elsewhere', async () => {
    const left = await world.list('nodeclaims')
    const old = left.filter(({ metadata }) => claims.some((claim) => claim.metadata.uid === metadata.uid))
    return old.length === nodes - 3 && (await world.running()) === nodes
  })
  const left = await world.list('nodeclaims')
  expect(left.filter(isGoing)).toEqual([])
  await untilAtRest(left)
  await world.until('the lifecycles of those that went have ended', async () => {
    const ended = await world.lifecycles("ExecutionStatus = 'Completed'")
    return ended.length === 3
  })
  expect(await evictedPods(claims)).toBe(3)
  expect(await world.joiner('status')).toContain(
    `REFUSED  ${nodes - 3} cancellations of lifecycles in Temporal were refused`,
  )
})

test('a lifecycle that is cancelled drains its node as kubectl delete nodeclaim does', async () => {
  const claim = await keptClaim()
  await world.apply({
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name: 'keep', namespace: 'default' },
    spec: { maxUnavailable: 0, selector: { matchLabels: { app: 'inflate' } } },
  })
  await cancelUntilObeyed(claim)
  await world.until('the drain waits for the budget', async () => {
    const { drain } = await statusOf(claim)
    return JSON.stringify(drain ?? {}).includes('keep')
  })
  expect(await world.joiner('why', 'node', `aks-${claim.metadata.name}`)).toContain('was cancelled in Temporal')
  const held = await lifecycle(claim).describe()
  expect(held.status.name).toBe('RUNNING')
  await world.operator.kubectl(['delete', 'poddisruptionbudget', 'keep'])
  await world.until('the lifecycle has ended', async () => {
    const { status } = await lifecycle(claim).describe()
    return status.name === 'COMPLETED'
  })
  expect(await world.joiner('history', 'node', claim.metadata.name)).toContain('cancelled in Temporal')
})

test('a lifecycle of a held node goes on, and one of a paused NodePool', async () => {
  const claim = await keptClaim()
  const { name } = claim.metadata
  await world.joiner('node', 'hold', name, '--reason', 'core dump', '--by', 'alice')
  await expectRefused(claim, 'is held until released by alice: core dump')
  await world.joiner('node', 'release', name)

  await world.joiner('pause', '--nodepool', 'general', '--reason', 'release day')
  const other = (await world.list('nodeclaims')).find(
    (one) => !isGoing(one) && isReady(one) && one.metadata.name !== name,
  ) as Seen
  await expectRefused(other, 'disruption of NodePool "general" is paused')
  await world.joiner('resume', '--nodepool', 'general')
})

test('a budget of the NodePool holds for cancellations, and a second cancellation of a node that goes changes nothing', async () => {
  await world.apply(nodePool({ consolidateAfter: 'Never', budget: '0' }))
  const claim = await keptClaim()
  await world.until('the budget forbids it', async () => {
    await lifecycle(claim).cancel()
    const events = await eventsOf('CancellationRefused', claim)
    return events.some((message) => message.includes('budgets of NodePool general allow 0 of its'))
  })
  expect(await isStillThere(claim)).toBe(true)
  await world.apply(nodePool({ consolidateAfter: 'Never' }))
  await cancelUntilObeyed(claim)
  const { runId } = await lifecycle(claim).describe()
  await lifecycle(claim).cancel()
  await world.until(
    'the lifecycle has ended',
    async () => (await lifecycle(claim).describe()).status.name === 'COMPLETED',
  )
  expect((await lifecycle(claim).describe()).runId).toBe(runId)
})

test('processes that end in order cancel activities, and no lifecycle', async () => {
  await world.untilRunning(nodes)
  await world.timing({ bootMs: 20_000 })
  const before = await world.list('nodeclaims')
  const cancelled = (await eventsOf('LifecycleCancelled')).length
  await world.scale('inflate', nodes + 1)
  const claim = await world.until('a lifecycle waits for its Node', async () => {
    const claims = await world.list('nodeclaims')
    const found = claims.find(({ metadata }) => before.every((other) => other.metadata.uid !== metadata.uid))
    return found !== undefined && isTrue(found, 'Launched') && found
  })
  for (const name of ['joiner', 'second']) await world.cluster.supervisor.stop(name)
  world.startJoiner()
  await untilAtRest([claim])
  expect(await isStillThere(claim)).toBe(true)
  expect(await eventsOf('LifecycleCancelled')).toHaveLength(cancelled)
})
