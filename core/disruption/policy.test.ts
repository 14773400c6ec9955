import { describe, expect, it } from 'vitest'
import { methodFacts, methodNames } from './command.ts'
import { methods } from './methods/methods.ts'
import { joinerPolicy, karpenterPolicy, withoutStaticCapacity } from './policy.ts'

describe('methods', () => {
  it('have their own names as keys, in the order of the table', () => {
    expect(Object.values(methods).map(({ name }) => name)).toEqual(methodNames)
  })

  it('are tried in the order of upstream', () => {
    expect(methodNames).toEqual(['repair', 'emptiness', 'static-drift', 'drift', 'multi-node', 'single-node'])
  })

  it('delay savings, but neither repair nor drift', () => {
    for (const { reason, validation } of Object.values(methodFacts))
      expect(validation).toBe(reason === 'Drifted' || reason === 'Unhealthy' ? 'immediate' : 'delayed')
  })
})

describe('policies', () => {
  it('name methods that exist, in their order', () => {
    for (const { methods: named } of [joinerPolicy, withoutStaticCapacity, karpenterPolicy])
      expect(named).toEqual(methodNames.filter((method) => named.includes(method)))
  })
})
