import type { World } from '../world.ts'

/** Has the whole of maintenance run from now on, and waits for its end, however it ends. */
export async function maintained(world: World): Promise<void> {
  const query = "WorkflowType = 'maintenance' AND ExecutionStatus != 'Running'"
  const ended = async () => (await world.temporal.workflow.count(query)).count
  const before = await ended()
  await world.maintain()
  await world.until('a run of maintenance ended', async () => (await ended()) > before)
}
