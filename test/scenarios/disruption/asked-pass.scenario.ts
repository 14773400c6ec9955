// A pass that an operator asked for and then cancels in Temporal, or that nobody works for.
import { consolidateNowSignal, consolidateUpdate, loopStatusQuery } from '../../../workflows/messages.ts'
import { nodeClass, nodePool } from '../../applied-objects.ts'
import { World } from '../../world.ts'
import { dated } from '../dated.ts'
import { afterAll, beforeAll, expect, test } from '../scenario.ts'

let world: World

beforeAll(async () => {
  world = await World.start()
  // Without the planner a pass waits.
  world.startJoiner('joiner', { JOINER_ROLES: 'core,bridge,azure,conversion' })
  await world.apply(nodeClass(), nodePool())
  await world.untilReady('general')
})

afterAll(() => world?.stop())

const cancelled = new Set<string>()

/** Cancels the pass that runs, once it is listed. */
async function cancelPass(): Promise<void> {
  const query = "WorkflowType = 'disruptionPass' AND ExecutionStatus = 'Running'"
  const pass = await world.until('a pass runs', async () => {
    for await (const { workflowId } of world.temporal.workflow.list({ query }))
      if (!cancelled.has(workflowId)) return world.temporal.workflow.getHandle(workflowId)
    return undefined
  })
  cancelled.add(pass.workflowId)
  await pass.cancel()
  await expect(pass.result()).rejects.toThrow('cancelled')
}

test('who waits for a pass that is cancelled is told so, and the loop takes the next request', async () => {
  const loop = world.loop('disruption')
  const { runId } = await loop.describe()
  for (let time = 1; time <= 2; time += 1) {
    const answer = loop.executeUpdate(consolidateUpdate, { args: [dated()] })
    await cancelPass()
    expect(await answer).toEqual({ kind: 'refused', message: 'the pass was cancelled' })
  }
  await loop.signal(consolidateNowSignal, dated())
  await cancelPass()
  await world.until(
    'the loop waits for the next request',
    async () => (await loop.query(loopStatusQuery)).doing === 'disrupting',
  )
  const { status, runId: after } = await loop.describe()
  expect([status.name, after]).toEqual(['RUNNING', runId])
})

test('a planner that comes later carries out what was asked', async () => {
  const answer = world.loop('disruption').executeUpdate(consolidateUpdate, { args: [dated()] })
  world.startJoiner('planner', { JOINER_ROLES: 'planner' })
  expect(await answer).toEqual({ kind: 'done', started: [], rejected: [], changes: [], pauses: [] })
})
