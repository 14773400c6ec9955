import type { World } from '../../test/world.ts'

/** Asks for so many pods. Returns when the request was sent: the clock of every scale-up and scale-down starts there. */
export async function scale(world: World, replicas: number): Promise<number> {
  const startMs = Date.now()
  const path = '/apis/apps/v1/namespaces/default/deployments/inflate/scale'
  await world.operator.api('PATCH', path, { spec: { replicas } })
  return startMs
}
