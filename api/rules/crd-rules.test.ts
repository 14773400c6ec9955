import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { valuesOf } from '../../deploy/parse-ahead.ts'
import { chartPolicies } from '../chart-policies.ts'
import { compileCel } from './cel.ts'

const folder = fileURLToPath(new URL('../../deploy/crds/', import.meta.url))
const crds = globSync('*.yaml', { cwd: folder }).map(
  (name) => parse(readFileSync(`${folder}${name}`, 'utf8')) as unknown,
)

describe('the CRDs', () => {
  const lists = valuesOf('x-kubernetes-validations', crds) as readonly (readonly { readonly rule: string }[])[]
  const rules = [...new Set(lists.flat().map(({ rule }) => rule))]

  it('are there, with rules', () => {
    expect(crds).toHaveLength(5)
    expect(rules.length).toBeGreaterThan(50)
  })

  it.each(rules)('have a rule that can be evaluated without a cluster: %s', (rule) => {
    expect(compileCel(rule).identifiers).toContain(rule.includes('oldSelf') ? 'oldSelf' : 'self')
  })

  it('have no field of the type number, so that a number without a fraction is an integer', () => {
    const types = valuesOf('type', crds)
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
