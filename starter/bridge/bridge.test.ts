import { pino } from 'pino'
import { describe, expect, onTestFinished, test } from 'vitest'
import { AttributedStarts } from '../../activities/attributed-starts.ts'
import { resourcePath } from '../../activities/kubernetes/client/resources.ts'
import { LifecycleStarter } from '../../activities/provisioning/lifecycle-starter.ts'
import { lifecycleId } from '../../core/task-queues.ts'
import { FakeCluster } from '../../test/fakes/cluster.ts'
import { claimJson, condition, nodeJson } from '../../test/fakes/objects.ts'
import { pass, useFakeTime } from '../../test/fakes/time.ts'
import { Bridge } from './bridge.ts'

useFakeTime()

const Status = { RUNNING: 1, TERMINATED: 5 } as const

const initialized = ['Launched', 'Registered', 'Initialized'].map((type) => condition(type))
const interruption = { type: 'VMEventScheduled', status: 'True' }

/** A Temporal that records what the bridge sends. `listed`: the lifecycles that its list shows; `old`: those of another form, until they are ended. */
function fakeTemporal(listed: () => readonly string[], loops: { running: boolean }, old: Set<string>) {
  const sent: string[] = []
  const said: unknown[] = []
  let answers = Promise.resolve()
  const workflow = {
    start: async (_: string, { workflowId }: Record<string, string>) => {
      await answers
      sent.push(`start ${workflowId}`)
    },
    signalWithStart: async (_: string, { workflowId, signalArgs }: { workflowId: string; signalArgs: unknown }) => {
      await answers
      sent.push(`poke ${workflowId}`)
      said.push(signalArgs)
    },
    getHandle: (workflowId: string) => ({
      describe: async () => ({ status: { name: loops.running ? 'RUNNING' : 'TERMINATED' } }),
      terminate: async () => {
        await answers
        sent.push(`end ${workflowId}`)
        old.delete(workflowId)
      },
    }),
  }
  const workflowService = {
    countWorkflowExecutions: async () => ({ count: listed().length }),
    async describeWorkflowExecution({ execution }: { execution: { workflowId: string } }) {
      const isRunning = listed().includes(execution.workflowId)
      return { workflowExecutionInfo: { status: isRunning ? Status.RUNNING : Status.TERMINATED } }
    },
    async listWorkflowExecutions({ query }: { query: string }) {
      await answers
      const isOfOthers = query.includes('TemporalReportedProblems') || query.includes("!= 'nodeClaimLifecycle'")
      const ids = isOfOthers ? [] : [...listed(), ...old]
      const executions = ids.map((workflowId) => ({ execution: { workflowId }, type: { name: 'nodeClaimLifecycle' } }))
      return { executions, nextPageToken: Buffer.alloc(0) }
    },
  }
  return {
    client: { workflow, workflowService, options: { namespace: 'default' } } as never,
    sent,
    /** What pokes say. */
    said,
    /** Requests are not answered until the returned function is called. */
    hold: () => {
      const { promise, resolve } = Promise.withResolvers<void>()
      answers = promise
      return resolve
    },
  }
}

async function world(claims: number, listed?: readonly string[], old: ReadonlySet<string> = new Set()) {
  const cluster = new FakeCluster()
  for (let at = 0; at < claims; at++) {
    cluster.put('nodeclaims', claimJson(`c${at}`, { status: { conditions: initialized } }))
    cluster.put('nodes', nodeJson(`c${at}`))
  }
  const idOf = (name: string) =>
    lifecycleId('test', { name, uid: cluster.object('nodeclaims', name)?.metadata.uid ?? '' })
  const loops = { running: true }
  const all = () => cluster.names('nodeclaims').map(idOf)
  const temporal = fakeTemporal(() => listed ?? all(), loops, new Set(old))
  const cache = cluster.cacheOf()
  let bootstraps = 0
  const bridge = new Bridge({
    deps: {
      client: cluster.client,
      cache,
      log: pino({ level: 'silent' }),
      now: () => Date.now(),
      events: { record() {}, recordTransitions() {} } as never,
      namespace: 'joiner',
      cluster: 'test',
      nodeRules: { interruptions: [interruption], repairs: [] } as never,
      lifecycles: new LifecycleStarter(temporal.client, 'test', new AttributedStarts(Date.now)),
    },
    client: temporal.client,
    connection: {} as never,
    bootstrap: async () => {
      bootstraps += 1
      loops.running = true
    },
    temporalNamespace: 'default',
    identity: 'a',
    peers: { address: undefined, connect: () => Promise.reject(new Error('nobody is there')) },
    resyncMs: 300_000,
    version: undefined,
    onLead: () => {},
  })
  cache.synced = async () => {}
  onTestFinished(() => bridge.stop())
  return { cluster, bridge, idOf, loops, ...temporal, bootstraps: () => bootstraps }
}

const lifecyclesIn = (sent: readonly string[]) => sent.filter((each) => each.includes('nodeclaim/'))

describe('the bridge', () => {
  test('leads on through a failed and a slow request for its Lease, and pokes nobody', async () => {
    const { cluster, bridge, sent } = await world(5000)
    bridge.start()
    await pass(100)
    expect(bridge.isLeader).toBe(true)
    const led: boolean[] = []
    for (const fault of ['fails', 'hangs']) {
      let faults = 1
      const end = cluster.intercept(async ({ path }) => {
        if (!path.endsWith('joiner-bridge') || faults-- <= 0) return
        if (fault === 'fails') throw new Error('HTTP 500')
        await new Promise((resolve) => setTimeout(resolve, 60_000))
      })
      for (let at = 0; at < 40; at++) {
        await pass(500)
        led.push(bridge.isLeader)
      }
      end()
    }
    expect(new Set(led)).toEqual(new Set([true]))
    expect(lifecyclesIn(sent)).toEqual([])
  })

  test('that takes over pokes what is under way, and nothing that rests', async () => {
    const { cluster, bridge, sent, idOf } = await world(20)
    const conditions = [condition('Launched')]
    cluster.put('nodeclaims', claimJson('launching', { status: { conditions } }))
    cluster.put('nodeclaims', claimJson('alone', { status: { conditions: initialized } }))
    cluster.edit('nodes', 'aks-c3', { status: { conditions: [interruption] } })
    bridge.start()
    await pass(100)
    const expected = ['launching', 'alone', 'c3'].map((name) => `poke ${idOf(name)}`)
    expect(lifecyclesIn(sent).toSorted()).toEqual(expected.toSorted())
  })

  test('pokes a lifecycle that rests when its NodeClaim is again what it was before, as after a restore of etcd', async () => {
    const { cluster, bridge, sent, idOf } = await world(3)
    bridge.start()
    await pass(100)
    cluster.edit('nodeclaims', 'c1', { status: { conditions: [condition('Launched')] } })
    await pass(100)
    expect(lifecyclesIn(sent)).toEqual([`poke ${idOf('c1')}`])
  })

  test('tells a lifecycle why its NodeClaim goes, and pokes it when a restore of etcd takes the deletion back', async () => {
    const { cluster, bridge, sent, said, idOf } = await world(3)
    bridge.start()
    await pass(100)
    cluster.edit('nodeclaims', 'c1', { metadata: { deletionTimestamp: new Date(0).toISOString() } })
    await pass(100)
    cluster.edit('nodeclaims', 'c1', { metadata: { deletionTimestamp: null } })
    await pass(5000)
    expect(lifecyclesIn(sent)).toEqual([`poke ${idOf('c1')}`, `poke ${idOf('c1')}`])
    expect(said).toEqual([
      ['the NodeClaim is being deleted', { went: { kind: 'deleted' }, drainingMs: 0 }],
      ['the NodeClaim is back'],
    ])
  })

  test('pokes the lifecycle of a NodeClaim that was gone and is back, which begins it where it has ended', async () => {
    const { cluster, bridge, sent, idOf } = await world(3)
    bridge.start()
    await pass(100)
    const path = resourcePath('nodeclaims', 'c1')
    const claim = cluster.server.objects.drop(path)
    await pass(100)
    cluster.server.objects.store(path, claim)
    await pass(100)
    expect(lifecyclesIn(sent)).toEqual([`poke ${idOf('c1')}`, `poke ${idOf('c1')}`])
  })

  test('pokes the lifecycle of a NodeClaim that was gone before this one led, and is back', async () => {
    const { cluster, bridge, sent, idOf } = await world(3)
    const path = resourcePath('nodeclaims', 'c1')
    const id = idOf('c1')
    const claim = cluster.server.objects.drop(path)
    bridge.start()
    await pass(100)
    cluster.server.objects.store(path, claim)
    await pass(100)
    expect(lifecyclesIn(sent)).toEqual([`poke ${id}`])
  })

  test('that takes over ends what is of another form before it tells anybody anything, also of what changes meanwhile', async () => {
    const old = ['nodeclaim/test/c0/uid', 'nodeclaim/test/launching/uid']
    const { cluster, bridge, sent, idOf, hold } = await world(2, undefined, new Set(old))
    cluster.put('nodeclaims', claimJson('launching', { status: { conditions: [condition('Launched')] } }))
    const answer = hold()
    bridge.start()
    await pass(2000)
    cluster.edit('nodes', 'aks-c1', { status: { conditions: [interruption] } })
    await pass(2000)
    expect([bridge.isLeader, sent]).toEqual([true, []])
    answer()
    await pass(100)
    expect(sent.slice(0, 2).toSorted()).toEqual(old.map((id) => `end ${id}`))
    expect(sent.slice(2).toSorted()).toEqual(['c1', 'launching'].map((name) => `poke ${idOf(name)}`))
  })

  test('tells of an interruption at once, while Temporal is slow to start the lifecycles of thousands', async () => {
    const { cluster, bridge, sent, idOf, hold } = await world(2000, [])
    bridge.start()
    await pass(19_900)
    const answer = hold()
    await pass(200)
    cluster.edit('nodes', 'aks-c1999', { status: { conditions: [interruption] } })
    await pass(0)
    answer()
    await pass(0)
    const poke = lifecyclesIn(sent).indexOf(`poke ${idOf('c1999')}`)
    expect(poke).toBeGreaterThanOrEqual(0)
    expect(poke).toBeLessThan(20)
  })

  test('has loops that somebody terminated begun again within 30 s', async () => {
    const { bridge, loops, bootstraps } = await world(1)
    bridge.start()
    await pass(1000)
    loops.running = false
    await pass(30_000)
    expect(bootstraps()).toBe(1)
    expect(loops.running).toBe(true)
  })
})
