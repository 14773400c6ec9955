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
  instance: 'own',
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

describe('VMs whose NodeClaims were lost together', () => {
  const running = (name: string) => vm(name, { nodes: [{ name: `aks-${name}`, isReady: true }] })
  const virtualMachines = Array.from({ length: 50 }, (_, index) => running(`vm-${index}`))
  const nodes = virtualMachines.map(({ name }) => [name, 1] as const)
  const counts = { atMs: now, pods: Object.fromEntries(nodes) }
  const dead = vm('dead', { nodes: [{ name: 'aks-dead', isReady: false }] })

  it.each([0, 1, 60])('are kept while pods run there, with %i NodeClaims; a dead one beside them goes', (count) => {
    const claims = Array.from({ length: count }, (_, index) => claim(`c${index}`))
    const found = find({ virtualMachines: [...virtualMachines, dead, vm('gone')], claims, counts })
    expect(found.virtualMachines.map(({ claimName }) => claimName)).toEqual(['dead', 'gone'])
    expect(found.vmsInUse).toHaveLength(50)
    expect(found.vmsInUse[0]?.use).toEqual({ node: 'aks-vm-0', pods: 1 })
    expect(found.withheld).toBeUndefined()
  })

  it('are kept while nobody has counted their pods, and go where none run', () => {
    expect(find({ virtualMachines }).vmsInUse).toHaveLength(50)
    const none = { atMs: now, pods: { 'aks-vm-0': 0 } }
    expect(vmsOf({ virtualMachines, counts: none })).toEqual(['vm-0'])
  })

  it('go if an operator left them', () => {
    expect(vmsOf({ virtualMachines: [{ ...running('a'), isAbandoned: true }], counts })).toEqual(['a'])
  })

  it('keep their Nodes, if Kubernetes deletes those', () => {
    const held = (name: string, isReady: boolean) => ({
      name,
      claimName: name,
      vm: { name, providerId: name },
      nodes: [{ name, isReady }],
    })
    const heldNodes = [held('a', true), held('b', true), held('c', false)]
    const found = find({ heldNodes, counts: { atMs: now, pods: { a: 2, b: 0 } } })
    expect(found.heldNodes.map(({ name }) => name)).toEqual(['b', 'c'])
    expect(found.nodesInUse).toEqual([{ ...heldNodes[0], use: { node: 'a', pods: 2 } }])
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
  const lost = (name: string, changes: Partial<KnownClaim> = {}) =>
    claim(name, { hasReadyNode: false, instance: 'missing', ...changes })

  it.each<[string, Partial<KnownClaim>, boolean]>([
    ['with a ready Node', { hasReadyNode: true }, false],
    ['without a ready Node', {}, true],
    ['that never registered', { isRegistered: false }, false],
    ['that is being deleted', { isBeingDeleted: true }, false],
    ['whose VM is not proven to be its own', { instance: 'unproven' }, false],
    ['whose VM is of a namesake', { instance: 'namesake' }, false],
    ['whose VM lies elsewhere', { instance: 'elsewhere' }, false],
    ['whose VM is listed', { instance: 'own' }, false],
  ])('%s', (_, changes, isSuspect) => {
    const found = lost('a', changes)
    expect(find({ claims: [found, other] }).nodeClaims).toEqual(isSuspect ? [found] : [])
  })

  const names = ['a', 'b', 'c', 'd']
  const all = (count: number, changes: Partial<KnownClaim> = {}) =>
    names.slice(0, count).map((name) => lost(name, changes))

  it.each<[string, readonly KnownClaim[], boolean]>([
    ['one of one', all(1), false],
    ['two of two whose Nodes are silent', all(2), false],
    ['two of two whose Nodes are ready', all(2, { hasReadyNode: true }), true],
    ['one of one whose Node is ready, as a list lags', all(1, { hasReadyNode: true }), false],
    ['three of three', all(3), true],
    ['three of five, beside VMs of other NodeClaims', [...all(3), claim('d'), claim('e')], false],
    ['three of four, of which one has a ready Node', [...all(2), lost('c', { hasReadyNode: true }), claim('d')], true],
    ['three of four, of which one is not proven', [...all(2), lost('c', { instance: 'unproven' }), claim('d')], true],
    [
      'three of four, of which one has a VM of a namesake',
      [...all(2), lost('c', { instance: 'namesake' }), claim('d')],
      false,
    ],
    ['two of two, of which one has a VM of a namesake', [...all(1), lost('c', { instance: 'namesake' })], true],
    ['three of four, of which one lies elsewhere', [...all(2), lost('c', { instance: 'elsewhere' }), claim('d')], true],
    ['three of three, beside a VM whose NodeClaim launches', [...all(3), claim('d', { isRegistered: false })], false],
    ['three of three, beside one more without a VM', [...all(3), lost('d', { isRegistered: false })], true],
    ['three of six', [...all(3), claim('d'), claim('e'), claim('f')], false],
    ['one of one with a VM of another cluster', all(1, { instance: 'unproven' }), true],
    ['one of one with a VM in another group', all(1, { instance: 'elsewhere' }), true],
    ['four that never registered', all(4, { isRegistered: false }), false],
    ['four that are being deleted', all(4, { isBeingDeleted: true }), false],
  ])('puts the list in doubt when it is one of most: %s', (_, claims, isInDoubt) => {
    const found = find({
      claims,
      virtualMachines: [vm('orphan')],
      networkInterfaces: [part('aks-gone-1', 'gone', 'uid-gone')],
      disks: [part('aks-gone-1', 'gone')],
    })
    if (!isInDoubt) return expect(found).toMatchObject({ virtualMachines: [vm('orphan')] })
    expect(found).toEqual({
      virtualMachines: [],
      networkInterfaces: [],
      disks: [],
      nodeClaims: [],
      heldNodes: [],
      vmsInUse: [],
      nodesInUse: [],
      withheld: expect.stringMatching(/^\d of \d registered NodeClaims .*joiner doctor/) as string,
    })
  })

  it('reports the cause of doubt in the list with counts', () => {
    const claims = [lost('a'), lost('b', { instance: 'unproven' }), lost('c', { instance: 'elsewhere' })]
    expect(find({ claims }).withheld).toContain(
      '1 with no VM of that name, 1 with a VM without the tags of this cluster and NodeClaim, 1 whose status.providerID names another resource group or subscription',
    )
  })
})
