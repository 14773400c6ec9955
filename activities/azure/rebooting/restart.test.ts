import { describe, expect, test, vi } from 'vitest'
import { world } from '../../../test/fakes/instance-world.ts'
import { at, claimJson, condition, nodeJson } from '../../../test/fakes/objects.ts'
import { ended, pass, useFakeTime } from '../../../test/fakes/time.ts'
import type { Json } from '../../kubernetes/client/answers.ts'
import { restartInstance } from './restart.ts'

useFakeTime()

const ref = { name: 'a', uid: 'uid-a' }
const isRestart = (request: string) => request === 'POST virtualMachines/aks-a/restart'

function rebooting({
  reason = 'RebootRequested',
  annotations = {},
  bootId = 'one',
  ...metadata
}: Readonly<Record<string, unknown>> = {}) {
  const rebootCondition = condition('Rebooting', 'True', 0, reason as string)
  const conditions = [condition('Launched'), condition('Registered'), condition('Initialized'), rebootCondition]
  const claim = claimJson('a', { metadata: { annotations, ...metadata }, status: { conditions } })
  const node = nodeJson('a', { status: { nodeInfo: { bootID: bootId } } })
  return { claim, node }
}

function start({ claim, node }: { claim: Json; node: Json }, tags?: Parameters<typeof world>[1]) {
  const known = world(claim, tags)
  known.cluster.put('nodes', node)
  let changes = 0
  let recorded: Json | undefined
  const seen = () =>
    known.azure.put('virtualMachines', 'aks-a', {
      tags: known.azure.get('virtualMachines', 'aks-a')?.tags ?? {},
      provisioningState: 'Succeeded',
      instanceView: { statuses: [{ code: 'ProvisioningState/succeeded', time: at(changes) }] },
    })
  if (tags !== 'noVm') seen()
  known.azure.intercept((request) => {
    if (!isRestart(request)) return undefined
    recorded = { ...known.cluster.object('nodeclaims', 'a')?.metadata.annotations }
    changes += 1
    seen()
    return { status: 202, body: {} }
  })
  const stop = new AbortController()
  return {
    ...known,
    seen,
    restart: (followsFailure = false) =>
      ended(restartInstance(known.deps, { ref, followsFailure }, stop.signal), 120_000),
    /** Annotations of the claim when the restart was asked for. */
    recorded: () => recorded,
    restarts: () => known.azure.writes.filter(isRestart).length,
  }
}

describe('the restart of a VM', () => {
  test('is asked for once, after the claim has recorded what was before', async () => {
    const { restart, recorded, restarts, condition: of } = start(rebooting())
    expect(await restart()).toEqual({ kind: 'issued' })
    expect(recorded()).toMatchObject({
      'karpenter.sh/reboot-pre-boot-id': 'one',
      'joiner.sh/reboot-request': '2026-01-01T00:00:00.000Z',
    })
    expect(of('Rebooting')).toMatchObject({ status: 'True', reason: 'RebootIssued' })
    expect(await restart()).toEqual({ kind: 'issued' })
    expect(restarts()).toBe(1)
  })

  test.each<[string, Parameters<typeof rebooting>[0], number]>([
    [
      'was accepted before a crash',
      { annotations: { 'joiner.sh/reboot-request': at(-9), 'karpenter.sh/reboot-pre-boot-id': 'one' } },
      0,
    ],
    [
      'was not accepted before a crash',
      { annotations: { 'joiner.sh/reboot-request': at(0), 'karpenter.sh/reboot-pre-boot-id': 'one' } },
      1,
    ],
    [
      'has happened',
      { annotations: { 'joiner.sh/reboot-request': at(0), 'karpenter.sh/reboot-pre-boot-id': 'zero' } },
      0,
    ],
  ])('that %s is asked for as often as it must be', async (_, change, times) => {
    const { restart, restarts, condition: of } = start(rebooting(change))
    expect(await restart()).toEqual({ kind: 'issued' })
    expect(restarts()).toBe(times)
    expect(of('Rebooting')).toMatchObject({ reason: 'RebootIssued' })
  })

  test('is not asked for while the Node reports no boot ID: a boot could not be noticed', async () => {
    const { restart, restarts } = start(rebooting({ bootId: '' }))
    await expect(restart()).rejects.toThrow('status.nodeInfo.bootID is not set')
    expect(restarts()).toBe(0)
  })

  test('waits until another operation on the VM has ended', async () => {
    const { azure, deps, seen, restarts } = start(rebooting())
    azure.becomes('aks-a', 'Updating')
    const work = restartInstance(deps, { ref, followsFailure: false }, new AbortController().signal)
    await pass(5000)
    expect(restarts()).toBe(0)
    seen()
    expect(await ended(work)).toEqual({ kind: 'issued' })
  })

  test('is not asked for when the claim is deleted during that wait', async () => {
    const { azure, cluster, deps, seen, restarts } = start(rebooting())
    azure.becomes('aks-a', 'Updating')
    const work = restartInstance(deps, { ref, followsFailure: false }, new AbortController().signal)
    await pass(3000)
    cluster.edit('nodeclaims', 'a', { metadata: { deletionTimestamp: at(3) } })
    seen()
    expect(await ended(work)).toEqual({ kind: 'over' })
    expect(restarts()).toBe(0)
  })

  const recorded = { 'joiner.sh/reboot-request': at(0), 'karpenter.sh/reboot-pre-boot-id': 'one' }

  test('that an attempt which was lost may have asked for is waited for; one that was refused is asked for at once', async () => {
    for (const [followsFailure, seconds] of [
      [false, 60],
      [true, 0],
    ] as const) {
      const { restart, restarts } = start(rebooting({ annotations: recorded }))
      const begunMs = Date.now()
      expect(await restart(followsFailure)).toEqual({ kind: 'issued' })
      expect(Date.now() - begunMs).toBeGreaterThanOrEqual(seconds * 1000)
      expect(Date.now() - begunMs).toBeLessThan(seconds * 1000 + 1000)
      expect(restarts()).toBe(1)
    }
  })

  test('is not asked for by an attempt that stood still after it was recorded', async () => {
    const { cluster, restart, restarts } = start(rebooting())
    const stop = cluster.intercept(({ verb, path }) => {
      if (verb !== 'patch' || !path.endsWith('/nodeclaims/a')) return
      stop()
      vi.setSystemTime(Date.now() + 60_000)
    })
    await expect(restart()).rejects.toThrow('stood still')
    expect(restarts()).toBe(0)
  })

  const hold = { 'joiner.sh/hold-until': 'released' }

  test('is not asked for while the claim is held', async () => {
    const { restart, restarts } = start(rebooting({ annotations: hold }))
    expect(await restart()).toEqual({ kind: 'over' })
    expect(restarts()).toBe(0)
  })

  test('is not asked for when the claim is held just before it is recorded', async () => {
    const { cluster, restart, restarts } = start(rebooting())
    const stop = cluster.intercept(({ verb, path }) => {
      if (verb !== 'patch' || !path.endsWith('/nodeclaims/a')) return
      stop()
      cluster.edit('nodeclaims', 'a', { metadata: { annotations: hold } })
    })
    expect(await restart()).toEqual({ kind: 'over' })
    expect(restarts()).toBe(0)
  })

  test.each<[string, Parameters<typeof world>[1], string]>([
    ['is gone', 'noVm', 'VM aks-a is gone'],
    ['belongs to others', { owner: 'them' }, 'VM aks-a has no tag'],
  ])('of a VM that %s is refused', async (_, tags, message) => {
    const { restart, restarts } = start(rebooting(), tags)
    expect(await restart()).toMatchObject({
      kind: 'failed',
      result: 'provider_error',
      message: expect.stringContaining(message) as string,
    })
    expect(restarts()).toBe(0)
  })

  test.each<[string, Parameters<typeof rebooting>[0]]>([
    ['is being deleted', { deletionTimestamp: at(1) }],
    ['is another by now', { uid: 'other' }],
  ])('of a claim that %s does not begin', async (_, change) => {
    const { restart, restarts } = start(rebooting(change))
    expect(await restart()).toEqual({ kind: 'over' })
    expect(restarts()).toBe(0)
  })
})
