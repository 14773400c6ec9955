import type { Client } from '@temporalio/client'
import pino from 'pino'
import { describe, expect, test, vi } from 'vitest'
import { AttributedStarts } from '../../activities/attributed-starts.ts'
import { LifecycleStarter } from '../../activities/provisioning/lifecycle-starter.ts'
import { WorkQueue } from '../../activities/work-queue.ts'
import { lifecycleId, maintenanceScheduleId, singletonIds, taskQueue } from '../../core/task-queues.ts'
import { FakeCluster } from '../../test/fakes/cluster.ts'
import { claimJson, condition } from '../../test/fakes/objects.ts'
import { pass, useFakeTime } from '../../test/fakes/time.ts'
import { fakeTemporal } from '../../test/temporal-states/fake-temporal.ts'
import { Watchdog } from './watchdog.ts'

useFakeTime()

const cluster = 'test'
const scheduleId = maintenanceScheduleId(cluster)
const schedule = (client: Client) => client.schedule.getHandle(scheduleId)
const oldId = (name: string) => `nodeclaim/${cluster}/${name}/${name}-uid`
const loops = [singletonIds.provisioningLoop(cluster), singletonIds.disruptionLoop(cluster)]

/** A cluster at rest with so many nodes, and a watchdog that looks every 20 s. */
async function world(claims: number, lagMs = 0) {
  const temporal = fakeTemporal(lagMs)
  const kubernetes = new FakeCluster()
  for (let n = 0; n < claims; n++) kubernetes.put('nodeclaims', claimJson(`c${n}`, { metadata: { uid: `c${n}uid` } }))
  await temporal.bootstrap(cluster)
  const lifecycles = new LifecycleStarter(temporal.client, cluster, new AttributedStarts(Date.now))
  const cache = kubernetes.cacheOf()
  for (const claim of cache.nodeClaims.values()) await lifecycles.start(claim)
  /** What was sent, in its order. */
  const sent: string[] = []
  let found: ReadonlyMap<string, number> = new Map()
  const logged: {
    readonly fault?: string
    readonly count?: number
    readonly objects?: readonly string[]
    readonly detail?: string
    readonly msg?: string
  }[] = []
  /** NodeClaims that were to have a lifecycle while one of another form ran. */
  const doubled: string[] = []
  const queue = new WorkQueue(
    async (key) => {
      sent.push(key)
      const [action = '', name = ''] = key.split(' ')
      const claim = cache.nodeClaims.get(name)
      if (action === 'poke') return lifecycles.pokeOrphan(name)
      await new Promise((resolve) => setTimeout(resolve, 100))
      if (claim !== undefined) await lifecycles.start(claim)
    },
    { concurrency: 20, spacingMs: 500, maxBackoffMs: 30_000, onError: () => {} },
  )
  let bootstraps = 0
  const leads = { now: true }
  const watchdog = new Watchdog({
    deps: {
      cluster,
      cache,
      now: () => Date.now(),
      log: pino({ level: 'warn' }, { write: (line: string) => void logged.push(JSON.parse(line)) }),
    },
    client: temporal.client,
    isLeader: () => leads.now,
    bootstrap: () => {
      bootstraps += 1
      return temporal.bootstrap(cluster)
    },
    start: (name) => {
      if (temporal.running().includes(oldId(name))) doubled.push(name)
      queue.add(`start ${name}`, 'routine')
    },
    poke: (workflowId) => queue.add(`poke ${workflowId}`, 'routine'),
    metrics: { restarted: () => {}, found: (counts) => void (found = counts) },
  })
  const timer = setInterval(() => void watchdog.round(), 20_000)
  timer.unref()
  await pass(60_000)
  const idOf = (name: string) => lifecycleId(cluster, { name, uid: `${name}uid` })
  return {
    ...temporal,
    kubernetes,
    watchdog,
    sent,
    doubled,
    /** As an earlier version began it. */
    beginOld: (workflowId: string, type = 'nodeClaimLifecycle') =>
      temporal.client.workflow.start(type, { workflowId, taskQueue: taskQueue('core', cluster), args: [] }),
    logged,
    leads,
    idOf,
    names: kubernetes.names('nodeclaims'),
    bootstraps: () => bootstraps,
    missing: () => kubernetes.names('nodeclaims').filter((name) => !temporal.running().includes(idOf(name))),
    /** What was found, without zeros. */
    found: () => Object.fromEntries([...found].filter(([, count]) => count > 0)),
    gauge: () => found,
  }
}

describe('the watchdog', () => {
  test('finds nothing and sends nothing while all is as it should be', async () => {
    const { sent, found, gauge, logged, bootstraps } = await world(30)
    expect([sent, found(), logged, bootstraps()]).toEqual([[], {}, [], 0])
    expect(gauge().get('lifecycle missing')).toBe(0)
  })

  test('names a thousand lifecycles that somebody terminated within 30 s, and has begun all again within 120 s, launches first', async () => {
    const { kubernetes, names, idOf, terminate, missing, found, sent, logged } = await world(1000)
    const launching = ['c700', 'c950', 'c999']
    for (const name of launching)
      kubernetes.edit('nodeclaims', name, { status: { conditions: [condition('Launched')] } })
    for (const name of names) await terminate(idOf(name))
    await pass(21_000)
    expect(found()).toEqual({ 'lifecycle missing': 1000 })
    expect(logged).toMatchObject([{ fault: 'lifecycle missing', count: 1000, objects: expect.any(Array) }])
    expect(new Set(sent.slice(0, 3))).toEqual(new Set(launching.map((name) => `start ${name}`)))
    // The queue paces them: 15 at once, a tenth of a second each.
    expect(missing().length).toBeGreaterThan(800)
    await pass(99_000)
    expect(missing()).toEqual([])
    expect(found()).toEqual({})
    expect(sent).toHaveLength(1000)
  })

  test('leaves to the planner what it makes now, and to themselves the lifecycles that are about to end', async () => {
    const { kubernetes, idOf, sent, found } = await world(3)
    kubernetes.put('nodeclaims', claimJson('young', { metadata: { creationTimestamp: new Date().toISOString() } }))
    kubernetes.remove('nodeclaims', 'c1')
    await pass(20_000)
    expect([sent, found()]).toEqual([[], {}])
    await pass(20_000)
    expect(found()).toEqual({ 'lifecycle missing': 1, 'lifecycle without NodeClaim': 1 })
    expect(sent.toSorted()).toEqual([`poke ${idOf('c1')}`, 'start young'])
  })

  test('takes lifecycles that a list does not know yet for running once Temporal says so of 20 of them', async () => {
    const { sent, found } = await world(30, 120_000)
    await pass(40_000)
    expect([sent, found()]).toEqual([[], {}])
  })

  test('makes loops and the Schedule again that somebody ended or deleted, and only names a Schedule that somebody paused', async () => {
    const { client, running, terminate, found, logged, bootstraps } = await world(0)
    await schedule(client).delete()
    for (const id of loops) await terminate(id)
    await pass(20_000)
    expect(found()).toEqual({ 'loop not running': 2, 'schedule missing': 1 })
    expect(running()).toEqual(expect.arrayContaining(loops))
    // Both looks wanted it at once.
    expect(bootstraps()).toBe(1)
    await schedule(client).pause('bob looks into drift')
    await pass(20_000)
    expect(found()).toEqual({ 'schedule paused': 1 })
    expect(logged.find(({ fault }) => fault === 'schedule paused')).toMatchObject({
      objects: [`Schedule ${scheduleId}`],
      detail: 'bob looks into drift',
      remedy: expect.stringContaining(
        `temporal schedule toggle --unpause --schedule-id ${scheduleId} --namespace default`,
      ),
    })
    await pass(40_000)
    expect(found()).toEqual({ 'schedule paused': 1 })
    expect((await schedule(client).describe()).state.paused).toBe(true)
    expect(bootstraps()).toBe(1)
    expect(logged.filter(({ fault }) => fault === 'schedule paused')).toHaveLength(1)
  })

  test('a Schedule whose run does not end is late, and names it', async () => {
    const { found, logged } = await world(0)
    await pass(2_400_000)
    expect(found()).toEqual({ 'schedule late': 1 })
    const [first] = logged
    expect(first).toMatchObject({ objects: [`Schedule ${scheduleId}`] })
    expect(first?.detail).toMatch(
      /^no run since \S+Z, every 10 min are due; maintenance\S+ has not ended, and no other starts/i,
    )
  })

  test.each([
    { fault: 'isVisibilityDown', expected: { 'cannot be read': 3 } },
    { fault: 'isOld', expected: { 'server too old': 1 } },
  ] as const)('starts loops at once where Temporal answers no such list ($fault), and says so once', async (row) => {
    const { state, running, terminate, found, logged } = await world(30)
    state[row.fault] = true
    for (const id of loops) await terminate(id)
    await pass(20_000)
    expect(running()).toEqual(expect.arrayContaining(loops))
    await pass(60_000)
    expect(found()).toEqual(row.expected)
    const [fault = ''] = Object.keys(row.expected)
    const objects = logged.filter((line) => line.fault === fault).flatMap((line) => line.objects)
    expect(objects).toHaveLength(Object.values(row.expected)[0] ?? 0)
  })

  test('without lists it asks for 20 lifecycles in each round, in turn, and starts those that do not run', async () => {
    const { state, names, idOf, terminate, missing, found } = await world(50)
    state.isVisibilityDown = true
    for (const name of names) await terminate(idOf(name))
    await pass(20_000)
    expect(found()).toMatchObject({ 'cannot be read': 3, 'lifecycle missing': 20 })
    await pass(1000)
    expect(missing()).toHaveLength(30)
    await pass(40_000)
    expect(missing()).toEqual([])
  })

  test('says that Temporal cannot be read while it is away, and repairs what it lost once it is back', async () => {
    const { leave, forget, missing, running, found } = await world(40)
    leave(90_000)
    forget()
    await pass(20_000)
    expect(Object.keys(found())).toEqual(['cannot be read'])
    await pass(120_000)
    expect(missing()).toEqual([])
    expect(running()).toEqual(expect.arrayContaining(loops))
    expect(found()).toEqual({})
  })

  test('ends runs that the workflow code cannot go on with, and starts them again', async () => {
    const { server, names, idOf, running, found, bootstraps } = await world(2)
    const stuck = [idOf(names[0] ?? ''), loops[0] ?? '']
    const before = stuck.map((id) => server.current(id))
    for (const run of before) run?.failedTasks.push(...Array<string>(5).fill('NonDeterministicError'))
    await pass(20_500)
    expect(found()).toEqual({ 'workflow task fails': 2 })
    expect(before.map((run) => run?.status)).toEqual(['terminated', 'terminated'])
    expect(running()).toEqual(expect.arrayContaining(stuck))
    expect(bootstraps()).toBe(1)
    await pass(20_000)
    expect(found()).toEqual({})
  })

  test('ends what is of another form before it begins anew what it was for, young or not', async () => {
    const { kubernetes, names, idOf, terminate, beginOld, sent, doubled, missing, running, found } = await world(2)
    const metadata = { uid: 'younguid', creationTimestamp: new Date(Date.now() + 15_000).toISOString() }
    kubernetes.put('nodeclaims', claimJson('young', { metadata }))
    for (const name of names) await terminate(idOf(name))
    const old = [...[...names, 'young'].map(oldId), 'garbageCollection/test-workflow-2026']
    for (const id of old) await beginOld(id, id.startsWith('nodeclaim') ? 'nodeClaimLifecycle' : 'garbageCollection')
    await pass(21_000)
    expect(found()).toEqual({ 'of another form': 4, 'lifecycle missing': 3 })
    expect(running().filter((id) => old.includes(id))).toEqual([])
    expect([missing(), doubled]).toEqual([[], []])
    // Nobody pokes what is to end.
    expect(sent.toSorted()).toEqual(['start c0', 'start c1', 'start young'])
    await pass(20_000)
    expect(found()).toEqual({})
  })

  test('ends at each look what a process of an earlier version has begun again, until that is gone', async () => {
    const { idOf, beginOld, running, found } = await world(1)
    for (let round = 0; round < 3; round++) {
      await beginOld(oldId('c0'))
      await pass(20_000)
      expect(running().filter((id) => id.startsWith('nodeclaim'))).toEqual([idOf('c0')])
    }
    await pass(20_000)
    expect(found()).toEqual({})
  })

  test('begins nothing anew while what is of another form cannot be ended', async () => {
    const { client, kubernetes, beginOld, running, missing, doubled } = await world(1)
    kubernetes.put('nodeclaims', claimJson('c1', { metadata: { uid: 'c1uid' } }))
    await beginOld(oldId('c1'))
    const busy = new Error('busy')
    vi.spyOn(client.workflowService, 'terminateWorkflowExecution')
      .mockRejectedValueOnce(busy)
      .mockRejectedValueOnce(busy)
    await pass(41_000)
    expect([running().includes(oldId('c1')), missing(), doubled]).toEqual([true, ['c1'], []])
    await pass(20_000)
    expect([running().includes(oldId('c1')), missing(), doubled]).toEqual([false, [], []])
  })

  describe('as it begins to lead, ends what is of another form,', () => {
    const begin = async (known: Awaited<ReturnType<typeof world>>) => {
      let hasBegun = false
      void known.watchdog.begin(new AbortController().signal).then(() => (hasBegun = true))
      await pass(0)
      return () => [hasBegun, known.running().includes(oldId('c0'))]
    }
    const hasSaid = ({ logged }: Awaited<ReturnType<typeof world>>) =>
      logged.some(({ msg }) => msg?.includes('could not be listed or ended') === true)

    test('before anything else', async () => {
      const known = await world(1)
      await known.beginOld(oldId('c0'))
      expect((await begin(known))()).toEqual([true, false])
      expect(hasSaid(known)).toBe(false)
    })

    test('or says that it goes on without where lists cannot be read: a look ends it once they can', async () => {
      const known = await world(1)
      await known.beginOld(oldId('c0'))
      known.state.isVisibilityDown = true
      expect((await begin(known))()).toEqual([true, true])
      expect(hasSaid(known)).toBe(true)
      known.state.isVisibilityDown = false
      await pass(20_000)
      expect(known.running()).not.toContain(oldId('c0'))
    })

    test('and waits for a list no longer than 5 s', async () => {
      const known = await world(1)
      await known.beginOld(oldId('c0'))
      vi.spyOn(known.client.workflowService, 'listWorkflowExecutions').mockReturnValue(new Promise(() => {}) as never)
      const state = await begin(known)
      await pass(4999)
      expect(state()).toEqual([false, true])
      await pass(1)
      expect(state()).toEqual([true, true])
      expect(hasSaid(known)).toBe(true)
    })
  })

  test('looks only while it leads, and leaves its findings to the next leader', async () => {
    const { leads, terminate, running, gauge } = await world(1)
    leads.now = false
    for (const id of loops) await terminate(id)
    await pass(60_000)
    expect(running()).not.toContain(loops[0])
    expect(gauge().size).toBe(0)
  })
})
