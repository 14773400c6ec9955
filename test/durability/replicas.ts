// Two replicas, of which one ends in order.
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js'
import { expect, test } from 'vitest'
import { pauseUpdate, resumeUpdate } from '../../workflows/messages.ts'
import { dated } from '../scenarios/dated.ts'
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
      // The history tells of an attempt's predecessor once it has ended, here by a pause.
      await world.loop('disruption').executeUpdate(pauseUpdate, { args: [{ reason: 'to look' }] })
      const failed = await world.until('the history tells why the attempt of the ended process failed', async () => {
        const added = (await loopEvents(world)).slice(events).filter((event) => event.includes('"lastFailure"'))
        return added.length > 0 && added
      })
      // One that was given up in order failed; one that is lost runs into its heartbeat timeout.
      expect(failed.filter((event) => event.includes('timeoutFailureInfo'))).toEqual([])
      await world.loop('disruption').executeUpdate(resumeUpdate, { args: [dated()] })
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

/** The events of the disruption loop's present run, as text. Payloads are decoded. */
async function loopEvents(world: World): Promise<readonly string[]> {
  const history = historyToJSON(await world.loop('disruption').fetchHistory())
  const { events } = JSON.parse(history) as { readonly events: readonly object[] }
  const decoded = (key: string, value: unknown) =>
    key === 'data' && typeof value === 'string'
      ? (JSON.parse(Buffer.from(value, 'base64').toString()) as unknown)
      : value
  return events.map((event) => JSON.stringify(event, decoded))
}
