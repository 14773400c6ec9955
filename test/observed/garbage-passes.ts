import type { World } from '../world.ts'

/** Waits for a whole pass of garbage collection from now on. */
export async function collected(world: World): Promise<void> {
  const query = "WorkflowType = 'garbageCollection' AND ExecutionStatus != 'Running'"
  const ended = async () => (await world.temporal.workflow.count(query)).count
  const before = await ended()
  await world.trigger('garbageCollection')
  await world.until('a pass of garbage collection ended', async () => (await ended()) > before)
}
