// What the guard counts: nothing depends on the machine.
import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { queryObjects } from 'node:v8'
import { buildProgram, packagesFile } from '../../deploy/build-program.ts'
import { deployment, nodeClass, nodePool } from '../../test/applied-objects.ts'
import { FastWorld } from '../../test/fast/world/fast-world.ts'
import { passing } from '../../test/fast/world/passing.ts'
import { serversOf } from '../../test/fast/world/simulated-servers.ts'
import { World } from '../../test/world.ts'
import { type Counts, countsOf, difference } from './counts.ts'

/** How many modules of each package a start loads, and what each part of the course costs. */
export type Costs = Readonly<
  Record<'modules of packages' | 'start' | 'life' | 'life until empty' | 'idle hour', Counts>
>

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
 * What a process with all roles does from its start until a NodePool is Ready; for one pod that needs a node, until that node was deleted, by an operator
 * and by disruption; and in an hour in which such a node rests.
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
    const scaleUp = async () => {
      await world.scale('inflate', 1)
      await world.untilRunning(1)
      await pause(restMs())
    }
    const life = (end: () => Promise<unknown>) =>
      part(async () => {
        await scaleUp()
        await world.scale('inflate', 0)
        await end()
        await world.untilNothingLeft()
        await pause(restMs())
      })
    const consolidates = (consolidateAfter: string) => world.apply(nodePool({ consolidateAfter }))
    try {
      const start = await part(async () => {
        await world.apply(nodeClass(), nodePool({ consolidateAfter: 'Never' }), deployment({ replicas: 0 }))
        world.startJoiner()
        await world.untilReady('general')
        await pause(restMs())
      })
      const deleted = await life(() => world.operator.kubectl(['delete', 'nodeclaims', '--all', '--wait=false']))
      // What an edit of the NodePool causes is no part of a life.
      await part(async () => {
        await consolidates('30s')
        await pause(restMs())
      })
      const emptied = await life(async () => {})
      await consolidates('Never')
      await part(scaleUp)
      const heldBefore = await held()
      const hour = await part(() => pause(hourMs))
      const kept = difference(await held(), heldBefore)
      return { start, life: deleted, 'life until empty': emptied, 'idle hour': { ...hour, ...kept } }
    } finally {
      await world.stop()
    }
  })
}

/**
 * Collections that are held once the garbage was collected, those of the world's own account among them: the least of some turns, as what is in hand at one
 * of them by chance is not held. Counts of other objects, such as plain ones and promises, vary from run to run: a leak of these alone is not seen.
 */
async function held(): Promise<Counts> {
  const counts = { 'held Map': Number.POSITIVE_INFINITY, 'held Set': Number.POSITIVE_INFINITY }
  for (let turn = 0; turn < 5; turn++) {
    await new Promise((resolve) => setImmediate(resolve))
    counts['held Map'] = Math.min(counts['held Map'], queryObjects(Map, { format: 'count' }))
    counts['held Set'] = Math.min(counts['held Set'], queryObjects(Set, { format: 'count' }))
  }
  return counts
}

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))
