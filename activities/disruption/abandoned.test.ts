import { describe, expect, test } from 'vitest'
import { FakeCluster } from '../../test/fakes/cluster.ts'
import { at, claimJson, condition, nodeJson, podJson, poolJson } from '../../test/fakes/objects.ts'
import { planningDeps } from '../../test/fakes/planning.ts'
import { ended, pass, useFakeTime } from '../../test/fakes/time.ts'
import type { Json } from '../kubernetes/client/answers.ts'
import { FenceLostError } from '../provisioning/fence.ts'
import { releaseAbandoned } from './abandoned.ts'
import { memoryOf } from './memory.ts'

useFakeTime()

const id = 'drift-0123456789-01234567'
const stamped = { metadata: { annotations: { 'joiner.sh/disruption-command': id } } }
const replacing = { metadata: { annotations: { 'joiner.sh/replacement-for': id } } }
const reported = {
  status: { conditions: [condition('Launched'), condition('DisruptionReason', 'True', 0, 'Drifted')] },
}
const tainted = { spec: { taints: [{ key: 'karpenter.sh/disrupted', effect: 'NoSchedule' }] } }

async function world(claims: Readonly<Record<string, Json>>, nodes: Readonly<Record<string, Json>> = {}) {
  const cluster = new FakeCluster()
  cluster.put('nodepools', poolJson())
  for (const [name, change] of Object.entries(claims)) {
    cluster.put('nodeclaims', claimJson(name, change))
    cluster.put('nodes', nodeJson(name, nodes[name] ?? {}))
  }
  const known = await planningDeps(cluster)
  const stop = new AbortController()
  const evaluating = { fence: { check: async () => {} }, signal: stop.signal }
  const look = () => ended(releaseAbandoned(known.deps, memoryOf(known.deps), evaluating))
  return {
    ...known,
    cluster,
    stop,
    evaluating,
    look,
    /** Two evaluations, as far apart as required. */
    twoLooks: async () => {
      await pass(5000)
      await look()
      await pass(5000)
      await look()
    },
    traces: (name: string) => {
      const { metadata, status } = cluster.object('nodeclaims', name) ?? {}
      return [
        ...Object.keys(metadata?.annotations ?? {}),
        ...(status?.conditions ?? []).map(({ type }) => type).filter((type) => type === 'DisruptionReason'),
        ...(cluster.object('nodes', `aks-${name}`)?.spec.taints ?? []).map(({ key }) => key),
      ]
    },
  }
}

describe('what no command holds', () => {
  test.each<[string, Json, Json]>([
    ['a stamp of a command that does not run', stamped, {}],
    ['a condition without a stamp', reported, {}],
    ['a taint without a stamp', {}, tainted],
    ['all of them', { ...stamped, ...reported }, tainted],
  ])('%s is taken off at the second look', async (_, claim, node) => {
    const { look, traces } = await world({ a: claim }, { a: node })
    const before = traces('a')
    await pass(5000)
    await look()
    expect(traces('a')).toEqual(before)
    await pass(5000)
    await look()
    expect(traces('a')).toEqual([])
  })

  test('also after the clock was set back', async () => {
    const { look, deps, traces } = await world({ a: { ...stamped, ...reported } }, { a: tainted })
    const memory = memoryOf(deps)
    memory.lookedForAbandonedMs = Date.now() + 365 * 86_400_000
    await look()
    for (const name of memory.suspects.keys()) memory.suspects.set(name, Date.now() + 365 * 86_400_000)
    await pass(5000)
    await look()
    expect(traces('a')).toEqual([])
  })

  test('a replacement that nothing uses is deleted, one with pods becomes an ordinary node', async () => {
    const { cluster, twoLooks, traces } = await world({ idle: replacing, used: replacing })
    cluster.put('pods', podJson('web', 'used'))
    await twoLooks()
    expect(cluster.object('nodeclaims', 'idle')?.metadata.deletionTimestamp).toBeDefined()
    expect(cluster.object('nodeclaims', 'used')?.metadata.deletionTimestamp).toBeUndefined()
    expect(traces('used')).toEqual([])
  })

  test('a replacement onto which pods were planned is kept', async () => {
    const { cluster, deps, twoLooks } = await world({ idle: replacing })
    deps.nominations.nominate('pod', 'idle', Date.now() + 5000)
    await twoLooks()
    expect(cluster.object('nodeclaims', 'idle')?.metadata).toMatchObject({ annotations: {} })
    expect(cluster.object('nodeclaims', 'idle')?.metadata.deletionTimestamp).toBeUndefined()
  })
})

describe('what is left alone', () => {
  test.each<[string, Json, Json]>([
    ['a stamp', { ...stamped, ...reported }, tainted],
    ['a replacement', replacing, {}],
  ])('%s of a command that runs', async (_, claim, node) => {
    const { lifecycles, cluster, twoLooks } = await world({ a: claim }, { a: node })
    lifecycles.running.add(id)
    const before = cluster.snapshot()
    await twoLooks()
    expect(cluster.snapshot()).toEqual(before)
  })

  test('a claim that is being deleted', async () => {
    const { cluster, twoLooks } = await world(
      { a: { metadata: { ...stamped.metadata, deletionTimestamp: at(0) } } },
      { a: tainted },
    )
    const before = cluster.snapshot()
    await twoLooks()
    expect(cluster.snapshot()).toEqual(before)
  })

  test.each([
    ['is there', {}],
    ['is on its way out', { deletionTimestamp: at(0) }],
  ])('a replacement while a candidate of its command %s', async (_, metadata) => {
    const { cluster, twoLooks } = await world({ a: { metadata: { ...stamped.metadata, ...metadata } }, new: replacing })
    await pass(0)
    await twoLooks()
    expect(cluster.object('nodeclaims', 'new')?.metadata.deletionTimestamp).toBeUndefined()
    expect(cluster.object('nodeclaims', 'new')?.metadata.annotations).toEqual(replacing.metadata.annotations)
  })

  test('what a command took over between the two evaluations', async () => {
    const { cluster, look, lifecycles } = await world({ a: stamped })
    await pass(5000)
    await look()
    lifecycles.running.add(id)
    await pass(5000)
    const before = cluster.snapshot()
    await look()
    expect(cluster.snapshot()).toEqual(before)
  })

  test('what seemed abandoned, did not, and does again starts again', async () => {
    const { cluster, look, lifecycles, traces } = await world({ a: stamped })
    await pass(5000)
    await look()
    lifecycles.running.add(id)
    await pass(5000)
    await look()
    lifecycles.running.delete(id)
    await pass(5000)
    await look()
    expect(traces('a')).toEqual(['joiner.sh/disruption-command'])
    expect(cluster.attempts).toEqual([])
  })

  test('a running command that the list does not show yet', async () => {
    const { cluster, deps, twoLooks } = await world({ a: stamped })
    deps.commands.isRunning = async () => true
    await twoLooks()
    expect(cluster.attempts).toEqual([])
  })

  test('a running command while only the list is away', async () => {
    const { cluster, deps, lifecycles, twoLooks } = await world({ a: stamped })
    lifecycles.running.add(id)
    deps.commands.listed = async () => {
      throw new Error('no visibility')
    }
    await twoLooks()
    expect(cluster.attempts).toEqual([])
  })

  test('everything when Temporal cannot be asked', async () => {
    const { cluster, deps, look } = await world({ a: stamped })
    const away = async () => {
      throw new Error('temporal is away')
    }
    Object.assign(deps.commands, { listed: away, isRunning: away })
    await pass(5000)
    await look()
    await pass(5000)
    await expect(look()).rejects.toThrow('temporal is away')
    expect(cluster.attempts).toEqual([])
  })

  test('everything by an evaluation of a process that plans no more', async () => {
    const { cluster, evaluating, twoLooks } = await world({ a: stamped })
    evaluating.fence.check = async () => {
      throw new FenceLostError('another planner')
    }
    await expect(twoLooks()).rejects.toThrow('another planner')
    expect(cluster.attempts).toEqual([])
  })

  test('everything by an evaluation that was cancelled', async () => {
    const { cluster, look, stop } = await world({ a: stamped })
    await pass(5000)
    await look()
    stop.abort(new Error('cancelled'))
    await pass(5000)
    await expect(look()).rejects.toThrow('cancelled')
    expect(cluster.attempts).toEqual([])
  })
})

test('evaluations come at most every five seconds', async () => {
  const { look, deps } = await world({ a: stamped })
  let asked = 0
  deps.commands.listed = async () => {
    asked += 1
    return new Set([id])
  }
  await pass(5000)
  for (let index = 0; index < 10; index += 1) {
    await look()
    await pass(1000)
  }
  expect(asked).toBe(2)
})
