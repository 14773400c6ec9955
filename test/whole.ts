import { expect } from 'vitest'
import { isTrue, patienceMs, type World } from './world.ts'

/** What must be true whatever happened: each pod runs within `ms`, and NodeClaims, Nodes and VMs are the same set. */
export async function expectWhole(world: World, count: number, ms = patienceMs): Promise<void> {
  await world.untilRunning(count, ms)
  const areReady = async () => {
    const found = await world.list('nodeclaims')
    return found.length === count && found.every((claim) => isTrue(claim, 'Ready')) && found
  }
  const claims = await world.until(`${count} NodeClaims are Ready`, areReady, ms)
  const nodes = await world.list('nodes')
  const { virtualMachines, networkInterfaces } = await world.azure()
  const names = nodes.map(({ metadata }) => metadata.name).sort()
  expect(virtualMachines.map(({ name }) => name).sort()).toEqual(names)
  expect(networkInterfaces).toHaveLength(count)
  expect(claims).toHaveLength(nodes.length)
}
