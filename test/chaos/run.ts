import { addMachinesPool } from '../arm/machines-mode.ts'
import { type CloudVm, cloudNodes } from '../fast/kubernetes/controllers/cloud-nodes.ts'
import { run as runController } from '../fast/kubernetes/controllers/controller.ts'
import { objections } from '../fast/temporal/judge.ts'
import type { Run } from '../fast/temporal/run.ts'
import { FastWorld } from '../fast/world/fast-world.ts'
import { passing } from '../fast/world/passing.ts'
import { serversOf } from '../fast/world/simulated-servers.ts'
import { World } from '../world.ts'
import { clear, end, settle } from './endings.ts'
import { faults } from './faults.ts'
import { classObject, poolObject, workloadObjects } from './objects.ts'
import { operators } from './operators.ts'
import type { ChaosPlan } from './plan.ts'
import { Scene, wait } from './scene.ts'
import { nameOf, type Trouble } from './troubles.ts'
import { Watch } from './watch/watch.ts'
import type { Wrong } from './watch/wrong.ts'

export interface ChaosOptions {
  /** Whether Core replays all histories at the end. Default: it does. */
  readonly isJudged?: boolean
  /** Hears of what happens, a line each. */
  readonly say?: (text: string) => void
}

/** How much happened in a run. Nothing of the machine is in it. */
export interface Work {
  /** What was due at a time: timers, and halves of the ways of requests. */
  readonly timers: number
  readonly requests: number
  /** Of workflows, without replays. */
  readonly activations: number
}

/** What came of a plan. */
export interface ChaosRun {
  /** What is wrong; empty: nothing. */
  readonly wrong: readonly Wrong[]
  readonly counts: ReadonlyMap<string, number>
  /** Virtual time from the beginning to the end. */
  readonly simulatedMs: number
  /** Processor time of this process. */
  readonly cpuMs: number
  readonly work: Work
  /** What was asked for, for comparisons of runs. */
  readonly requests: readonly string[]
}

/**
 * A region of 75 sizes: each family's with up to as many vCPUs as NodePools draw from (plan.ts). Joiner compares all sizes of a region at each change of
 * what can be bought, and those that no NodePool takes were a fifth of what a seed cost.
 */
const region = { mostVCpus: 8 }

/** Fewer replays in the midst of a run than elsewhere: Core replays all of its histories at the end, and a process that is killed loses its cache. */
const isEvicted = (random: () => number) => random() < 0.02

const acts = { ...faults, ...operators } as Readonly<
  Record<Trouble['kind'], (scene: Scene, trouble: Trouble) => Promise<void>>
>

/** From the beginning to the deletion of everything. */
const leastMs = 20 * 60_000
/** What comes after a plan's troubles: the rest of everything, and its deletion. */
const longestRestMs = 48 * 3_600_000

/** Lets a plan take its course in virtual time. What happens follows from the plan alone. */
export async function runPlan(
  plan: ChaosPlan,
  { say = () => {}, isJudged = true }: ChaosOptions = {},
): Promise<ChaosRun> {
  const before = process.cpuUsage()
  const act = async () => {
    const fast = await FastWorld.start({ seed: plan.seed, isEvicted, azure: region })
    const world = new World(serversOf(fast))
    const scene = new Scene(plan, { fast, world }, say)
    const watch = new Watch(scene)
    const stopCloud = runController(
      fast.cluster.server,
      cloudNodes(fast.cluster.server, (id) => cloudVm(fast, id)),
    )
    const startMs = scene.nowMs
    try {
      await course(scene, watch)
    } catch (error) {
      watch.note('failure', error instanceof Error ? error.message.slice(0, 2000) : String(error))
    } finally {
      watch.stop()
      stopCloud()
      await world.stop().catch((error: unknown) => watch.note('stop', String(error)))
    }
    const { counts } = scene
    const simulatedMs = scene.nowMs - startMs
    const { requests } = fast.network
    const work = {
      timers: fast.time.clock.happened,
      requests: requests.length,
      activations: fast.temporal.activations,
    }
    return {
      wrong: watch.wrong,
      counts,
      simulatedMs,
      work,
      requests,
      runs: fast.temporal.runs,
      host: fast.workflowHost,
    }
  }
  const longestMs = plan.minutes * 60_000 + longestRestMs
  const { runs, host, ...run } = await passing(act, longestMs).catch((error: unknown) => failed(error))
  // Core is a thread, which knows no virtual time.
  const objected = isJudged && host !== undefined ? await objections(host, runs) : []
  const { user, system } = process.cpuUsage(before)
  const wrong = [...run.wrong, ...objected.map((what) => ({ kind: 'history', what }))]
  return { ...run, wrong, cpuMs: (user + system) / 1000 }
}

/** Foreign Nodes have VMs of which the cloud knows nothing. */
function cloudVm({ azure }: FastWorld, providerId: string): CloudVm {
  const vm = azure.deps.machines.get(providerId.slice(providerId.lastIndexOf('/') + 1))
  return vm && { isStopped: vm.power === 'stopped' || vm.power === 'deallocated' }
}

async function course(scene: Scene, watch: Watch): Promise<void> {
  const { plan, world } = scene
  await world.timing(plan.timing)
  if (plan.makesMachines) await addMachinesPool(world)
  await world.apply(
    classObject(scene.nodeClass),
    ...plan.pools.map((pool) => poolObject({ ...pool, revision: 0 })),
    ...plan.workloads.flatMap(workloadObjects),
  )
  for (let replica = 0; replica < plan.replicas; replica++) scene.startJoiner(`joiner-${replica}`)
  const startMs = scene.nowMs
  for (const { atMs, trouble } of plan.timeline) {
    await wait(Math.max(0, startMs + atMs - scene.nowMs))
    bringAbout(scene, trouble)
  }
  await wait(Math.max(0, startMs + plan.minutes * 60_000 - scene.nowMs))
  scene.say('all troubles are over')
  await clear(scene)
  await settle(scene, watch)
  // What has come to rest must also stay as it is.
  await wait(Math.max(0, startMs + leastMs - scene.nowMs))
  await end(scene, watch)
}

function bringAbout(scene: Scene, trouble: Trouble): void {
  const { kind, ...details } = trouble
  scene.say(`${kind} ${JSON.stringify(details)}`)
  scene.lasts(acts[kind](scene, trouble).then(() => scene.count(nameOf(trouble))))
}

/** The world itself came to an end: a workflow task failed, or nothing happens any more. */
function failed(error: unknown): Omit<ChaosRun, 'cpuMs'> & { readonly runs: readonly Run[]; readonly host: undefined } {
  const what = error instanceof Error ? (error.stack ?? error.message) : String(error)
  const wrong = [{ kind: 'world', what: what.slice(0, 2000) }]
  return {
    wrong,
    counts: new Map(),
    simulatedMs: 0,
    work: { timers: 0, requests: 0, activations: 0 },
    requests: [],
    runs: [],
    host: undefined,
  }
}
