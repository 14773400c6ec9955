import { describe, expect, test } from 'vitest'
import { LeaseApi } from '../../test/ownership/lease-api.ts'
import type { Json } from './client/answers.ts'
import { Lease } from './lease.ts'

const name = 'joiner-bridge'

describe('an API server whose store goes back in time', () => {
  /** What two processes say, one of which holds the Lease, after the store went back to what it held some renewals ago. */
  async function after(
    goBack: (api: LeaseApi, kept: Json | undefined) => void,
  ): Promise<readonly (readonly string[])[]> {
    const api = new LeaseApi()
    const said: string[][] = [[], []]
    const [holder, other] = said.map((problems, at) => {
      const options = { name, identity: `${at}`, durationSeconds: 10, monotonicMs: () => api.nowMs }
      return new Lease({ client: api, namespace: 'joiner', onGoneBack: (problem) => problems.push(problem) }, options)
    }) as [Lease, Lease]
    await holder.tryHold()
    const kept = structuredClone(api.object)
    for (let renewal = 0; renewal < 3; renewal++) {
      api.nowMs += 2000
      expect(await holder.tryHold()).toBe('renewed')
      expect(await other.tryHold()).toBe('other')
    }
    goBack(api, kept)
    await holder.tryHold()
    await other.tryHold()
    return said
  }
  const problem =
    'Lease joiner/joiner-bridge went back from version 4 to 1, as etcd does when it is restored from a backup'

  test('is named by who holds the Lease, and by who looks at it', async () => {
    // Its versions go on from there, as those of an etcd that was copied back.
    const said = await after((api, kept) => {
      api.object = kept
      api.writes = 1
    })
    expect(said).toEqual([[problem], [expect.stringContaining('went back from version 4 to 2')]])
  })

  test('is not mistaken for a Lease that was deleted, or that somebody else has written', async () => {
    expect(await after((api) => (api.object = undefined))).toEqual([[], []])
    expect(
      await after((api) => {
        api.writes += 5
        api.object = { ...api.object, metadata: { resourceVersion: String(api.writes) } }
      }),
    ).toEqual([[], []])
  })

  test('is not mistaken for an answer that comes late', async () => {
    const api = new LeaseApi()
    const problems: string[] = []
    const answers: (() => void)[] = []
    const client = {
      get: api.get,
      create: api.create,
      heldUp: undefined,
      mergePatch: async (path: string, body: Json) => {
        const answer = await api.mergePatch(path, body)
        if (api.writes === 2) await new Promise<void>((resolve) => answers.push(resolve))
        return answer
      },
    }
    const deps = { client, namespace: 'joiner', onGoneBack: (text: string) => problems.push(text) }
    const lease = new Lease(deps, {
      name,
      identity: 'a',
      durationSeconds: 10,
      requestMs: 1,
      monotonicMs: () => api.nowMs,
    })
    await lease.tryHold()
    await expect(lease.tryHold()).rejects.toThrow('has not answered')
    expect(await lease.tryHold()).toBe('renewed')
    expect(await lease.tryHold()).toBe('renewed')
    for (const answer of answers) answer()
    await new Promise(setImmediate)
    expect(problems).toEqual([])
  })
})
