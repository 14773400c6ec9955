import type { World } from '../world.ts'

/** Has each lifecycle look at its NodeClaim now, and waits until they have. */
export async function lookAgain(world: World): Promise<void> {
  const running = await world.lifecycles("ExecutionStatus = 'Running'")
  for (const { id } of running) {
    const life = world.temporal.workflow.getHandle(id)
    const before = (await life.describe()).historyLength
    await life.signal('observeAgain', 'a test')
    // More than the signal, and the task that is scheduled and started: the look is in it.
    await world.until(`${id} has looked`, async () => (await life.describe()).historyLength > before + 3)
  }
}
