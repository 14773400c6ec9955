import { describe, expect, test } from 'vitest'
import { denied, foreign, own, ref, world } from '../../../test/fakes/instance-world.ts'
import { at, claimJson, goingClaim, nodeJson } from '../../../test/fakes/objects.ts'
import { ended, useFakeTime } from '../../../test/fakes/time.ts'
import type { ForceFinishOutcome } from '../contract.ts'
import { forceFinish } from './force-finish.ts'

useFakeTime()

describe('ending a lifecycle by force', () => {
  const asked = { atMs: Date.parse(at(30)), by: 'alice', reason: 'stuck' }
  const finish = (deps: ReturnType<typeof world>['deps'], leaveVm: boolean): Promise<ForceFinishOutcome> =>
    ended(forceFinish(deps, { claim: ref, asked, leaveVm }))
  const abandonedTag = 'joiner.sh_abandoned'

  test('of a claim that is not being deleted is refused', async () => {
    const { azure, cluster, deps, reported } = world(claimJson('a'))
    const before = cluster.object('nodeclaims', 'a')
    expect(await finish(deps, true)).toMatchObject({
      kind: 'refused',
      message: expect.stringContaining('is not being deleted') as string,
    })
    expect(cluster.object('nodeclaims', 'a')).toEqual(before)
    expect(azure.writes).toEqual([])
    expect(reported.map(({ reason }) => reason)).toEqual(['ForceFinishRefused'])
  })

  test('without a reason is refused', async () => {
    const { deps, cluster } = world()
    const outcome = await forceFinish(deps, { claim: ref, asked: { atMs: 0 }, leaveVm: true })
    expect(outcome).toMatchObject({ kind: 'refused' })
    expect(cluster.names('nodeclaims')).toEqual(['a'])
  })

  test('while the VM exists is refused, unless it may be left', async () => {
    const { azure, deps, cluster } = world()
    expect(await finish(deps, false)).toMatchObject({
      kind: 'refused',
      message: expect.stringContaining('VM aks-a exists (Succeeded)') as string,
    })
    expect(cluster.names('nodeclaims')).toEqual(['a'])
    expect(azure.writes).toEqual([])
  })

  test('leaves the VM to garbage collection by a tag, and releases Node and claim', async () => {
    const { azure, cluster, deps } = world()
    cluster.put('nodes', nodeJson('a'))
    const outcome = await finish(deps, true)
    expect(outcome).toMatchObject({
      kind: 'finished',
      vm: expect.stringMatching(/\/virtualMachines\/aks-a$/) as string,
    })
    expect(azure.get('virtualMachines', 'aks-a')?.tags).toEqual({ ...own, [abandonedTag]: '2026-01-01T00:00:30.000Z' })
    expect([cluster.names('nodeclaims'), cluster.names('nodes'), cluster.names('secrets')]).toEqual([[], [], []])
  })

  test('leaves a VM that cannot be tagged as it is, and says how to delete it', async () => {
    const { azure, cluster, deps } = world()
    azure.intercept((request) => (request.startsWith('PATCH') ? denied : undefined))
    const outcome = (await finish(deps, true)) as ForceFinishOutcome & { kind: 'finished' }
    expect(outcome.left).toContain('az vm delete --ids')
    expect(cluster.names('nodeclaims')).toEqual([])
  })

  test.each(foreign)('never touches a VM %s', async (_, tags) => {
    const { azure, cluster, deps } = world(goingClaim('a'), tags)
    expect(await finish(deps, false)).toMatchObject({ kind: 'refused' })
    expect(await finish(deps, true)).toMatchObject({
      kind: 'finished',
      left: expect.stringContaining('its VM stays as it is') as string,
    })
    expect(azure.writes).toEqual([])
    expect(cluster.names('nodeclaims')).toEqual([])
  })

  test('when Azure does not answer is refused, or leaves the VM that may be there', async () => {
    const { azure, cluster, deps } = world()
    azure.intercept(() => denied)
    expect(await finish(deps, false)).toMatchObject({
      kind: 'refused',
      message: expect.stringContaining('is not known') as string,
    })
    expect(cluster.names('nodeclaims')).toEqual(['a'])
    const outcome = (await finish(deps, true)) as ForceFinishOutcome & { kind: 'finished' }
    expect(outcome.vm).toMatch(/aks-a$/)
    expect(cluster.names('nodeclaims')).toEqual([])
  })

  test('after the VM is gone leaves the last step to the role that may delete pods', async () => {
    const { cluster, deps } = world(goingClaim('a'), 'noVm')
    expect(await finish(deps, false)).toEqual({ kind: 'finished', isVmGone: true })
    expect(cluster.names('nodeclaims')).toEqual(['a'])
  })

  test('of a claim that is gone is success', async () => {
    const { deps } = world(claimJson('b'))
    expect(await finish(deps, false)).toEqual({ kind: 'finished' })
  })
})
