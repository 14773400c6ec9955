import { describe, expect, it } from 'vitest'
import { type FoundPart, type FoundVm, type GarbageSnapshot, garbageIn, type KnownClaim } from './garbage.ts'

const now = 10_000_000_000
const minute = 60_000

const vm = (name: string, changes: Partial<FoundVm> = {}): FoundVm => ({
  name: `aks-${name}`,
  claimName: name,
  claimUid: `uid-${name}`,
  createdAtMs: now - minute,
  isBeingDeleted: false,
  isAbandoned: false,
  parts: new Set([`aks-${name}-2`]),
  ...changes,
})
const claim = (name: string, changes: Partial<KnownClaim> = {}): KnownClaim => ({
  name,
  uid: `uid-${name}`,
  isRegistered: true,
  isBeingDeleted: false,
  hasReadyNode: true,
  ...changes,
})
const part = (name: string, claimName: string, claimUid?: string): FoundPart => ({
  name,
  claimName,
  ...(claimUid === undefined ? {} : { claimUid }),
})
const other = claim('other')
const find = (snapshot: Partial<GarbageSnapshot>) =>
  garbageIn({ virtualMachines: [], networkInterfaces: [], disks: [], claims: [other], ...snapshot }, now)
const vmsOf = (snapshot: Partial<GarbageSnapshot>) => find(snapshot).virtualMachines.map(({ claimName }) => claimName)

describe('a VM', () => {
  const karpenters = { claimUid: undefined } as never as Partial<FoundVm>

  it.each<[string, Partial<FoundVm>, readonly KnownClaim[], boolean]>([
    ['whose claim exists', {}, [claim('a')], false],
    ['whose claim is being deleted', {}, [claim('a', { isBeingDeleted: true })], false],
    ['whose claim is gone, however young it is', { createdAtMs: now - 1 }, [other], true],
    ['whose claim is gone, created by a clock ahead of ours', { createdAtMs: now + minute }, [other], true],
    ['whose name a later claim has', {}, [claim('a', { uid: 'later' })], false],
    ['that is being deleted', { isBeingDeleted: true }, [other], false],
    ['of Karpenter with a claim', karpenters, [claim('a')], false],
    [
      'of Karpenter without a claim, within a launch and clock skew',
      { ...karpenters, createdAtMs: now - 19 * minute },
      [other],
      false,
    ],
    ['of Karpenter without a claim, older', { ...karpenters, createdAtMs: now - 21 * minute }, [other], true],
    [
      'of Karpenter without a claim, abandoned',
      { ...karpenters, createdAtMs: now - 1, isAbandoned: true },
      [other],
      true,
    ],
    ['abandoned, while its claim is there', { isAbandoned: true }, [claim('a', { isBeingDeleted: true })], false],
    ['of Karpenter of unknown age', { ...karpenters, createdAtMs: undefined } as never, [other], false],
  ])('%s', (_, changes, claims, isSuspect) => {
    expect(vmsOf({ virtualMachines: [vm('a', changes)], claims })).toEqual(isSuspect ? ['a'] : [])
  })

  it('is left alone with many others when the cluster has no claim at all', () => {
    const virtualMachines = Array.from({ length: 11 }, (_, index) => vm(`vm-${index}`))
    expect(find({ virtualMachines, claims: [] })).toMatchObject({
      virtualMachines: [],
      withheld: expect.stringContaining('11 VMs') as string,
    })
    expect(vmsOf({ virtualMachines })).toHaveLength(11)
    const abandoned = vm('left', { isAbandoned: true })
    expect(vmsOf({ virtualMachines: [...virtualMachines, abandoned], claims: [] })).toEqual(['left'])
    const nics = [part('aks-karpenters', 'karpenters'), part('aks-own-1', 'own', 'uid-own')]
    expect(find({ virtualMachines, networkInterfaces: nics, claims: [] }).networkInterfaces).toEqual(nics.slice(1))
    expect(find({ networkInterfaces: nics, claims: [] }).networkInterfaces).toEqual(nics)
    expect(vmsOf({ virtualMachines: virtualMachines.slice(1), claims: [] })).toHaveLength(10)
  })
})

describe('a NIC or disk without a VM', () => {
  it.each<[string, string | undefined, readonly FoundVm[], readonly KnownClaim[], boolean]>([
    ['of a claim that is gone', 'uid-a', [], [other], true],
    ['of a claim that is gone, by name', undefined, [], [other], true],
    ['of a claim that launches', 'uid-a', [], [claim('a', { isRegistered: false })], false],
    ['of a claim that launches, by name', undefined, [vm('a')], [claim('a', { isRegistered: false })], false],
    ['of an earlier attempt, once the claim is registered', 'uid-a', [vm('a')], [claim('a')], true],
    ['of an earlier attempt, by name', undefined, [vm('a')], [claim('a')], true],
    ['that its VM names', 'uid-a', [vm('a', { parts: new Set(['aks-a-1']) })], [claim('a')], false],
    ['of a claim whose VM is gone from the list', 'uid-a', [], [claim('a')], false],
    ['of a claim that is being deleted', 'uid-a', [vm('a')], [claim('a', { isBeingDeleted: true })], false],
    ['whose VM is being deleted without a claim', undefined, [vm('a', { isBeingDeleted: true })], [other], false],
    ['of an earlier claim of the name', 'uid-earlier', [vm('a')], [claim('a')], true],
  ])('%s', (_, claimUid, virtualMachines, claims, isSuspect) => {
    const found = [part('AKS-a-1', 'a', claimUid)]
    const { networkInterfaces, disks } = find({ virtualMachines, claims, networkInterfaces: found, disks: found })
    expect(networkInterfaces).toEqual(isSuspect ? found : [])
    expect(disks).toEqual(isSuspect ? found : [])
  })
})

describe('a claim without a VM', () => {
  it.each<[string, Partial<KnownClaim>, boolean]>([
    ['with a ready Node', {}, false],
    ['without a ready Node', { hasReadyNode: false }, true],
    ['that never registered', { hasReadyNode: false, isRegistered: false }, false],
    ['that is being deleted', { hasReadyNode: false, isBeingDeleted: true }, false],
  ])('%s', (_, changes, isSuspect) => {
    const found = claim('a', changes)
    expect(find({ claims: [found] }).nodeClaims).toEqual(isSuspect ? [found] : [])
    expect(find({ claims: [found], virtualMachines: [vm('a')] }).nodeClaims).toEqual([])
  })
})
