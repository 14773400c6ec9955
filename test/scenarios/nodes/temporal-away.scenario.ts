// What goes on while Temporal is away: NodeClaims are written, and Nodes that join are used.
import { deployment, nodeClass, nodePool } from '../../applied-objects.ts'
import { World } from '../../world.ts'
import { afterAll, afterEach, beforeAll, expect, test } from '../scenario.ts'

const nodes = 5

let world: World

beforeAll(async () => {
  world = await World.start()
  await world.startWithPool(nodePool({ consolidateAfter: 'Never' }), nodeClass(), deployment({ apart: true }))
})

afterAll(() => world?.stop())

/** What the bridge did for Nodes in place of their lifecycles. */
async function byBridge(): Promise<number> {
  const metrics = await world.metrics()
  const of = (step: string) => metrics[`joiner_nodes_joined_without_temporal_total{step="${step}"}`] ?? Number.NaN
  return of('registered') + of('initialized')
}

const puts = async () => (await world.journal()).filter(({ method }) => method === 'PUT').length

const claimNames = async () => (await world.list('nodeclaims')).map(({ metadata }) => metadata.name).toSorted()

afterEach(async () => {
  await world.scale('inflate', 0)
  await world.operator.kubectl(['delete', 'nodeclaims', '--all', '--wait=false'])
  await world.untilNothingLeft()
})

test('with Temporal there lifecycles register 20 Nodes, and the bridge none', async () => {
  await world.scale('inflate', 20)
  await world.untilRunning(20)
  expect(await byBridge()).toBe(0)
})

test.each([
  { boot: 'in two minutes', bootMs: 10_000, awayMs: 120_000, bridges: 0 },
  // A launch waits no longer, and the lifecycle cannot begin the next step.
  { boot: 'later', bootMs: 150_000, awayMs: 240_000, bridges: nodes },
])('Nodes that join $boot, while Temporal is away, take their pods, and new pods get NodeClaims', async (given) => {
  const { bootMs, awayMs, bridges } = given
  await world.timing({ bootMs })
  await world.fault({ kind: 'latency', ms: 10_000, count: nodes })
  const before = await puts()
  await world.scale('inflate', nodes)
  await world.until('Azure holds the answers to all creates', async () => (await puts()) === before + nodes)
  let isBack = false
  const back = world.restartServer('temporal', awayMs).finally(() => {
    isBack = true
  })
  await world.untilRunning(nodes, awayMs)
  expect(await byBridge()).toBe(bridges)
  expect(isBack).toBe(false)
  await world.scale('inflate', nodes + 2)
  await world.until('the new pods have NodeClaims', async () => (await claimNames()).length === nodes + 2)
  const during = await claimNames()
  expect((await world.azure()).virtualMachines).toHaveLength(nodes)
  await back
  await world.untilRunning(nodes + 2, awayMs)
  expect(await claimNames()).toEqual(during)
  // The lifecycles go on, and know what was done without them.
  await world.until('all are at rest', async () => (await world.lifecycles("NodePhase = 'Ready'")).length === nodes + 2)
  expect((await world.azure()).virtualMachines).toHaveLength(nodes + 2)
})
