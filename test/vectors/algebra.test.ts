import { describe, expect, it } from 'vitest'
import { quantity } from '../../core/values/quantity.ts'
import { evaluators } from './algebra.ts'
import { differences } from './compare.ts'
import { readSuite } from './packs.ts'

interface VectorCase {
  readonly id: string
  readonly kind: string
  readonly input: never
  readonly expected: unknown
}

/** Answered by an API server with the CRDs: see `validation.servers.test.ts`. */
const elsewhere: ReadonlySet<string> = new Set(['validation'])

/**
 * Expected of quantities: what Kubernetes prints of an unchanged one, which may be the text that it came from. Joiner prints canonical texts alone,
 * and reads those of others.
 */
function withoutPrinted(golden: VectorCase): VectorCase {
  if (golden.kind !== 'quantity') return golden
  const { printed: _texts, ...expected } = golden.expected as { readonly printed?: string }
  return { ...golden, expected }
}

function failuresOf(cases: readonly VectorCase[]): readonly string[] {
  return cases.map(withoutPrinted).flatMap(({ id, kind, input, expected }) => {
    // Through JSON, as the command that answers cases writes it.
    const answer = evaluators[kind]?.(input)
    const written: unknown = JSON.parse(JSON.stringify(answer ?? null))
    return differences(expected, written).map((difference) => `${id} ${difference}`)
  })
}

describe('all vectors', () => {
  const cases = (readSuite('algebra') as readonly (readonly VectorCase[])[])
    .flat()
    .filter(({ kind }) => !elsewhere.has(kind))
  const kinds = Map.groupBy(cases, ({ kind }) => kind)

  it('have cases of every kind that has an evaluator', () => {
    const counts = [...kinds].map(([kind, { length }]) => `${length} ${kind}`)
    console.log(`${cases.length} algebra cases compared: ${counts.join(', ')}`)
    expect([...kinds.keys()].sort()).toEqual(Object.keys(evaluators).sort())
    expect(cases.length).toBeGreaterThanOrEqual(1832)
  })

  it.each([...kinds.keys()])('%s', (kind) => {
    expect(failuresOf(kinds.get(kind) ?? [])).toEqual([])
  })

  it('of quantities mean the same as Kubernetes prints them', () => {
    const all = (kinds.get('quantity') ?? []).map(({ expected }) => expected as { printed?: string; nano?: string })
    const printed = all.filter((one) => one.printed !== undefined)
    expect(printed.length).toBeGreaterThan(50)
    expect(printed.map((one) => String(quantity(one.printed ?? '').nano))).toEqual(printed.map(({ nano }) => nano))
  })
})

describe('comparison', () => {
  it.each<[unknown, unknown]>([
    [{ a: 1, b: null }, { a: 1 }],
    [{ a: 1 }, { a: 1, b: null }],
    [0.3, 0.1 + 0.2],
    [
      [1, { a: 'x' }],
      [1, { a: 'x' }],
    ],
    [{ $anyOf: ['a', { b: 1 }] }, { b: 1 }],
    [{ $parts: ['b', 'a'] }, 'a; b'],
    [{ $matches: '^[0-9]+$' }, '42'],
    [{ $overlaps: ['spec', 'spec.a'] }, ['x', 'spec.a']],
    [{ errors: { $info: ['anything'] } }, {}],
  ])('%j accepts %j', (expected, answer) => {
    expect(differences(expected, answer)).toEqual([])
  })

  it.each<[unknown, unknown]>([
    [{ a: 1 }, { a: 1, b: 2 }],
    [{ a: 1 }, {}],
    [1, 1.00001],
    [1, '1'],
    [[1], [1, 2]],
    [{ $anyOf: ['a', 'b'] }, 'c'],
    [{ $parts: ['b', 'a'] }, 'a; b; c'],
    [{ $matches: '^[0-9]+$' }, '4x'],
    [{ $overlaps: ['spec'] }, []],
  ])('%j refuses %j', (expected, answer) => {
    expect(differences(expected, answer)).toHaveLength(1)
  })
})
