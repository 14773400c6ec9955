import { describe, expect, it } from 'vitest'
import type { Affinity, RequirementSpec } from '../objects.ts'
import { withValidPreferences } from './pod-preferences.ts'

const preferring = (...terms: readonly (readonly RequirementSpec[])[]): Affinity => ({
  podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: 'a' }] },
  nodeAffinity: {
    requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions: [] }] },
    preferredDuringSchedulingIgnoredDuringExecution: terms.map((matchExpressions, at) => ({
      weight: at + 1,
      preference: { matchExpressions },
    })),
  },
})

const zone: RequirementSpec = { key: 'topology.kubernetes.io/zone', operator: 'In', values: ['westus2-1'] }

describe('preferred node affinity', () => {
  it('stays the same object where nodes can meet every term', () => {
    const affinity = preferring([zone], [{ key: 'agentpool', operator: 'NotIn', values: ['x'] }], [])
    expect(withValidPreferences(affinity)).toEqual({ affinity })
    expect(withValidPreferences(affinity).affinity).toBe(affinity)
    expect(withValidPreferences({})).toEqual({ affinity: {} })
  })

  it.each<[RequirementSpec, RegExp]>([
    [
      { key: 'a', operator: 'In', values: ['x\nKUBELET_FLAGS=--v=9'] },
      /invalid value x\\nKUBELET_FLAGS=--v=9 for key a/,
    ],
    [{ key: 'a', operator: 'NotIn', values: ['x y'] }, /invalid value x y/],
    [{ key: 'a', operator: 'Gt', values: ['many'] }, /single positive integer/],
    [{ key: 'a', operator: 'In', values: [] }, /must have a value/],
    [{ key: 'a b', operator: 'Exists' }, /not a qualified name/],
    [{ key: 'a', operator: 'Like' as never, values: ['b'] }, /unsupported operator Like/],
  ])('is left out where it holds %j', (entry, why) => {
    const { affinity, ignoredPreferences } = withValidPreferences(preferring([zone], [zone, entry], [zone]))
    expect(affinity).toEqual({
      ...preferring(),
      nodeAffinity: {
        ...preferring().nodeAffinity,
        preferredDuringSchedulingIgnoredDuringExecution: [
          { weight: 1, preference: { matchExpressions: [zone] } },
          { weight: 3, preference: { matchExpressions: [zone] } },
        ],
      },
    })
    expect(ignoredPreferences).toMatch(
      /Execution\[1\]\.preference\.matchExpressions\[1\]: .*; the term is ignored, correct it$/,
    )
    expect(ignoredPreferences).toMatch(why)
    expect(ignoredPreferences).not.toContain('\n')
  })

  it('reports once, however many terms are wrong', () => {
    const wrong: RequirementSpec = { key: 'a', operator: 'In', values: ['x'.repeat(1_000_000)] }
    const { ignoredPreferences } = withValidPreferences(preferring(...Array.from({ length: 50 }, () => [wrong])))
    expect(ignoredPreferences).toMatch(/\(and 49 more terms\)$/)
    expect(ignoredPreferences?.length).toBeLessThan(1000)
  })
})
