// Two replicas, of which one ends in order.
import { expect, test } from 'vitest'
import { expectWhole } from '../whole.ts'
import type { World } from '../world.ts'
import type { Durable } from './durable.ts'

export function replicaTests(durable: () => Durable): void {
  test('SIGTERM of one of two replicas: the other plans at once, without waiting until the first counts as lost', async () => {
    const { world } = durable()
    const direct = (name: string) => durable().startDirect(name)
    await begin(world, 'second', direct)
    // The one that has run longer plans.
    for (const [ended, other, start] of [
      ['joiner', 'second', (name: string) => durable().startBehindProxies(name)],
      ['second', 'joiner', direct],
    ] as const) {
      const claims = (await world.list('nodeclaims')).length
      const before = (await planning(world, other)).length
      await world.scale('inflate', claims + 1)
      await world.cluster.supervisor.kill(ended, 'SIGTERM')
      await expectWhole(world, claims + 1)
      const begun = await world.until('the other plans', async () => {
        const lines = await planning(world, other)
        return lines.length > before && lines
      })
      // It would name the one whose Lease ran out.
      expect(begun.at(-1)).not.toContain('insteadOf')
      await begin(world, ended, start)
    }
  })
}

/** Starts a process, and waits until it works. */
async function begin(world: World, name: string, start: (name: string) => void): Promise<void> {
  const begun = async () => (await world.cluster.supervisor.tail(name, 100_000)).split('"msg":"started workers"').length
  const before = await begun()
  start(name)
  await world.until(`${name} works`, async () => (await begun()) > before)
}

/** The lines in which a process says that it begins to plan. */
async function planning(world: World, name: string): Promise<readonly string[]> {
  const lines = (await world.cluster.supervisor.tail(name, 1_000_000)).split('\n')
  return lines.filter((line) => line.includes('"msg":"this process plans"'))
}
