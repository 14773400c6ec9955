// Two replicas, of which one ends in order.
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js'
import { expect, test } from 'vitest'
import { expectWhole } from '../whole.ts'
import type { World } from '../world.ts'
import type { Durable } from './durable.ts'

export function replicaTests(durable: () => Durable): void {
  test('SIGTERM of one of two replicas: the other plans at once, without waiting until the first counts as lost', async () => {
    const { world } = durable()
    const direct = (name: string) => durable().startDirect(name)
    await begin(world, 'second', direct)
    // The one that has run longer has the poll.
    for (const [ended, start] of [
      ['joiner', (name: string) => durable().startBehindProxies(name)],
      ['second', direct],
    ] as const) {
      const claims = (await world.list('nodeclaims')).length
      const events = (await loopEvents(world)).length
      await world.scale('inflate', claims + 1)
      await world.cluster.supervisor.kill(ended, 'SIGTERM')
      await expectWhole(world, claims + 1)
      const planned = await world.until('the plan is in the history', async () => {
        const added = (await loopEvents(world)).slice(events)
        return added.some((event) => event.includes('"kind":"planned"')) && added
      })
      // An attempt that was given up in order failed or was cancelled; one that is lost runs into its heartbeat timeout.
      expect(planned.filter((event) => event.includes('timeoutFailureInfo'))).toEqual([])
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

/** The events of the planning loop's present run, as text. Payloads are decoded. */
async function loopEvents(world: World): Promise<readonly string[]> {
  const history = historyToJSON(await world.loop('provisioning').fetchHistory())
  const { events } = JSON.parse(history) as { readonly events: readonly object[] }
  const decoded = (key: string, value: unknown) =>
    key === 'data' && typeof value === 'string'
      ? (JSON.parse(Buffer.from(value, 'base64').toString()) as unknown)
      : value
  return events.map((event) => JSON.stringify(event, decoded))
}
