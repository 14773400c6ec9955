import { deployment, nodeClass, nodePool } from '../../applied-objects.ts'
import { addMachinesPool, makingMachines } from '../../arm/machines-mode.ts'
import { maintained } from '../../observed/maintenance-passes.ts'
import { isTrue, World } from '../../world.ts'
import type { StopPoint } from '../network.ts'
import { SimulatedProcess } from '../simulated-process.ts'
import type { Run } from '../temporal/run.ts'
import { FastWorld } from '../world/fast-world.ts'
import { passing } from '../world/passing.ts'
import { serversOf } from '../world/simulated-servers.ts'

export interface LifeOptions {
  /** A kill of the process that sends the n-th request, counted from 1. */
  readonly kill?: { readonly request: number; readonly point: StopPoint }
  readonly seed?: number
  /** Processes of Joiner that run side by side. */
  readonly replicas?: number
  /** Whether nodes are AKS machines. */
  readonly isMachines?: boolean
  /** Whether its Schedule has the cluster maintained at the end: a life is over before it does so by itself. */
  readonly isMaintained?: boolean
}

/** What came of a node's life. */
export interface Life {
  /** All requests of Joiner, oldest first, such as `PUT virtualMachines/aks-general-x`. */
  readonly requests: readonly string[]
  /** What is wrong at its end; empty: nothing. */
  readonly wrong: readonly string[]
  /** When everything was gone, in epoch ms. Each life begins at the same time. */
  readonly endMs: number
  /** All runs of workflows, with their histories. */
  readonly runs: readonly Run[]
}

const restartMs = 3000

/** A node's whole life with all of Joiner: it is bought for a pod, drifts, is replaced, and ends with its NodePool; Joiner is killed once in it. */
export function live({
  kill,
  seed = 1,
  replicas = 1,
  isMachines = false,
  isMaintained = false,
}: LifeOptions = {}): Promise<Life> {
  const settings = isMachines ? makingMachines : {}
  return passing(async () => {
    const fast = await FastWorld.start({ seed })
    const world = new World(serversOf(fast))
    const killed: SimulatedProcess[] = []
    if (kill !== undefined)
      fast.network.planned = {
        ...kill,
        stop: (process) => {
          killed.push(process)
          fast.crash(process.name)
          SimulatedProcess.outside(() => setTimeout(() => world.startJoiner(process.name, settings), restartMs))
        },
      }
    try {
      if (isMachines) await addMachinesPool(world)
      for (let replica = 0; replica < replicas; replica++) world.startJoiner(`joiner-${replica}`, settings)
      await course(world)
      const endMs = fast.time.clock.now()
      if (isMaintained) await maintained(world)
      const timers = killed.reduce((sum, process) => sum + process.timers.size, 0)
      const wrong = [
        ...(await boughtTwice(world)),
        ...(timers > 0 ? [`${timers} timers outlive the kill`] : []),
        ...(kill !== undefined && killed.length !== 1 ? [`${killed.length} processes were killed`] : []),
      ]
      return { requests: [...fast.network.requests], wrong, endMs, runs: fast.temporal.runs }
    } finally {
      await world.stop()
    }
  })
}

async function course(world: World): Promise<void> {
  const isUp = async (label?: string) => {
    const [claim, ...more] = await world.list('nodeclaims')
    const isRight = claim !== undefined && more.length === 0 && isTrue(claim, 'Initialized')
    return isRight && claim.metadata.labels?.['revision'] === label && (await world.running()) === 1
  }
  await world.apply(nodeClass(), nodePool({ consolidateAfter: 'Never' }), deployment({ replicas: 1 }))
  await world.until('the pod runs on a node', () => isUp())
  await world.operator.api('PATCH', '/apis/karpenter.sh/v1/nodepools/general', {
    spec: { template: { metadata: { labels: { revision: 'second' } } } },
  })
  await world.until('the pod runs on another node', () => isUp('second'), 600_000)
  await world.operator.kubectl(['delete', 'deployment/inflate', '--wait=false'])
  await world.operator.kubectl(['delete', 'nodepool/general', '--wait=false'])
  await world.untilNothingLeft(600_000)
}

/** VMs beyond the two that a life needs, and those that were asked for under two names for one NodeClaim. */
async function boughtTwice(world: World): Promise<readonly string[]> {
  const journal = await world.journal()
  const names = new Set(journal.filter(({ method }) => method === 'PUT').map(({ name }) => name))
  return names.size === 2 ? [] : [`${names.size} VMs were asked for: ${[...names].join(', ')}`]
}
