import { describe, expect, it } from 'vitest'
import { type FoundMachine, orphanedMachines } from './orphaned-machines.ts'

const now = Date.parse('2026-11-25T12:00:00Z')
const old = now - 3_600_000
const found: FoundMachine = {
  name: 'p/m',
  id: '/ID/m',
  claimName: 'm',
  createdAtMs: old,
  isBeingDeleted: false,
  instanceType: 'x',
  capacityType: 'spot',
}
const claims = (names: readonly string[], machines: readonly string[] = []) => ({
  names: new Set(names),
  machines: new Set(machines),
})

describe('an AKS machine', () => {
  it.each<[string, Partial<FoundMachine>, ReturnType<typeof claims>, boolean]>([
    ['without a claim is one', {}, claims(['other']), true],
    ['with its claim is none', {}, claims(['m']), false],
    ['that a claim of another name stands for is none', {}, claims(['x'], ['/id/m']), false],
    ['that is being deleted is none', { isBeingDeleted: true }, claims(['x']), false],
    ['that is young is none', { createdAtMs: now - 20 * 60_000 }, claims(['x']), false],
  ])('%s', (_what, change, known, is) => {
    expect(orphanedMachines([{ ...found, ...change }], known, { now }).machines).toHaveLength(is ? 1 : 0)
  })

  const many = (count: number) =>
    Array.from({ length: count }, (_, index) => ({ ...found, id: `/ID/m${index}`, claimName: `m${index}` }))
  const names = (count: number) => claims(many(count).map(({ claimName }) => claimName))

  it.each([
    ['ten without any claim are garbage', 10, 0, 10],
    ['of eleven without any claim none is', 11, 0, 0],
    ['eleven among eleven others are', 22, 11, 11],
    ['of twelve among eleven others none is', 23, 11, 0],
  ])('is garbage or in doubt: %s', (_what, count, known, garbage) => {
    const { machines, withheld } = orphanedMachines(many(count), names(known), { now })
    expect(machines).toHaveLength(garbage)
    expect(withheld === undefined).toBe(garbage > 0)
  })

  it.each([
    ['more of them', 1],
    ['none of them', 0],
  ])('that no Node names is withheld where many are, and %s with a Node is judged by it', (_what, pods) => {
    const machines = many(12).map((one, index) =>
      index === 0 ? { ...one, nodes: [{ name: 'n', isReady: true }] } : one,
    )
    const counts = { atMs: now, pods: { n: pods } }
    const found = orphanedMachines(machines, claims([]), { counts, now })
    expect(found.machines).toEqual(pods === 0 ? machines.slice(0, 1) : [])
    expect(found.inUse).toEqual(pods === 0 ? [] : [{ ...machines[0], use: { node: 'n', pods: 1 } }])
    expect(found.withheld).toContain('11 of 12 AKS machines')
    expect(found.withheld).toContain('az aks nodepool delete-machines')
  })
})
