import { describe, expect, test } from 'vitest'
import { disrupted, replacement, stateOf, workOn, world } from '../../../test/fakes/command-world.ts'
import { metricLines } from '../../../test/fakes/deps.ts'
import { at, podJson } from '../../../test/fakes/objects.ts'
import { useFakeTime } from '../../../test/fakes/time.ts'
import type { Json } from '../client/answers.ts'
import { ApiError } from '../client/api-error.ts'
import { undoCommand } from './candidates.ts'

useFakeTime()

describe('undoing a command', () => {
  const withReplacement = (names: readonly string[]) =>
    workOn(names, { replacements: [{ name: 'new', uid: 'uid-new' }] })

  test('releases the candidates and deletes a replacement that nothing uses', async () => {
    const { cluster, deps } = world()
    replacement(cluster, 'new')
    cluster.edit('nodeclaims', 'new', { metadata: { finalizers: null } })
    await undoCommand(deps, withReplacement(['a', 'b']))
    expect(stateOf(cluster, ['a', 'b', 'new'])).toEqual({ a: 'free', b: 'free', new: 'gone' })
    expect(cluster.names('nodes')).toEqual(['aks-a', 'aks-b', 'aks-new'])
  })

  test('keeps a replacement on which pods run by then, as an ordinary node', async () => {
    const { cluster, deps } = world()
    replacement(cluster, 'new')
    cluster.put('pods', podJson('web', 'new'))
    await undoCommand(deps, withReplacement(['a', 'b']))
    expect(cluster.object('nodeclaims', 'new')?.metadata).toMatchObject({ annotations: {} })
    expect(stateOf(cluster, ['new'])).toEqual({ new: 'free' })
  })

  const held = { 'joiner.sh/hold-until': 'released' }

  test('keeps a replacement that somebody holds, as an ordinary node', async () => {
    const { cluster, deps } = world()
    replacement(cluster, 'new')
    cluster.edit('nodeclaims', 'new', { metadata: { annotations: held } })
    await undoCommand(deps, withReplacement(['a', 'b']))
    expect(cluster.object('nodeclaims', 'new')?.metadata.annotations).toEqual(held)
  })

  test('keeps a replacement that is held while its DELETE is on its way', async () => {
    const { cluster, deps } = world()
    replacement(cluster, 'new')
    const end = cluster.intercept(({ verb, path }) => {
      if (verb !== 'delete' || !path.endsWith('/nodeclaims/new')) return
      end()
      cluster.edit('nodeclaims', 'new', { metadata: { annotations: held } })
    })
    await undoCommand(deps, withReplacement(['a', 'b']))
    expect(cluster.object('nodeclaims', 'new')?.metadata).toMatchObject({ annotations: held })
    expect(stateOf(cluster, ['new'])).toEqual({ new: 'free' })
  })

  test.each<[string, Json]>([
    ['is on its way out', { metadata: { deletionTimestamp: at(0) } }],
    ['is gone', { metadata: { uid: 'another' } }],
  ])('keeps a replacement while a candidate %s, whose pods need it', async (_, change) => {
    const { cluster, deps } = world()
    replacement(cluster, 'new')
    cluster.edit('nodeclaims', 'a', change)
    await undoCommand(deps, withReplacement(['a', 'b']))
    expect(stateOf(cluster, ['new', 'b'])).toEqual({ new: 'free', b: 'free' })
    expect(cluster.object('nodeclaims', 'new')?.metadata.annotations).toEqual({})
  })

  test('leaves alone what another command has stamped, and a claim without a stamp', async () => {
    const { cluster, deps } = world()
    cluster.edit('nodeclaims', 'a', { metadata: { annotations: { 'joiner.sh/disruption-command': 'drift-1' } } })
    cluster.edit('nodeclaims', 'b', { metadata: { annotations: { 'joiner.sh/disruption-command': null } } })
    const before = cluster.snapshot()
    await undoCommand(deps, workOn(['a', 'b']))
    expect(cluster.snapshot()).toEqual(before)
  })

  test('leaves the stamp of a command that took the node while this stood still', async () => {
    const { cluster, deps } = world()
    const end = cluster.intercept(({ verb, body }) => {
      if (verb !== 'patch' || !JSON.stringify(body).includes('"joiner.sh/disruption-command":null')) return
      end()
      for (const name of ['a', 'b'])
        cluster.edit('nodeclaims', name, { metadata: { annotations: { 'joiner.sh/disruption-command': 'drift-1' } } })
    })
    await undoCommand(deps, workOn(['a', 'b']))
    for (const name of ['a', 'b'])
      expect(cluster.object('nodeclaims', name)?.metadata.annotations['joiner.sh/disruption-command']).toBe('drift-1')
  })

  test.each([
    ['another command has taken', { 'joiner.sh/replacement-for': 'drift-1' }],
    ['is a node like any other by now', { 'joiner.sh/replacement-for': null }],
  ])('leaves a replacement that %s', async (_, annotations) => {
    const { cluster, deps } = world()
    replacement(cluster, 'new')
    cluster.edit('nodeclaims', 'new', { metadata: { annotations } })
    const before = cluster.object('nodeclaims', 'new')
    await undoCommand(deps, withReplacement(['a', 'b']))
    expect(cluster.object('nodeclaims', 'new')).toEqual(before)
  })

  test('keeps taints of others', async () => {
    const { cluster, deps } = world(['a'])
    const other = { key: 'example.com/x', effect: 'NoSchedule' }
    cluster.edit('nodes', 'aks-a', { spec: { taints: [other, disrupted] } })
    await undoCommand(deps, workOn(['a']))
    expect(cluster.object('nodes', 'aks-a')?.spec.taints).toEqual([other])
  })

  test('that was interrupted before the stamp went is found again and ends', async () => {
    const { cluster, deps } = world(['a'])
    const end = cluster.intercept(({ verb, path }) => {
      if (verb === 'patch' && path.endsWith('/nodeclaims/a')) throw new ApiError(500, 'InternalError', 'away')
    })
    await expect(undoCommand(deps, workOn(['a']))).rejects.toThrow('away')
    expect(stateOf(cluster, ['a'])).toEqual({ a: 'stamp' })
    end()
    await undoCommand(deps, workOn(['a']))
    expect(stateOf(cluster, ['a'])).toEqual({ a: 'free' })
  })

  test('releases a claim whose Node is gone', async () => {
    const { cluster, deps } = world(['a'])
    cluster.remove('nodes', 'aks-a')
    await undoCommand(deps, workOn(['a']))
    expect(stateOf(cluster, ['a'])).toEqual({ a: 'free' })
  })

  test('counts the replacements that had not been initialized, gone ones among them', async () => {
    const { cluster, deps, registry } = world()
    replacement(cluster, 'new', false)
    const gone = { name: 'gone', uid: 'uid-gone' }
    await undoCommand(deps, workOn(['a', 'b'], { replacements: [{ name: 'new', uid: 'uid-new' }, gone] }))
    expect(await metricLines(registry, 'karpenter_voluntary_disruption_queue_failures_total{')).toEqual([
      expect.stringMatching(/\} 2$/),
    ])
  })
})
