import { describe, expect, it } from 'vitest'
import { type FoundMachine, orphanedMachines } from './orphaned-machines.ts'

const now = Date.parse('2026-11-25T12:00:00Z')
const old = now - 3_600_000
const found: FoundMachine = { name: 'p/m', id: '/ID/m', claimName: 'm', createdAtMs: old, isBeingDeleted: false }
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
    expect(orphanedMachines([{ ...found, ...change }], known, now).machines).toHaveLength(is ? 1 : 0)
  })

  it('of unknown age is none', () => {
    const { createdAtMs: _unknown, ...ageless } = found
    expect(orphanedMachines([ageless], claims(['x']), now)).toEqual({ machines: [] })
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
    const { machines, withheld } = orphanedMachines(many(count), names(known), now)
    expect(machines).toHaveLength(garbage)
    expect(withheld === undefined).toBe(garbage > 0)
  })

  it('whose Node is Ready is kept and reported, and the others are garbage', () => {
    const [first, second] = many(2) as [FoundMachine, FoundMachine]
    const { machines, withheld } = orphanedMachines([{ ...first, hasReadyNode: true }, second], claims([]), now)
    expect(machines).toEqual([second])
    expect(withheld).toContain('1 of 2 AKS machines')
    expect(withheld).toContain('their Nodes are Ready')
  })

  it('that is in doubt is named with the remedy, however many other claims there are', () => {
    const { withheld } = orphanedMachines(
      many(50),
      claims(Array.from({ length: 100 }, (_, index) => `own${index}`)),
      now,
    )
    expect(withheld).toContain('50 of 50 AKS machines')
    expect(withheld).toContain('az aks nodepool delete-machines')
  })
})
