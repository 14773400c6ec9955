// One NodeClaim's lifecycle: the production bundle and the real activities over a cluster and a resource group in memory, killed and frozen in each of its
// requests.
import { Worker } from 'node:worker_threads'
import { beforeAll, describe, expect, test } from 'vitest'
import { createAzureActivities } from '../../activities/azure/activities.ts'
import { GarbageCollector } from '../../activities/azure/garbage/garbage.ts'
import { createKubernetesActivities } from '../../activities/kubernetes/activities.ts'
import type { Json } from '../../activities/kubernetes/client/answers.ts'
import { lifecycleId } from '../../core/task-queues.ts'
import { configPath, firstBoot } from '../../deploy/local/azure/boot/custom-data.ts'
import { workflowBundle } from '../../workers/bundle.ts'
import type { FakeAzure } from '../fakes/azure.ts'
import { azureDeps } from '../fakes/azure-deps.ts'
import type { FakeCluster } from '../fakes/cluster.ts'
import { collectAsWorkflow } from '../fakes/garbage-world.ts'
import { world as launchWorld, newClaim, ref, secretName } from '../fakes/launch-world.ts'
import { nodeJson } from '../fakes/objects.ts'
import { sampleTime } from '../samples/sample-objects.ts'
import { Network, type StopPoint, stopPoints } from './network.ts'
import { SimulatedProcess } from './simulated-process.ts'
import { simulatedWorker } from './temporal/activity-runner.ts'
import { objections } from './temporal/judge.ts'
import { taskQueues } from './temporal/queues.ts'
import { replay } from './temporal/replay.ts'
import type { Run } from './temporal/run.ts'
import { lifecycleStart, phaseOf, signal } from './temporal/run-messages.ts'
import { type TemporalOptions, TemporalServer } from './temporal/temporal-server.ts'
import { WorkflowHost } from './temporal/workflow-host.ts'
import { passUntil, randomNumbers, settled } from './virtual-clock.ts'
import { VirtualTime } from './virtual-time.ts'

let host: WorkflowHost
const workflowId = lifecycleId('test', ref)
const restartMs = 3000
const lateMs = 120_000
const finished: Run[] = []

beforeAll(async () => {
  host = WorkflowHost.load((await workflowBundle()).code, ['observe'])
}, 60_000)

/** Collects garbage as Joiner does each few minutes: what a process that was frozen has made too late, no lifecycle owns. */
async function collect(cluster: FakeCluster, azure: FakeAzure): Promise<readonly string[]> {
  if (azure.names('virtualMachines').length === 0) return []
  const { deps } = azureDeps(cluster, azure)
  const { virtualMachines } = await collectAsWorkflow(new GarbageCollector(deps), deps)
  return virtualMachines
}

/** Whether the VM was made with the bootstrap token that the cluster has. */
function holdsToken(cluster: FakeCluster, azure: FakeAzure): boolean {
  const { osProfile } = (azure.get('virtualMachines', 'aks-a')?.properties ?? {}) as {
    osProfile?: { customData: string }
  }
  const config = osProfile && firstBoot(osProfile.customData).files.get(configPath)?.content
  const secret = cluster.object('secrets', secretName, 'kube-system') as { stringData?: Json } | undefined
  return config !== undefined && config.includes(`.${String(secret?.stringData?.['token-secret'])}`)
}

interface Life {
  readonly requests: readonly string[]
  readonly puts: number
  /** What is left in the cluster and at Azure. */
  readonly left: readonly string[]
  /** VMs that were made when their claim was gone; the collection of garbage has found them. */
  readonly late: readonly string[]
  /** How often a VM was made. */
  readonly created: number
  /** VMs that made room for another since they could not join: another process had replaced the bootstrap token that they were made with. */
  readonly unable: number
  readonly bytes: Buffer
  /** All that has happened: each request, and each event with its time. */
  readonly journal: string
  readonly stopped: readonly SimulatedProcess[]
}

interface LifeOptions extends TemporalOptions {
  /** A process is killed, or freezes for a while. Another one starts soon after. */
  readonly stop?: { readonly request: number; readonly point: StopPoint; readonly thawMs?: number }
}

async function life({ stop, ...options }: LifeOptions = {}): Promise<Life> {
  using time = new VirtualTime(sampleTime)
  const { clock } = time
  const finalizers = ['karpenter.sh/termination']
  const { cluster, azure } = launchWorld(
    newClaim({ metadata: { finalizers, creationTimestamp: new Date().toISOString() } }),
  )
  const network = new Network()
  let created = 0
  let unable = 0
  azure.carry = (request, effect) =>
    network.carry(request, () => {
      const vms = azure.names('virtualMachines').length
      const claim = cluster.object('nodeclaims', 'a')
      const isWanted = claim !== undefined && claim.metadata.deletionTimestamp === undefined
      const hasToken = holdsToken(cluster, azure)
      const answer = effect()
      const more = azure.names('virtualMachines').length - vms
      if (more > 0) created += 1
      if (more < 0 && isWanted && !hasToken) unable += 1
      return answer
    })
  const temporal = new TemporalServer(clock, options)
  const stopped: SimulatedProcess[] = []
  const start = () => {
    const process = new SimulatedProcess(`process-${stopped.length + 1}`)
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
  if (stop !== undefined)
    network.planned = {
      ...stop,
      stop: (process) => {
        stopped.push(process)
        const { thawMs } = stop
        if (thawMs === undefined) temporal.kill(process)
        else {
          temporal.freeze(process)
          clock.at(clock.now() + thawMs, () => temporal.thaw(process))
        }
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
  // What a process that was frozen still does comes late.
  await until('all that was frozen goes on', () => stopped.every(({ isFrozen }) => !isFrozen))
  const restMs = clock.now() + lateMs
  clock.at(restMs, () => {})
  await until('its late work is done', () => clock.now() >= restMs)
  const late = await settled(clock, collect(cluster, azure))
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
    created,
    unable,
    late,
    bytes: run.bytes,
    journal: [...network.requests, JSON.stringify(run.history.events)].join('\n'),
    stopped,
  }
}

describe('a lifecycle in virtual time', () => {
  test('is the same twice, and when each task begins with a replay', async () => {
    const first = await life()
    const second = await life()
    expect(second.bytes.equals(first.bytes)).toBe(true)
    expect(second.requests).toEqual(first.requests)
    expect((await life({ isEvicted: () => true })).bytes.equals(first.bytes)).toBe(true)
    expect([...first.left, ...first.late]).toEqual([])
    expect(first.puts).toBe(1)
  })

  test('has one journal for a seed, byte for byte in 20 runs, also beside a thread that burns the processor', async () => {
    const course: TemporalOptions = {
      seed: 20,
      isEvicted: (random) => random() < 0.5,
      taskLatencyMs: (random) => Math.floor(random() * 400),
    }
    const { journal: first } = await life(course)
    expect(first.split('\n').length).toBeGreaterThan(15)
    for (let time = 1; time < 20; time++) {
      const burner = time === 10 ? new Worker('for (;;);', { eval: true }) : undefined
      const { journal } = await life(course)
      await burner?.terminate()
      expect(journal === first, `run ${time + 1}`).toBe(true)
    }
    expect((await life({ ...course, seed: 21 })).journal).not.toBe(first)
  })

  test('survives a kill in each of its requests, at each point of it, and leaves nothing', async () => {
    const { requests } = await life()
    const wrong: string[] = []
    for (const [at, name] of requests.entries())
      for (const point of stopPoints) {
        const outcome = await life({ stop: { request: at + 1, point } }).catch((error: unknown) => String(error))
        const row = `${point} ${at + 1} ${name}`
        if (typeof outcome === 'string') wrong.push(`${row}: ${outcome}`)
        else if (outcome.left.length > 0) wrong.push(`${row}: left ${outcome.left.join()}`)
        else if (outcome.created !== 1 || outcome.late.length > 0) wrong.push(`${row}: made ${outcome.created} VMs`)
        else if (outcome.stopped.length !== 1) wrong.push(`${row}: nothing was killed`)
        else if (outcome.stopped.some(({ timers }) => timers.size > 0)) wrong.push(`${row}: timers outlive the kill`)
      }
    expect(requests.length).toBeGreaterThan(15)
    expect(wrong).toEqual([])
  }, 120_000)

  test('survives a freeze in each of its requests, for a time that follows from a seed', async () => {
    const { requests } = await life()
    const random = randomNumbers(33)
    const wrong: string[] = []
    let late = 0
    for (const [at, name] of requests.entries())
      for (const point of stopPoints) {
        const thawMs = Math.ceil(random() * 300_000)
        const outcome = await life({ stop: { request: at + 1, point, thawMs } }).catch((error: unknown) =>
          String(error),
        )
        const row = `${point} ${at + 1} ${name}, ${thawMs} ms`
        if (typeof outcome === 'string') wrong.push(`${row}: ${outcome}`)
        else if (outcome.left.length > 0) wrong.push(`${row}: left ${outcome.left.join()}`)
        else if (outcome.created !== 1 + outcome.late.length + outcome.unable)
          wrong.push(
            `${row}: a VM was made ${outcome.created} times, ${outcome.late.length} of them too late, ${outcome.unable} could not join`,
          )
        else if (outcome.stopped.length !== 1) wrong.push(`${row}: nothing froze`)
        else late += outcome.late.length
      }
    expect(wrong).toEqual([])
    // Some of the frozen processes make their VM when its claim has gone.
    expect(late).toBeGreaterThan(0)
  }, 120_000)

  test('survives random latencies with evictions', async () => {
    for (let seed = 1; seed <= 10; seed++) {
      const { left, late } = await life({
        seed,
        isEvicted: (random) => random() < 0.5,
        taskLatencyMs: (random) => Math.floor(random() * 400),
      })
      expect([...left, ...late]).toEqual([])
    }
  }, 60_000)

  test('has histories that Core replays', async () => {
    const sample = finished.filter((_, at) => at % 3 === 0)
    expect(sample.length).toBeGreaterThan(50)
    expect(await objections(host, sample)).toEqual([])
  }, 120_000)
})
