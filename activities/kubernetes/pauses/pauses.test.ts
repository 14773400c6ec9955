import { describe, expect, test } from 'vitest'
import type { Lift } from '../../../core/pauses/pause-requests.ts'
import { type Pause, wholeLoop } from '../../../core/pauses/pauses.ts'
import { FakeCluster } from '../../../test/fakes/cluster.ts'
import { kubernetesDeps } from '../../../test/fakes/deps.ts'
import { at, claimJson, poolJson } from '../../../test/fakes/objects.ts'
import { useFakeTime } from '../../../test/fakes/time.ts'
import { ApiError } from '../client/api-error.ts'
import { changePauses, pausesInForce, refreshPauses } from './pause-conditions.ts'
import { readPause, readPauses, removeOverPauses, writePause } from './pauses.ts'

useFakeTime()

const now = () => Date.now()
const lift = (change: Partial<Lift> = {}): Lift => ({ scope: wholeLoop, all: false, ...change })
const pause = (change: Partial<Pause> = {}): Pause => ({
  reason: 'upgrade',
  sinceMs: Date.parse(at(0)),
  by: 'alice',
  ...change,
})
const ofPool = { kind: 'nodePool', name: 'default' } as const
const ofNode = { kind: 'node', name: 'aks-a' } as const
const text = (change: object = {}) => JSON.stringify({ reason: 'upgrade', since: at(0), ...change })

function world(data: Readonly<Record<string, string>> = {}) {
  const cluster = new FakeCluster()
  if (Object.keys(data).length > 0)
    cluster.put('configmaps', { metadata: { name: 'joiner-pauses', namespace: 'joiner' }, data })
  cluster.put('nodepools', poolJson())
  cluster.put('nodeclaims', claimJson('a'))
  const known = kubernetesDeps(cluster)
  return {
    cluster,
    ...known,
    keys: () => Object.keys(cluster.object('configmaps', 'joiner-pauses', 'joiner')?.data ?? {}).sort(),
    paused: (resource: 'nodepools' | 'nodeclaims', name: string) =>
      cluster.object(resource, name)?.status.conditions.find(({ type }) => type === 'DisruptionPaused')?.message,
  }
}

describe('what is paused', () => {
  test.each<[string, Readonly<Record<string, string>>, readonly string[]]>([
    ['nothing', {}, []],
    ['the loop', { disruption: text() }, ['upgrade']],
    ['a pool', { 'disruption.nodepool.default': text() }, ['upgrade']],
    ['nothing any more', { disruption: text({ until: at(0) }) }, []],
    ['the loop, by an entry that cannot be read', { disruption: 'rubbish' }, ['the entry cannot be read: rubbish']],
    [
      'the loop, by a key that nobody understands',
      { 'disruption.all': text() },
      ['upgrade (key "disruption.all" is no scope)'],
    ],
    ['the other loop', { provisioning: text() }, []],
  ])('%s', async (_, data, reasons) => {
    const { deps } = world(data)
    expect((await readPauses(deps, now())).inForce.map(({ reason }) => reason)).toEqual(reasons)
  })

  test('is read past every cache, and a failure to read it is no permission', async () => {
    const { cluster, deps } = world({ disruption: text() })
    cluster.intercept(() => {
      throw new ApiError(500, 'InternalError', 'etcd is away')
    })
    await expect(readPauses(deps, now())).rejects.toThrow('away')
    await expect(readPause(deps, 'provisioning', now())).rejects.toThrow('away')
  })

  test('is passed to a new run of the loop: the whole, and the parts', async () => {
    const { deps } = world({ disruption: text(), 'disruption.nodepool.default': text({ reason: 'part' }) })
    expect(await pausesInForce(deps, 'disruption')).toMatchObject({
      pause: { reason: 'upgrade' },
      partial: [{ reason: 'part' }],
    })
    expect(await pausesInForce(deps, 'provisioning')).toEqual({})
  })
})

describe('writing a pause', () => {
  test('is one request where the ConfigMap exists, and doing it twice changes nothing', async () => {
    const { cluster, deps, keys } = world({ 'disruption.node.aks-a': text() })
    const change = { loop: 'disruption', pause: pause({ scope: ofPool }) } as const
    expect((await writePause(deps, change, now())).inForce).toHaveLength(2)
    expect(cluster.attempts).toHaveLength(1)
    const before = cluster.snapshot()
    await writePause(deps, change, now())
    expect(cluster.snapshot()).toEqual(before)
    expect(keys()).toEqual(['disruption.node.aks-a', 'disruption.nodepool.default'])
  })

  test('replaces the pause of the same scope', async () => {
    const { deps, keys } = world()
    await writePause(deps, { loop: 'disruption', pause: pause() }, now())
    const { inForce } = await writePause(deps, { loop: 'disruption', pause: pause({ reason: 'other' }) }, now())
    expect(inForce.map(({ reason }) => reason)).toEqual(['other'])
    expect(keys()).toEqual(['disruption'])
  })
})

describe('lifting', () => {
  const all = {
    disruption: text(),
    'disruption.nodepool.default': text(),
    'disruption.rubbish': text(),
    provisioning: text(),
  }

  test.each<[string, Parameters<typeof writePause>[1], readonly string[]]>([
    [
      'the pause of the loop takes away what cannot be read as well',
      { loop: 'disruption', lift: lift() },
      ['disruption.nodepool.default', 'provisioning'],
    ],
    [
      'the pause of a pool leaves the others',
      { loop: 'disruption', lift: lift({ scope: ofPool }) },
      ['disruption', 'disruption.rubbish', 'provisioning'],
    ],
    [
      'all pauses of a loop leaves those of the other',
      { loop: 'disruption', lift: lift({ all: true }) },
      ['provisioning'],
    ],
    [
      'what is not paused leaves everything',
      { loop: 'disruption', lift: lift({ scope: ofNode }) },
      Object.keys(all).sort(),
    ],
    [
      'by time takes away the pause of the loop alone',
      { loop: 'disruption' },
      ['disruption.nodepool.default', 'disruption.rubbish', 'provisioning'],
    ],
  ])('%s', async (_, change, left) => {
    const { deps, keys } = world(all)
    await writePause(deps, change, now())
    expect(keys()).toEqual(left)
  })

  test('says what was lifted and what is still in force', async () => {
    const { deps } = world({ disruption: text({ reason: 'one' }), 'disruption.node.aks-a': text({ reason: 'two' }) })
    const written = await writePause(deps, { loop: 'disruption', lift: lift() }, now())
    expect(written.lifted.map(({ reason }) => reason)).toEqual(['one'])
    expect(written.inForce.map(({ reason }) => reason)).toEqual(['two'])
  })

  test.each([
    ['a resume', { loop: 'disruption', lift: lift() }],
    ['the end of a pause', { loop: 'disruption' }],
  ] as const)('a late attempt at %s leaves a pause that was written since it has read them', async (_, change) => {
    const { cluster, deps } = world({ disruption: text({ reason: 'lifted long ago' }) })
    cluster.intercept(({ verb }) => {
      if (verb === 'patch')
        cluster.edit('configmaps', 'joiner-pauses', { data: { disruption: text({ reason: 'release day' }) } }, 'joiner')
    })
    await expect(writePause(deps, change, now())).rejects.toThrow()
    cluster.intercept(() => {})
    expect((await readPauses(deps, now())).inForce.map(({ reason }) => reason)).toEqual(['release day'])
  })
})

describe('pauses whose time is over', () => {
  const data = {
    disruption: text({ until: at(-1) }),
    'disruption.nodepool.default': text({ until: at(60) }),
    provisioning: text({ until: at(-1) }),
  }

  test('are removed, of both loops, and the others stay', async () => {
    const { deps, keys } = world(data)
    const { pauses, removed } = await removeOverPauses(deps, now())
    expect([removed, pauses.inForce.length]).toEqual([2, 1])
    expect(keys()).toEqual(['disruption.nodepool.default'])
  })

  test('are left when another process wrote meanwhile: it may be a new pause', async () => {
    const { cluster, deps, keys } = world(data)
    cluster.intercept(({ verb }) => {
      if (verb === 'patch') cluster.edit('configmaps', 'joiner-pauses', { data: { disruption: text() } }, 'joiner')
    })
    expect((await removeOverPauses(deps, now())).removed).toBe(0)
    expect(keys()).toContain('disruption')
  })

  test('are none where nothing is stored', async () => {
    expect((await removeOverPauses(world().deps, now())).pauses.inForce).toEqual([])
  })
})

describe('the condition DisruptionPaused', () => {
  test.each<[string, Partial<Pause>, 'nodepools' | 'nodeclaims', string]>([
    ['of the loop stands on NodePools', {}, 'nodepools', 'default'],
    ['of a pool stands on it', { scope: ofPool }, 'nodepools', 'default'],
    ['of a reason stands on NodePools', { scope: { kind: 'reason', reason: 'Drifted' } }, 'nodepools', 'default'],
    ['of a Node stands on its NodeClaim', { scope: ofNode }, 'nodeclaims', 'a'],
    ['of a NodeClaim stands on it', { scope: { kind: 'node', name: 'a' } }, 'nodeclaims', 'a'],
  ])('%s, and an event says it', async (_, change, resource, name) => {
    const { deps, paused, reported } = world()
    await changePauses(deps, { loop: 'disruption', pause: pause(change) })
    expect(paused(resource, name)).toContain('upgrade')
    const other = resource === 'nodepools' ? (['nodeclaims', 'a'] as const) : (['nodepools', 'default'] as const)
    expect(paused(other[0], other[1])).toBeUndefined()
    expect(reported.map(({ reason }) => reason)).toEqual(['DisruptionPaused'])
  })

  test('goes when the pause is lifted, and the event says by whom', async () => {
    const { deps, paused, reported } = world()
    await changePauses(deps, { loop: 'disruption', pause: pause() })
    await changePauses(deps, { loop: 'disruption', lift: lift({ by: 'bob' }) })
    expect(paused('nodepools', 'default')).toBeUndefined()
    expect(reported.at(-1)).toMatchObject({
      reason: 'DisruptionResumed',
      message: expect.stringMatching(/^resumed by bob; was: .*upgrade/) as string,
    })
  })

  test('is brought up to date by the next pass, once', async () => {
    const { cluster, deps, paused } = world({ 'disruption.nodepool.default': text() })
    await refreshPauses(deps)
    expect(paused('nodepools', 'default')).toContain('upgrade')
    const { length } = cluster.attempts
    await refreshPauses(deps)
    expect(cluster.attempts).toHaveLength(length)
  })

  test('that cannot be written delays no pause', async () => {
    const { cluster, deps, keys } = world()
    cluster.intercept(({ path }) => {
      if (path.endsWith('/status')) throw new ApiError(500, 'InternalError', 'away')
    })
    expect((await changePauses(deps, { loop: 'disruption', pause: pause() })).inForce).toHaveLength(1)
    expect(keys()).toEqual(['disruption'])
  })

  test('is not written for provisioning', async () => {
    const { deps, paused } = world()
    await changePauses(deps, { loop: 'provisioning', pause: pause() })
    expect(paused('nodepools', 'default')).toBeUndefined()
    expect((await readPause(deps, 'provisioning', now()))?.reason).toBe('upgrade')
  })
})
