import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { chartPolicies } from '../chart-policies.ts'
import { compileCel } from './cel.ts'

const folder = fileURLToPath(new URL('../../deploy/crds/', import.meta.url))
const crds = globSync('*.yaml', { cwd: folder }).map(
  (name) => parse(readFileSync(`${folder}${name}`, 'utf8')) as unknown,
)

/** All values below a node that stand under a key. */
function under(key: string, node: unknown): readonly unknown[] {
  if (typeof node !== 'object' || node === null) return []
  return Object.entries(node).flatMap(([name, value]) => [...(name === key ? [value] : []), ...under(key, value)])
}

describe('the CRDs', () => {
  const lists = under('x-kubernetes-validations', crds) as readonly (readonly { readonly rule: string }[])[]
  const rules = [...new Set(lists.flat().map(({ rule }) => rule))]

  it('are there, with rules', () => {
    expect(crds).toHaveLength(5)
    expect(rules.length).toBeGreaterThan(50)
  })

  it.each(rules)('have a rule that can be evaluated without a cluster: %s', (rule) => {
    expect(compileCel(rule).identifiers).toContain(rule.includes('oldSelf') ? 'oldSelf' : 'self')
  })

  it('have no field of the type number, so that a number without a fraction is an integer', () => {
    const types = under('type', crds)
    expect(types).toContain('integer')
    expect(types).not.toContain('number')
  })
})

it.each(chartPolicies.map(({ policy }) => policy))(
  'the policy $metadata.name can be evaluated without a cluster',
  ({ spec: { matchConditions = [], variables = [], validations } }) => {
    const expressions = [
      ...[...matchConditions, ...variables].map(({ expression }) => expression),
      ...validations.flatMap(({ expression, messageExpression = '' }) => [expression, messageExpression]),
    ]
    expect(expressions.length).toBeGreaterThan(1)
    for (const text of expressions) expect(() => compileCel(text)).not.toThrow()
  },
)
