// For five minutes the API server refuses, fails or is slow, or one of two replicas reaches a server no longer, on real servers, while nodes launch.
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { deployment, nodeClass, nodePool } from './applied-objects.ts'
import { BlackHole } from './faults/black-hole.ts'
import { type Gate, Hold, type Waiting } from './faults/gate.ts'
import { FaultyWorld } from './faulty-world.ts'
import { expectWhole } from './whole.ts'
import type { World } from './world.ts'

const faultMs = 5 * 60_000
/** Pods, each on a node of its own: of before, and wanted while the fault lasts. */
const [before, wanted] = [2, 4]
/** What comes back needs its time: who was refused backs off. */
const afterwardsMs = 180_000

let faulty: FaultyWorld
let world: World
let temporal: BlackHole

beforeAll(async () => {
  faulty = await FaultyWorld.startServers()
  world = faulty.world
  temporal = await BlackHole.before(world.cluster.ports.temporal)
  await faulty.restart({ TEMPORAL_ADDRESS: temporal.address })
  await world.apply(nodePool({ consolidateAfter: 'Never' }), nodeClass(), deployment({ apart: true }))
  await world.untilReady('general')
})

afterAll(async () => {
  await faulty?.stop()
  temporal?.stop()
})

afterEach(async () => {
  faulty.reset()
  await world.timing({ createMs: 0 })
  await world.scale('inflate', 0)
  await world.operator.kubectl(['delete', 'nodeclaims', '--all', '--wait=false'])
  await world.untilNothingLeft(afterwardsMs)
})

const wait = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

/** Does something to each request. */
class Each extends Hold {
  readonly #act: (waiting: Waiting) => void

  constructor(act: (waiting: Waiting) => void) {
    super(() => true)
    this.#act = act
  }

  override take(waiting: Waiting): boolean {
    this.#act(waiting)
    return true
  }
}

/** How a server answers for so long. */
const faults: Readonly<Record<string, (gate: Gate) => Promise<void>>> = {
  'answers 429': async (gate) => {
    gate.throttle(faultMs)
    await wait(faultMs)
  },
  'answers 500': (gate) =>
    during(gate, ({ reply }) => void reply({ status: 500, headers: {}, text: '{"kind":"Status","code":500}' })),
  'takes 20 s for each request': (gate) => during(gate, ({ pass }) => void setTimeout(pass, 20_000)),
  'answers nothing': (gate) => during(gate, () => {}),
}

async function during(gate: Gate, act: (waiting: Waiting) => void): Promise<void> {
  gate.add(new Each(act))
  await wait(faultMs)
  gate.forget()
}

/** Has nodes there, and others launch. */
async function begin(): Promise<void> {
  await world.scale('inflate', before)
  await expectWhole(world, before)
  await world.timing({ createMs: 20_000 })
  await world.scale('inflate', wanted)
  await world.until('NodeClaims for the new pods', async () => (await world.list('nodeclaims')).length === wanted)
}

/** Waits until all is there, once. Returns after how many seconds. */
async function untilOver(ms = afterwardsMs): Promise<number> {
  const startedMs = Date.now()
  await expectWhole(world, wanted, ms)
  const seconds = Math.round((Date.now() - startedMs) / 1000)
  const puts = (await world.journal()).filter(({ method }) => method === 'PUT').map(({ name }) => name)
  expect(puts).toHaveLength(new Set(puts).size)
  return seconds
}

test.each(Object.keys(faults))('an API server that %s for five minutes: nodes come, and none twice', async (name) => {
  const { pids } = world.cluster.supervisor
  await begin()
  await faults[name]?.(faulty.proxy)
  console.log(`the API server ${name}: all was there ${await untilOver()} s afterwards`)
  expect(world.cluster.supervisor.pids['joiner']).toBe(pids['joiner'])
})

/** Keeps the first replica from a server for so long. */
const cuts: Readonly<Record<string, () => Promise<void>>> = {
  'the API server': () => during(faulty.proxy, () => {}),
  Azure: () => during(faulty.azure, () => {}),
  Temporal: async () => {
    temporal.lose()
    await wait(faultMs)
    temporal.serve()
  },
}

test.each(Object.keys(cuts))(
  'one of two replicas does not reach %s: the other makes the nodes, and none twice',
  async (from) => {
    world.startJoiner('second')
    await world.scale('inflate', before)
    await expectWhole(world, before)
    const isOver = cuts[from]?.()
    await world.scale('inflate', wanted)
    console.log(`one of two replicas does not reach ${from}: all was there after ${await untilOver(faultMs)} s`)
    await isOver
    await untilOver()
    await world.crash('second')
  },
)
