import type { Worker } from '@temporalio/worker'
import { pino } from 'pino'
import { expect, onTestFinished, test } from 'vitest'
import { pauseOf, whenAborted } from '../activities/abortable-wait.ts'
import { Lease } from '../activities/kubernetes/lease.ts'
import { leaderTimes, whileHeld } from '../activities/kubernetes/while-held.ts'
import { FakeCluster } from '../test/fakes/cluster.ts'
import { pass, useFakeTime } from '../test/fakes/time.ts'
import { workWhileLeading } from './serving.ts'

useFakeTime()

/** A process that may plan. Its worker is shut down as Temporal's is. */
function planner(cluster: FakeCluster, identity: string, isFenced = true) {
  const logged: { readonly msg: string; readonly holder?: string; readonly seconds?: number }[] = []
  const stop = new AbortController()
  const state = { isProvisioning: false, isPlanning: false, workers: 0, isAway: false, isLame: false }
  const makeWorker = async () => {
    if (state.isAway) throw new Error('Temporal is away')
    const ended = Promise.withResolvers<void>()
    let running = 'INITIALIZED'
    state.workers += 1
    return {
      getState: () => running,
      run: () => {
        running = 'RUNNING'
        state.isPlanning = true
        return ended.promise
      },
      shutdown: () => {
        running = 'STOPPED'
        state.isPlanning = false
        ended.resolve()
      },
    } as unknown as Worker
  }
  const lease = new Lease(
    { client: cluster.client, namespace: 'joiner' },
    { ...leaderTimes, name: 'joiner-planner', identity },
  )
  const done = workWhileLeading({
    what: 'plans',
    isFenced,
    isLame: () => state.isLame,
    lease,
    work: async (signal) => {
      state.isProvisioning = true
      await whenAborted(signal)
      state.isProvisioning = false
    },
    makeWorker,
    onWorker: () => {},
    log: pino({}, { write: (line: string) => void logged.push(JSON.parse(line)) }),
    signal: stop.signal,
  })
  onTestFinished(() => stop.abort())
  return { state, stop, done, logged }
}

const holder = (cluster: FakeCluster) =>
  cluster.object('leases', 'joiner-planner', 'joiner')?.spec['holderIdentity'] as string | undefined

test('one of two processes plans, and the other takes over at once when it ends', async () => {
  const cluster = new FakeCluster()
  const first = planner(cluster, 'a')
  await pass(100)
  const second = planner(cluster, 'b')
  await pass(60_000)
  expect([first.state, second.state]).toEqual([
    { isProvisioning: true, isPlanning: true, workers: 1, isAway: false, isLame: false },
    { isProvisioning: false, isPlanning: false, workers: 0, isAway: false, isLame: false },
  ])
  first.stop.abort()
  await pass(0)
  expect(holder(cluster)).toBe('')
  await pass(500)
  expect(second.state.isPlanning).toBe(true)
  await first.done
})

/** The API server answers 500 from now on. Returns what ends that. */
const failing = (cluster: FakeCluster) =>
  cluster.intercept(() => {
    throw new Error('HTTP 500')
  })

test('a planner goes on while the API server fails for a while, and until another has the Lease', async () => {
  const cluster = new FakeCluster()
  const first = planner(cluster, 'a')
  await pass(100)
  const end = failing(cluster)
  await pass(25_000)
  expect(first.state).toMatchObject({ isProvisioning: true, isPlanning: true, workers: 1 })
  end()
  cluster.edit('leases', 'joiner-planner', { spec: { holderIdentity: 'b' } }, 'joiner')
  await pass(2000)
  expect(first.state).toMatchObject({ isProvisioning: false, isPlanning: false })
  expect(holder(cluster)).toBe('b')
})

test('a planner that is cut off from the API server stops, so that its worker takes no more, and leads again afterwards', async () => {
  const cluster = new FakeCluster()
  const first = planner(cluster, 'a')
  await pass(100)
  const end = failing(cluster)
  await pass(35_000)
  expect(first.state).toMatchObject({ isProvisioning: false, isPlanning: false })
  end()
  await pass(1000)
  expect(first.state).toMatchObject({ isProvisioning: true, isPlanning: true, workers: 2 })
})

test('a planner without Temporal provisions, and evaluates disruption once Temporal is there', async () => {
  const planning = planner(new FakeCluster(), 'a')
  planning.state.isAway = true
  await pass(60_000)
  expect(planning.state).toMatchObject({ isProvisioning: true, isPlanning: false })
  planning.state.isAway = false
  await pass(2000)
  expect(planning.state).toMatchObject({ isProvisioning: true, isPlanning: true, workers: 1 })
})

test.each([true, false])(
  'a leader that lacks Temporal for half a minute hands over to one that has it (fence: %s)',
  async (isFenced) => {
    const cluster = new FakeCluster()
    const first = planner(cluster, 'a', isFenced)
    await pass(100)
    const second = planner(cluster, 'b', isFenced)
    await pass(10_000)
    first.state.isLame = true
    await pass(29_000)
    expect([first.state.isProvisioning, second.state.isProvisioning]).toEqual([true, false])
    await pass(3000)
    expect([first.state.isProvisioning, second.state.isProvisioning]).toEqual([false, true])
    await pass(600_000)
    expect([holder(cluster), second.state.workers]).toEqual(['b', 1])
    expect(first.logged).toContainEqual(expect.objectContaining({ reason: 'lacks Temporal' }))
  },
)

test('where no process has Temporal one leads all the same, and is seldom interrupted', async () => {
  const cluster = new FakeCluster()
  const processes = [planner(cluster, 'a'), planner(cluster, 'b')]
  for (const { state } of processes) state.isLame = true
  let idle = 0
  for (let seconds = 0; seconds < 3600; seconds++) {
    await pass(1000)
    if (!processes.some(({ state }) => state.isProvisioning)) idle += 1
  }
  expect(idle).toBeLessThan(36)
  expect(
    processes.flatMap(({ logged }) => logged).filter(({ msg }) => msg === 'this process plans').length,
  ).toBeLessThan(25)
})

test('a single process without Temporal goes on without a gap', async () => {
  const { state } = planner(new FakeCluster(), 'a')
  state.isLame = true
  let idle = 0
  for (let seconds = 0; seconds < 3600; seconds++) {
    await pass(1000)
    if (!state.isProvisioning) idle += 1
  }
  expect(idle).toBe(0)
})

test('a planner that died is replaced when its Lease has run out', async () => {
  const cluster = new FakeCluster()
  const first = planner(cluster, 'a')
  await pass(100)
  first.stop.abort()
  cluster.edit('leases', 'joiner-planner', { spec: { holderIdentity: 'dead' } }, 'joiner')
  const second = planner(cluster, 'b')
  await pass(9500)
  expect(second.state.isPlanning).toBe(false)
  await pass(1500)
  expect(second.state.isPlanning).toBe(true)
})

test('a process that stands by names once who keeps it from leading, also somebody who is no process of Joiner', async () => {
  const cluster = new FakeCluster()
  planner(cluster, 'a')
  await pass(100)
  const { logged } = planner(cluster, 'b')
  const told = () => logged.filter(({ msg }) => msg === 'another process plans, and this one stands by')
  await pass(9000)
  expect(told()).toEqual([])
  await pass(60_000)
  expect(told()).toMatchObject([{ holder: 'a', seconds: 11 }])
  for (let renewals = 0; renewals < 20; renewals++) {
    const spec = {
      holderIdentity: 'evil',
      leaseDurationSeconds: 2_147_483_647,
      renewTime: `2026-01-01T00:00:${10 + renewals}Z`,
    }
    cluster.edit('leases', 'joiner-planner', { spec }, 'joiner')
    await pass(4000)
  }
  expect(told()).toMatchObject([{ holder: 'a' }, { holder: 'evil' }])
})

test('work without a fence ends before another process can have the Lease, and is never done by two', async () => {
  const cluster = new FakeCluster()
  const [first, second] = [planner(cluster, 'a', false), planner(cluster, 'b', false)]
  await pass(5000)
  const [leader, other] = first.state.isProvisioning ? [first, second] : [second, first]
  const name = leader === first ? 'a' : 'b'
  // The leader alone cannot reach the API server any more.
  cluster.intercept(({ body }) => {
    if (JSON.stringify(body ?? '').includes(`"holderIdentity":"${name}"`)) throw new Error('HTTP 500')
  })
  let both = 0
  for (let at = 0; at < 30_000; at += 250) {
    await pass(250)
    if (leader.state.isProvisioning && other.state.isProvisioning) both += 1
  }
  expect([both, leader.state.isProvisioning, other.state.isProvisioning]).toEqual([0, false, true])
})

test('work without a fence goes on where renewals are answered late, and says why it ends where they are not', async () => {
  const cluster = new FakeCluster()
  const { state, logged } = planner(cluster, 'a', false)
  await pass(100)
  let waitMs = 3500
  cluster.intercept(() => new Promise<void>((resolve) => void setTimeout(resolve, waitMs)))
  for (let at = 0; at < 60_000; at += 250) {
    await pass(250)
    expect(state.isProvisioning).toBe(true)
  }
  waitMs = 11_000
  await pass(12_000)
  expect(state.isProvisioning).toBe(false)
  await pass(30_000)
  const end = { msg: 'this process plans no longer, and stands by', reason: 'could not renew its Lease in time' }
  expect(logged).toContainEqual(expect.objectContaining(end))
})

test('work without a fence that ends by itself has not lost its Lease, and no log says so', async () => {
  const cluster = new FakeCluster()
  cluster.intercept(() => new Promise<void>((resolve) => void setTimeout(resolve, 50)))
  const logged: { readonly msg: string; readonly reason?: string }[] = []
  const stop = new AbortController()
  const lease = new Lease(
    { client: cluster.client, namespace: 'joiner' },
    { ...leaderTimes, name: 'joiner-bridge', identity: 'a' },
  )
  const log = pino({}, { write: (line: string) => void logged.push(JSON.parse(line)) })
  const done = whileHeld({ what: 'bridges', lease, isFenced: false, log, signal: stop.signal }, async (ends, end) => {
    await pauseOf(1000, ends)
    end()
  })
  await pass(1500)
  stop.abort()
  await pass(500)
  await done
  const ends = logged.filter(({ msg }) => msg.endsWith('no longer, and stands by'))
  expect(ends.map(({ reason }) => reason)).toEqual([undefined])
})
