import { describe, expect, it } from 'vitest'
import type { Budget } from '../../objects.ts'
import { allowedDisruptions } from './budgets.ts'

const noon = Date.parse('2026-03-04T12:00:00Z')
const allowed = (budgets: readonly Budget[], reason = 'Empty', nodes = 20) =>
  allowedDisruptions({ budgets, nodes, reason, now: noon })

describe('allowedDisruptions', () => {
  it.each<[Budget[], number]>([
    [[], 2147483647],
    [[{ nodes: '3' }, { nodes: '50%' }], 3],
    [[{ nodes: '33%' }], 7],
    [[{ nodes: '1', reasons: ['Drifted'] }], 2147483647],
    [[{ nodes: '1', reasons: [] }], 2147483647],
    [[{ nodes: '1', reasons: ['Drifted', 'Empty'] }], 1],
    [[{ nodes: '0', schedule: '0 9 * * *', duration: '8h' }], 0],
    // A window ends exclusively.
    [[{ nodes: '0', schedule: '0 9 * * *', duration: '3h' }], 2147483647],
    [[{ nodes: '0', schedule: '0 9 * * *', duration: '2h' }], 2147483647],
    [[{ nodes: '0', schedule: '0 0 31 2 *', duration: '1h' }], 0],
  ])('%j allows %d', (budgets, expected) => {
    expect(allowed(budgets)).toMatchObject({ allowed: expected, invalid: false })
  })

  it.each<Budget>([
    { nodes: 'some', reasons: ['Drifted'] },
    { nodes: '5', schedule: 'whenever', duration: '1h' },
    { nodes: '5', duration: '1h' },
  ])('%j blocks everything', (budget) => {
    expect(allowed([{ nodes: '5' }, budget])).toMatchObject({ allowed: 0, invalid: true })
  })

  it('says which budgets are in force', () => {
    const schedule = { nodes: '1', schedule: '0 9 * * *' }
    expect(
      allowed([
        { ...schedule, duration: '8h' },
        { ...schedule, duration: '1h' },
      ]).active,
    ).toEqual([true, false])
  })
})
