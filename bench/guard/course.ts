// What the guard counts: nothing depends on the machine.
import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { buildProgram, packagesFile } from '../../deploy/build-program.ts'
import { deployment, nodeClass, nodePool } from '../../test/applied-objects.ts'
import { FastWorld } from '../../test/fast/world/fast-world.ts'
import { passing } from '../../test/fast/world/passing.ts'
import { serversOf } from '../../test/fast/world/simulated-servers.ts'
import { World } from '../../test/world.ts'
import { type Counts, countsOf, difference } from './counts.ts'

/** How many modules of each package a start loads, and what each part of the course costs. */
export type Costs = Readonly<Record<'modules of packages' | 'start' | 'life' | 'idle hour', Counts>>

/** A part ends at a multiple of this, so that some milliseconds of its work more or less change nothing, and what it has caused is over. */
const partMs = 600_000
const hourMs = 3_600_000

/** Counts what is counted. It is the same in each run. */
export async function costs(): Promise<Costs> {
  const loaded = join(dirname(await buildProgram()), packagesFile)
  const packages = JSON.parse(await readFile(loaded, 'utf8')) as Counts
  return { 'modules of packages': packages, ...(await course()) }
}

/**
 * What a process with all roles does from its start until a NodePool is Ready; for one pod that needs a node, until that node was deleted; and in an
 * hour in which such a node rests.
 */
function course(): Promise<Omit<Costs, 'modules of packages'>> {
  return passing(async () => {
    const fast = await FastWorld.start({ isEvicted: () => false })
    const world = new World(serversOf(fast))
    const restMs = () => partMs - (fast.time.clock.now() % partMs)
    let before: Counts = {}
    const part = async (work: () => Promise<void>) => {
      await work()
      const now = countsOf(fast)
      const counted = difference(now, before)
      before = now
      return counted
    }
    const scale = async (pods: number) => {
      await world.scale('inflate', pods)
      await (pods === 0 ? end(world) : world.untilRunning(pods))
      await pause(restMs())
    }
    try {
      const start = await part(async () => {
        await world.apply(nodeClass(), nodePool({ consolidateAfter: 'Never' }), deployment({ replicas: 0 }))
        world.startJoiner()
        await world.untilReady('general')
        await pause(restMs())
      })
      const life = await part(async () => {
        await scale(1)
        await scale(0)
      })
      await part(() => scale(1))
      const hour = await part(() => pause(hourMs))
      return { start, life, 'idle hour': hour }
    } finally {
      await world.stop()
    }
  })
}

async function end(world: World): Promise<void> {
  await world.operator.kubectl(['delete', 'nodeclaims', '--all', '--wait=false'])
  await world.untilNothingLeft()
}

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))
