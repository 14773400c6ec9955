import { describe, expect, onTestFinished, test } from 'vitest'
import { FakeCluster } from '../../../test/fakes/cluster.ts'
import { kubernetesDeps } from '../../../test/fakes/deps.ts'
import { claimJson, condition } from '../../../test/fakes/objects.ts'
import { pass, useFakeTime } from '../../../test/fakes/time.ts'
import type { AzureClient } from '../arm/client.ts'
import { Quota } from './quota.ts'

useFakeTime()

/** A process that polls the quota of a cluster. Each poll takes `ms`. */
function polled(ms: number, answer: () => void) {
  const cluster = new FakeCluster()
  const { cache, log, now } = kubernetesDeps(cluster).deps
  let polls = 0
  async function* list() {
    polls += 1
    await pause(ms)
    answer()
    yield { name: { value: 'cores' }, limit: 100, currentValue: 10 }
  }
  const azure = { compute: { usage: { list } } } as unknown as AzureClient
  const document = { write: async () => {}, follow: () => () => {} }
  const quota = new Quota({ azure, document, location: 'westus2', cache, sizeOf: () => undefined, log, now })
  quota.start()
  onTestFinished(() => quota.stop())
  const launch = async (count: number) => {
    for (let at = 0; at < count; at++) {
      cluster.put('nodeclaims', claimJson(`n${at}`, { status: { conditions: [condition('Launched')] } }))
      await pass(100)
    }
  }
  return { quota, launch, polls: () => polls }
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

describe('the poll of the quota', () => {
  test('is not sent for each launch while Azure does not answer it', async () => {
    const { launch, polls } = polled(50, () => {
      throw new Error('no usages today')
    })
    await pass(1000)
    await launch(100)
    // One in 30 s.
    expect(polls()).toBe(1)
    await pass(30_000)
    expect(polls()).toBe(2)
  })

  test('is sent once though nodes are launched while it takes its time', async () => {
    const { launch, polls } = polled(5000, () => {})
    await pass(6000)
    await launch(1)
    await pass(60_000)
    await launch(30)
    await pass(2000)
    expect(polls()).toBe(2)
  })
})
