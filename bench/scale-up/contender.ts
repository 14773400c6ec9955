import type { Cloud } from '../../deploy/local/cluster.ts'
import type { LocalCluster } from '../../deploy/local/local-cluster.ts'
import type { Operator } from '../../deploy/local/operator.ts'
import { nodeClass, nodePool } from '../../test/applied-objects.ts'
import { World } from '../../test/world.ts'

/** An autoscaler and servers of its own, on which nothing has happened yet. */
export interface Contender {
  /** As a table calls it. */
  readonly title: string
  readonly cluster: LocalCluster
  readonly operator: Operator
  /** Name of its process. */
  readonly controller: string
  /** Processes with a part of its roles, started and killed with it. Absent: one has all roles. */
  readonly besides?: readonly string[]
  /** Starts it with its NodePool, and waits until pods may come. */
  begin(): Promise<void>
  /** A second process of it, which stands by while the first one works. Undefined: it has none. */
  readonly spare?: Spare
  /** What it tells about a scale-up that began then, beside what watches see. */
  told(sinceMs: number): Promise<Told>
  /** Errors: something is left although NodeClaims and Nodes are gone. */
  checkLeft(): Promise<void>
  stop(): Promise<void>
}

interface Spare {
  readonly name: string
  /** Resolves when it stands by. */
  start(): Promise<void>
  /** Gives back to the first process, which was started again. */
  stop(): Promise<void>
}

interface Told {
  /** In epoch ms. */
  readonly lastVmAcceptedMs?: number
  readonly plans?: { readonly count: number; readonly solveMs: number }
}

/** A NodePool for the pods of the benchmark: the same for all contenders. */
export const pool = nodePool({ consolidateAfter: '30s' })

/** One process with all roles. */
export async function joiner(cloud: Cloud): Promise<Contender> {
  const world = await World.start({ cloud })
  const spare = 'second'
  const startsOf = async (name: string) =>
    (await world.cluster.supervisor.tail(name, 100_000)).split('"msg":"started workers"').length
  const standBy = async (name: string) => {
    const before = await startsOf(name)
    world.startJoiner(name)
    await world.until(`${name} stands by`, async () => (await startsOf(name)) > before)
  }
  return {
    ...contenderIn(world, () => world.startJoiner()),
    title: `Joiner, ${cloud} cloud`,
    controller: 'joiner',
    spare: {
      name: spare,
      start: () => standBy(spare),
      stop: async () => {
        await standBy('joiner')
        await world.cluster.supervisor.stop(spare)
      },
    },
  }
}

/** A process for each Deployment of the chart. */
export async function joinerApart(cloud: Cloud): Promise<Contender> {
  const world = await World.start({ cloud })
  const [controller = '', ...besides] = world.installation.apartSpecs().map(({ name }) => name)
  return {
    ...contenderIn(world, () => world.startApart()),
    title: `Joiner, ${cloud} cloud, ${besides.length + 1} processes`,
    controller,
    besides,
  }
}

/** What is the same however its roles are spread over processes. */
function contenderIn(world: World, startProcesses: () => void): Omit<Contender, 'title' | 'controller'> {
  return {
    cluster: world.cluster,
    operator: world.operator,
    begin: async () => {
      startProcesses()
      await world.apply(pool, nodeClass())
      await world.untilReady(pool.metadata.name)
    },
    told: async (sinceMs) => {
      const plans = await world.plans(sinceMs)
      const puts = (await world.journal()).filter(({ method }) => method === 'PUT').map(({ atMs }) => atMs)
      return {
        lastVmAcceptedMs: Math.max(...puts),
        plans: { count: plans.length, solveMs: plans.reduce((sum, { solveMs }) => sum + solveMs, 0) },
      }
    },
    checkLeft: async () => {
      const left = (await world.azure()).virtualMachines.length
      if (left > 0) throw new Error(`${left} VMs are left without a NodeClaim`)
    },
    stop: () => world.stop(),
  }
}
