import { describe, expect, it } from 'vitest'
import { evaluate } from '../../core/disruption/evaluate.ts'
import { invalidText, validate } from '../../core/disruption/validate.ts'
import { decide, decisionOf } from '../../starter/cli/simulate/disruption.ts'
import { disruptionDifferences } from './disruption-comparison.ts'
import { readSuite } from './packs.ts'

interface Scenario {
  readonly name: string
  readonly method: string
  readonly expected: Readonly<Record<string, unknown>>
}

describe("upstream's decisions in all scenarios", () => {
  const all = readSuite('disruption') as readonly Scenario[]

  it.each([...Map.groupBy(all, ({ method }) => method)])('%s', (_, scenarios) => {
    const failures = scenarios.flatMap(({ expected, ...scenario }) =>
      disruptionDifferences(expected, { ...decide(scenario) }).map((difference) => `${scenario.name} ${difference}`),
    )
    expect(failures).toEqual([])
  })

  it.each([...Map.groupBy(all, ({ method }) => method)])('%s: each is valid while nothing changes', (_, scenarios) => {
    const failures = scenarios.flatMap(({ expected: _expected, ...scenario }) => {
      const { world, settings } = decisionOf(scenario)
      const found = world()
      const [command] = evaluate(found, settings).commands
      if (command === undefined) return []
      const { method, decision, replacements } = command
      const candidates = command.candidates.map(({ nodeClaim }) => nodeClaim.metadata.uid)
      const proposed = { method, decision, candidates, replacements: replacements.length }
      const validation = validate(proposed, found, settings)
      return validation.kind === 'valid' ? [] : [`${scenario.name} ${invalidText(validation)}`]
    })
    expect(failures).toEqual([])
  })

  it('were compared', () => {
    console.log(`${all.length} disruption scenarios compared`)
    expect(all.length).toBeGreaterThanOrEqual(199)
  })
})

describe('the comparison', () => {
  it.each([
    [{ a: [1, 2] }, { a: [2, 1] }],
    [{ a: [] }, {}],
    [{ a: { b: null } }, { a: {} }],
    [{ a: 0.3 }, { a: 0.1 + 0.2 }],
    [{ a: { $anyOf: ['x', 'y'] } }, { a: 'y' }],
    [{ a: { $prefix: 'x' } }, { a: 'xyz' }],
    [{}, { a: 1 }],
  ])('%j accepts %j', (expected, result) => expect(disruptionDifferences(expected, result)).toEqual([]))

  it.each([
    [{ a: [1, 1] }, { a: [1, 2] }],
    [{ a: [] }, { a: [1] }],
    [{ a: { b: 1 } }, { a: { b: 1, c: 1 } }],
    [{ a: 1 }, { a: 1.00001 }],
    [{ a: { $anyOf: ['x', 'y'] } }, { a: 'z' }],
    [{ a: { $prefix: 'x' } }, { a: 'yx' }],
  ])('%j does not accept %j', (expected, result) => expect(disruptionDifferences(expected, result)).toHaveLength(1))
})
