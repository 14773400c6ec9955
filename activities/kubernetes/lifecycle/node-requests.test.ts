import { describe, expect, test } from 'vitest'
import { FakeCluster } from '../../../test/fakes/cluster.ts'
import { kubernetesDeps } from '../../../test/fakes/deps.ts'
import { at, claimJson } from '../../../test/fakes/objects.ts'
import { useFakeTime } from '../../../test/fakes/time.ts'
import type { Json } from '../client/answers.ts'
import { writeHold } from './node-requests.ts'

useFakeTime()

const ref = { name: 'a', uid: 'uid-a' }
const held = { 'joiner.sh/hold-until': 'released' }

function world(claim: Json = claimJson('a')) {
  const cluster = new FakeCluster()
  cluster.put('nodeclaims', claim)
  return { cluster, ...kubernetesDeps(cluster) }
}

describe('a hold', () => {
  const asked = { atMs: Date.parse(at(1)), by: 'alice', reason: 'debugging' }
  const annotationsOf = (cluster: FakeCluster) => cluster.object('nodeclaims', 'a')?.metadata.annotations

  test('is written, and written twice changes nothing', async () => {
    const { cluster, deps, reported } = world()
    const wanted = { untilMs: Date.parse(at(60)), reason: 'debugging', by: 'alice', expiry: true }
    expect(await writeHold(deps, { claim: ref, hold: wanted, asked })).toMatchObject({
      kind: 'written',
      message: expect.stringContaining('held until 2026-01-01T00:01:00Z by alice') as string,
    })
    expect(annotationsOf(cluster)).toEqual({
      'joiner.sh/hold-until': '2026-01-01T00:01:00Z',
      'joiner.sh/hold-reason': 'debugging',
      'joiner.sh/hold-by': 'alice',
      'joiner.sh/hold-expiry': 'true',
    })
    const before = cluster.snapshot()
    await writeHold(deps, { claim: ref, hold: wanted, asked })
    expect(cluster.snapshot()).toEqual(before)
    expect(reported.map(({ reason }) => reason)).toEqual(['NodeHeld', 'NodeHeld'])
  })

  test('that replaces another leaves nothing of it', async () => {
    const { cluster, deps } = world()
    await writeHold(deps, { claim: ref, hold: { untilMs: Date.parse(at(60)), reason: 'x', expiry: true }, asked })
    await writeHold(deps, { claim: ref, hold: { expiry: false }, asked })
    expect(annotationsOf(cluster)).toEqual({ 'joiner.sh/hold-until': 'released' })
  })

  test('is released, with what it was', async () => {
    const { cluster, deps } = world(claimJson('a', { metadata: { annotations: { ...held, other: 'x' } } }))
    expect(await writeHold(deps, { claim: ref, asked })).toEqual({
      kind: 'written',
      message: 'NodeClaim a is released by alice; it was held until released, no reason given',
    })
    expect(annotationsOf(cluster)).toEqual({ other: 'x' })
  })

  test('that was put on since a late release has read the claim stays', async () => {
    const { cluster, deps } = world(claimJson('a', { metadata: { annotations: held } }))
    cluster.intercept(({ verb }) => {
      if (verb === 'patch')
        cluster.edit('nodeclaims', 'a', { metadata: { annotations: { 'joiner.sh/hold-by': 'bob' } } })
    })
    await expect(writeHold(deps, { claim: ref, asked })).rejects.toThrow('NodeClaim a is held otherwise')
    expect(annotationsOf(cluster)).toEqual({ ...held, 'joiner.sh/hold-by': 'bob' })
  })

  test('is released although something else of the claim changes meanwhile', async () => {
    const { cluster, deps } = world(claimJson('a', { metadata: { annotations: held } }))
    let isFirst = true
    cluster.intercept(({ verb }) => {
      if (verb === 'patch' && isFirst) cluster.edit('nodeclaims', 'a', { metadata: { labels: { team: 'b' } } })
      if (verb === 'patch') isFirst = false
    })
    expect(await writeHold(deps, { claim: ref, asked })).toMatchObject({ kind: 'written' })
    expect(annotationsOf(cluster)).toEqual({})
  })

  test('stops no deletion that has begun, and says so', async () => {
    const { cluster, deps } = world(claimJson('a', { metadata: { deletionTimestamp: at(0) } }))
    const before = cluster.snapshot()
    expect(await writeHold(deps, { claim: ref, hold: { expiry: true }, asked })).toMatchObject({ kind: 'late' })
    expect(cluster.snapshot()).toEqual(before)
  })

  test('of a claim that is gone is late', async () => {
    expect(await writeHold(world(claimJson('b')).deps, { claim: ref, hold: { expiry: true }, asked })).toEqual({
      kind: 'late',
      message: 'NodeClaim a is gone',
    })
  })
})
