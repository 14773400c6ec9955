import { describe, expect, it } from 'vitest'
import { machineClaim, machinesWorld } from '../../../test/fakes/machines-world.ts'
import { claimJson } from '../../../test/fakes/objects.ts'
import { driftActionOf, machineDriftActions } from './machine-drift.ts'

describe("what AKS says of machines' drift", () => {
  it('is read by one list, of the NodeClaims that stand for machines', async () => {
    const { aks, deps } = machinesWorld(machineClaim('a'), machineClaim('b'), claimJson('own'))
    aks.put('a')
    const actions = await machineDriftActions(deps)
    const said = (name: string) => {
      const claim = deps.cache.nodeClaims.get(name)
      return claim && driftActionOf(actions, claim)
    }
    expect([said('a'), said('b'), said('own')]).toEqual(['Synced', undefined, undefined])
    expect(aks.requests).toBe(1)
  })

  it('is not known of a pool that cannot be listed', async () => {
    const { aks, deps } = machinesWorld(machineClaim('a'))
    aks.refusal = { status: 403, code: 'AuthorizationFailed' }
    expect((await machineDriftActions(deps)).size).toBe(0)
  })

  it('is not asked for where there is no machine', async () => {
    const { aks, deps } = machinesWorld(claimJson('own'))
    await machineDriftActions(deps)
    expect(aks.requests).toBe(0)
  })
})
