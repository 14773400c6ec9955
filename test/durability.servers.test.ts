import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { deployment, nodeClass, nodePool } from './applied-objects.ts'
import { BlackHole } from './faults/black-hole.ts'
import { expectWhole } from './whole.ts'
import { World } from './world.ts'

const pods = 4

let world: World

beforeAll(async () => {
  world = await World.start()
  await world.startWithPool(nodePool({ consolidateAfter: 'Never' }), nodeClass(), deployment({ apart: true }))
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

async function crashAndRestart(): Promise<void> {
  await world.crash()
  world.startJoiner()
}

/** Waits until Azure is asked for a change. */
async function untilAsked(sinceMs: number, method: string): Promise<void> {
  await world.until(`a ${method} of a VM`, async () =>
    (await world.journal()).some((entry) => entry.method === method && entry.atMs > sinceMs),
  )
}

test('kill -9 between launch and registration', async () => {
  await world.timing({ bootMs: 3000 })
  await world.scale('inflate', pods)
  await world.until('VMs exist', async () => (await world.azure()).virtualMachines.length === pods)
  expect(await world.list('nodes')).toHaveLength(0)
  await crashAndRestart()
  await expectWhole(world, pods)
})

test('kill -9 during a drain that a PodDisruptionBudget holds up', async () => {
  await world.scale('inflate', pods)
  await expectWhole(world, pods)
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
    (await world.cluster.supervisor.tail('joiner')).includes('started workers'),
  )
  expect((await world.list('pods')).filter(({ metadata }) => metadata.deletionTimestamp === undefined)).toHaveLength(
    pods,
  )
  await world.operator.kubectl(['delete', 'pdb', 'inflate'])
  await world.until('the node is gone', async () => !(await world.list('nodes')).some((n) => n.metadata.name === name))
  await expectWhole(world, pods)
})

test('kill -9 between the deletion of a VM and the removal of the finalizer', async () => {
  await world.scale('inflate', pods)
  await expectWhole(world, pods)
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
  await expectWhole(world, pods)
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
  await expectWhole(world, many)
})

test('a planner stopped mid-create for twice the heartbeat timeout creates nothing on top of its successor', async () => {
  await midCreate()
  await world.cluster.supervisor.kill('joiner', 'SIGSTOP')
  expect((await world.list('nodeclaims')).length).toBeLessThan(many)
  world.startJoiner('second')
  await new Promise((resolve) => setTimeout(resolve, 20_000))
  await world.cluster.supervisor.kill('joiner', 'SIGCONT')
  // What the stopped process was in the middle of waits for heartbeats that stay away, and for two processes on few cores.
  await expectWhole(world, many)
  expect(await world.list('nodeclaims')).toHaveLength(many)
})

test.each(['kube-apiserver', 'temporal', 'azure'])('%s killed and started again in the middle', async (server) => {
  await world.timing({ bootMs: 1000 })
  await world.scale('inflate', pods)
  await world.until('NodeClaims exist', async () => (await world.list('nodeclaims')).length === pods)
  await world.cluster.supervisor.restart(server, 'SIGKILL')
  await expectWhole(world, pods)
})

describe('Temporal behind a Service is replaced, where packets to the one before are dropped', () => {
  let service: BlackHole

  beforeAll(async () => {
    service = await BlackHole.before(world.cluster.ports.temporal)
  })

  afterAll(() => service?.stop())

  // The next test's Joiner reaches Temporal directly.
  afterEach(() => world.cluster.supervisor.stop('joiner'))

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
    const lostAt = Date.now()
    service.lose()
    if (isServed) service.serve()
    await world.scale('inflate', pods)
    await untilLogged(problem, begun)
    console.log(`reported after ${Date.now() - lostAt} ms`)
    if (!isServed)
      expect(await (await fetch(`${address}/readyz`)).text()).toContain('waiting for temporal: Temporal at')
    service.serve()
    await untilLogged(/"reconnected to Temporal"/, begun)
    console.log(`connected again after ${Date.now() - lostAt} ms`)
    await expectWhole(world, pods)
    console.log(`${pods} pods run after ${Date.now() - lostAt} ms`)
    expect(await (await fetch(`${address}/readyz`)).text()).toBe('ok')
    expect(world.cluster.supervisor.pids['joiner']).toBe(pid)
  })
})
