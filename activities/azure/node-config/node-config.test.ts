import { expect, it } from 'vitest'
import { missingFields, parseNodeConfig } from '../../../api/node-config/parse.ts'
import { goldenSuite } from '../../../test/vectors/golden-suite.ts'

interface ConfigCase {
  readonly name: string
  readonly config: unknown
  readonly expected: {
    readonly strictParseOK: boolean
    readonly tolerantParseOK: boolean
    readonly requiredFieldsOK: boolean
  }
}

// How the node uses each configuration (its environment, sysctls and kubelet file) is tested where the simulator's VMs boot.
goldenSuite('azure/anc-config', 19, ({ cases }: { readonly cases: readonly ConfigCase[] }) => {
  it.for(cases)('$name', ({ config, expected }) => {
    const parsed = parseNodeConfig(config)
    expect(parsed.problems.length === 0).toBe(expected.strictParseOK)
    expect(parsed.problems.every(({ kind }) => kind === 'unknown')).toBe(expected.tolerantParseOK)
    expect(missingFields(parsed.config).length === 0).toBe(expected.requiredFieldsOK)
  })
})
