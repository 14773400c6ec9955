import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { deployment, nodeClass, nodePool, type Seen, World } from './world.ts'

const pods = 4

let world: World

beforeAll(async () => {
  world = await World.start()
  world.startJoiner()
  await world.apply(nodePool({ consolidateAfter: 'Never' }), nodeClass(), deployment({ apart: true }))
  await world.untilReady('general')
})

afterAll(() => world?.stop())

/** Processes that belong to a test that failed must not stay for the next one. */
async function onlyOneJoiner(): Promise<void> {
  await world.cluster.supervisor.kill('joiner', 'SIGCONT')
  await world.cluster.supervisor.stop('second')
  if (world.cluster.supervisor.pids['joiner'] === undefined) world.startJoiner()
}

// Every story ends with everything deleted, which is part of what it proves.
afterEach(async () => {
  await onlyOneJoiner()
  await world.timing({ createMs: 0, bootMs: 0, deleteMs: 0 })
  await world.operator.simulator('DELETE', '/faults')
  await world.operator.kubectl(['delete', 'pdb', '--all'])
  await world.scale('inflate', 0)
  await world.operator.kubectl(['delete', 'nodeclaims', '--all', '--wait=false'])
  await world.untilNothingLeft()
})

/** Kills Joiner and starts it again. Returns the time of the kill. */
async function crashAndRestart(): Promise<number> {
  const at = Date.now()
  await world.crash()
  world.startJoiner()
  return at
}

/** What must be true whatever happened: each pod runs, and NodeClaims, Nodes and VMs are the same set. */
async function expectWhole(count: number): Promise<void> {
  await world.untilRunning(count)
  const claims = await world.until(`${count} NodeClaims are Ready`, async () => {
    const found = await world.list('nodeclaims')
    return found.length === count && found.every((claim) => isTrue(claim, 'Ready')) && found
  })
  const nodes = await world.list('nodes')
  const { virtualMachines, networkInterfaces } = await world.azure()
  const names = nodes.map(({ metadata }) => metadata.name).sort()
  expect(virtualMachines.map(({ name }) => name).sort()).toEqual(names)
  expect(networkInterfaces).toHaveLength(count)
  expect(claims).toHaveLength(nodes.length)
}

function isTrue(claim: Seen, condition: string): boolean {
  return claim.status?.conditions?.some(({ type, status }) => type === condition && status === 'True') ?? false
}

/** Waits until Azure is asked for a change. */
async function untilAsked(sinceMs: number, method: string): Promise<void> {
  await world.until(`a ${method} of a VM`, async () =>
    (await world.journal()).some((entry) => entry.method === method && entry.atMs > sinceMs),
  )
}

test('kill -9 while Azure holds the answer to a create, which is then lost', async () => {
  const startedAt = Date.now()
  await world.fault({ kind: 'latency', ms: 2000, count: pods })
  await world.fault({ kind: 'resetAfterCommit', count: pods })
  await world.scale('inflate', pods)
  await untilAsked(startedAt, 'PUT')
  const killedAt = await crashAndRestart()
  // The VMs of the lost answers are found again and taken over: that is the next thing that Joiner does outside of itself.
  await world.until('a NodeClaim says that it launched', async () =>
    (await world.list('nodeclaims')).some((claim) => isTrue(claim, 'Launched')),
  )
  expect(Date.now() - killedAt).toBeLessThan(20_000)
  await expectWhole(pods)
  const asked = (await world.journal()).filter(({ method, atMs }) => method === 'PUT' && atMs > startedAt)
  expect(new Set(asked.map(({ name }) => name)).size).toBe(pods)
})

test('kill -9 between launch and registration', async () => {
  await world.timing({ bootMs: 3000 })
  await world.scale('inflate', pods)
  await world.until('VMs exist', async () => (await world.azure()).virtualMachines.length === pods)
  expect(await world.list('nodes')).toHaveLength(0)
  await crashAndRestart()
  await expectWhole(pods)
})

test('kill -9 during a drain that a PodDisruptionBudget holds up', async () => {
  await world.scale('inflate', pods)
  await expectWhole(pods)
  await world.apply({
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name: 'inflate', namespace: 'default' },
    spec: { minAvailable: pods, selector: { matchLabels: { app: 'inflate' } } },
  })
  await world.until('the budget allows nothing', async () => {
    const budget = await world.operator.api<{ status?: { currentHealthy?: number; disruptionsAllowed?: number } }>(
      'GET',
      '/apis/policy/v1/namespaces/default/poddisruptionbudgets/inflate',
    )
    return budget.status?.currentHealthy === pods && budget.status.disruptionsAllowed === 0
  })
  const [node] = await world.list('nodes')
  const name = node?.metadata.name ?? ''
  await world.operator.kubectl(['delete', 'node', name, '--wait=false'])
  await world.until('the drain has begun', async () =>
    (await world.list('nodes'))
      .find(({ metadata }) => metadata.name === name)
      ?.spec.taints?.some(({ key }) => key === 'karpenter.sh/disrupted'),
  )
  await crashAndRestart()
  // Still held up: the pod has not been evicted against its budget.
  await world.until('Joiner drains again', async () =>
    (await world.cluster.supervisor.tail('joiner')).includes('workers run'),
  )
  expect((await world.list('pods')).filter(({ metadata }) => metadata.deletionTimestamp === undefined)).toHaveLength(
    pods,
  )
  await world.operator.kubectl(['delete', 'pdb', 'inflate'])
  await world.until('the node is gone', async () => !(await world.list('nodes')).some((n) => n.metadata.name === name))
  await expectWhole(pods)
})

test('kill -9 between the deletion of a VM and the removal of the finalizer', async () => {
  await world.scale('inflate', pods)
  await expectWhole(pods)
  await world.timing({ deleteMs: 2000 })
  const startedAt = Date.now()
  const [claim] = await world.list('nodeclaims')
  await world.operator.kubectl(['delete', 'nodeclaim', claim?.metadata.name ?? '', '--wait=false'])
  await untilAsked(startedAt, 'DELETE')
  await crashAndRestart()
  await world.until(
    'the NodeClaim is gone',
    async () => !(await world.list('nodeclaims')).some(({ metadata }) => metadata.uid === claim?.metadata.uid),
  )
  await expectWhole(pods)
})

const many = 40

/** Scales up and returns as soon as some NodeClaims exist and others do not. */
async function midCreate(): Promise<void> {
  await world.scale('inflate', many)
  for (;;) {
    const { length } = await world.list('nodeclaims')
    if (length >= many) throw new Error('all NodeClaims were there before the planner could be caught')
    if (length > 0) return
  }
}

test('kill -9 in the middle of creating NodeClaims', async () => {
  await midCreate()
  await crashAndRestart()
  expect((await world.list('nodeclaims')).length).toBeLessThan(many)
  await expectWhole(many)
}, 180_000)

test('a planner stopped mid-create for twice the heartbeat timeout creates nothing on top of its successor', async () => {
  await midCreate()
  await world.cluster.supervisor.kill('joiner', 'SIGSTOP')
  expect((await world.list('nodeclaims')).length).toBeLessThan(many)
  world.startJoiner('second')
  await new Promise((resolve) => setTimeout(resolve, 20_000))
  await world.cluster.supervisor.kill('joiner', 'SIGCONT')
  await expectWhole(many)
  expect(await world.list('nodeclaims')).toHaveLength(many)
}, 180_000)

test('SIGTERM of one of two replicas: the other acts within 3 s', async () => {
  world.startJoiner('second')
  await world.until('the second works', async () =>
    (await world.cluster.supervisor.tail('second')).includes('workers run'),
  )
  for (const [name, replicas] of [
    ['joiner', 2],
    ['second', 4],
  ] as const) {
    const seen = (await world.list('nodeclaims')).length
    await world.scale('inflate', replicas)
    const stoppedAt = Date.now()
    const ended = world.cluster.supervisor.kill(name, 'SIGTERM').then(() => Date.now() - stoppedAt)
    await world.until('a new NodeClaim', async () => (await world.list('nodeclaims')).length > seen)
    expect(Date.now() - stoppedAt).toBeLessThan(3000)
    expect(await ended).toBeLessThan(15_000)
    world.startJoiner(name)
    await expectWhole(replicas)
  }
})

test.each(['kube-apiserver', 'temporal', 'azure'])('%s killed and started again in the middle', async (server) => {
  await world.timing({ bootMs: 1000 })
  await world.scale('inflate', pods)
  await world.until('NodeClaims exist', async () => (await world.list('nodeclaims')).length === pods)
  await world.cluster.supervisor.restart(server, 'SIGKILL')
  await expectWhole(pods)
})
