// One NodeClaim's lifecycle: the production bundle and the real activities over a cluster and a resource group in memory, killed in each of its requests.
import { beforeAll, describe, expect, test } from 'vitest'
import { createAzureActivities } from '../../activities/azure/activities.ts'
import { createKubernetesActivities } from '../../activities/kubernetes/activities.ts'
import { sampleTime } from '../../core/sample-objects.ts'
import { lifecycleId } from '../../core/task-queues.ts'
import { workflowBundle } from '../../workers/bundle.ts'
import { azureDeps } from '../fakes/azure-deps.ts'
import { world as launchWorld, newClaim, ref } from '../fakes/launch-world.ts'
import { nodeJson } from '../fakes/objects.ts'
import { type KillPoint, killPoints, Network } from './network.ts'
import { SimulatedProcess } from './simulated-process.ts'
import { simulatedWorker } from './temporal/activity-runner.ts'
import { objections } from './temporal/judge.ts'
import { taskQueues } from './temporal/queues.ts'
import { replay } from './temporal/replay.ts'
import type { Run } from './temporal/run.ts'
import { lifecycleStart, phaseOf, signal } from './temporal/run-messages.ts'
import { type TemporalOptions, TemporalServer } from './temporal/temporal-server.ts'
import { WorkflowHost } from './temporal/workflow-host.ts'
import { passUntil } from './virtual-clock.ts'
import { VirtualTime } from './virtual-time.ts'

let code: string
let host: WorkflowHost
const workflowId = lifecycleId('test', ref)
const restartMs = 3000
const finished: Run[] = []

beforeAll(async () => {
  ;({ code } = await workflowBundle())
  host = WorkflowHost.load(code, ['observe'])
}, 60_000)

interface Life {
  readonly requests: readonly string[]
  readonly puts: number
  /** What is left in the cluster and at Azure. */
  readonly left: readonly string[]
  readonly bytes: Buffer
  readonly killed: readonly SimulatedProcess[]
}

interface LifeOptions extends TemporalOptions {
  readonly kill?: { readonly request: number; readonly point: KillPoint }
}

async function life({ kill, ...options }: LifeOptions = {}): Promise<Life> {
  using time = new VirtualTime(sampleTime)
  const { clock } = time
  const finalizers = ['karpenter.sh/termination']
  const { cluster, azure } = launchWorld(
    newClaim({ metadata: { finalizers, creationTimestamp: new Date().toISOString() } }),
  )
  const network = new Network()
  azure.carry = (request, effect) => network.carry(request, effect)
  const temporal = new TemporalServer(clock, options)
  const killed: SimulatedProcess[] = []
  const start = () => {
    const process = new SimulatedProcess(`process-${killed.length + 1}`)
    process.run(() => {
      const client = network.clientOf(cluster.client, (method, [path]) => `${method} ${String(path)}`)
      const { deps } = azureDeps({ client, cacheOf: () => cluster.cacheOf() } as never, azure)
      const activities = {
        ...createKubernetesActivities({ ...deps, repairPolicies: [] }),
        ...createAzureActivities(deps),
      }
      if (!process.isKilled)
        temporal.addWorker(simulatedWorker({ process, host, queues: taskQueues, activities: activities }))
    })
  }
  if (kill !== undefined)
    network.planned = {
      ...kill,
      kill: (process) => {
        temporal.kill(process)
        killed.push(process)
        SimulatedProcess.outside(() => setTimeout(start, restartMs))
      },
    }
  start()
  const run = temporal.startRun(lifecycleStart(workflowId, ref))
  const until = (what: string, holds: () => unknown) =>
    passUntil(clock, what, () => {
      const [error] = run.taskErrors
      if (error !== undefined) throw error
      return holds()
    })
  await until('a VM', () => azure.get('virtualMachines', 'aks-a') !== undefined)
  cluster.put('nodes', nodeJson('a'))
  await until('the node is ready', () => phaseOf(temporal, run) === 'Ready')
  await cluster.client.delete('/apis/karpenter.sh/v1/nodeclaims/a')
  signal(temporal, run, 'observeAgain', 'deleted')
  await until('the workflow ends', () => !run.isRunning)
  replay(run, host)
  finished.push(run)
  expect(run.status).toBe('completed')
  return {
    requests: network.requests,
    puts: azure.writes.filter((write) => write.startsWith('PUT virtualMachines/')).length,
    left: [
      ...(['virtualMachines', 'networkInterfaces', 'disks'] as const).flatMap((kind) => azure.names(kind)),
      ...(['nodeclaims', 'nodes', 'secrets'] as const).flatMap((resource) => cluster.names(resource)),
    ],
    bytes: run.bytes,
    killed,
  }
}

describe('a lifecycle in virtual time', () => {
  test('is the same twice, and when each task begins with a replay', async () => {
    const first = await life()
    const second = await life()
    expect(second.bytes.equals(first.bytes)).toBe(true)
    expect(second.requests).toEqual(first.requests)
    expect((await life({ isEvicted: () => true })).bytes.equals(first.bytes)).toBe(true)
    expect(first.left).toEqual([])
    expect(first.puts).toBe(1)
  })

  test('survives a kill in each of its requests, at each point of it, and leaves nothing', async () => {
    const { requests } = await life()
    const wrong: string[] = []
    for (const [at, name] of requests.entries())
      for (const point of killPoints) {
        const outcome = await life({ kill: { request: at + 1, point } }).catch((error: unknown) => String(error))
        const row = `${point} ${at + 1} ${name}`
        if (typeof outcome === 'string') wrong.push(`${row}: ${outcome}`)
        else if (outcome.left.length > 0) wrong.push(`${row}: left ${outcome.left.join()}`)
        else if (outcome.killed.length !== 1) wrong.push(`${row}: nothing was killed`)
        else if (outcome.killed.some(({ livingTimers }) => livingTimers > 0))
          wrong.push(`${row}: timers outlive the kill`)
      }
    expect(requests.length).toBeGreaterThan(15)
    expect(wrong).toEqual([])
  }, 120_000)

  test('survives random latencies with evictions', async () => {
    for (let seed = 1; seed <= 10; seed++) {
      const { left } = await life({
        seed,
        isEvicted: (random) => random() < 0.5,
        taskLatencyMs: (random) => Math.floor(random() * 400),
      })
      expect(left).toEqual([])
    }
  }, 60_000)

  test('has histories that Core replays', async () => {
    expect(finished.length).toBeGreaterThan(50)
    expect(await objections(code, finished)).toEqual([])
  }, 120_000)
})
