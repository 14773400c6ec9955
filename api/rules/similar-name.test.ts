import { expect, it } from 'vitest'
import { similarName } from './similar-name.ts'

const fields = ['consolidateAfter', 'consolidationPolicy', 'budgets', 'taints', 'vnetSubnetID', 'osDiskSizeGB', 'tags']

it.each([
  ['Budgets', 'budgets'],
  ['taint', 'taints'],
  ['consolidationPolicies', 'consolidationPolicy'],
  ['consolidate_after', 'consolidateAfter'],
  ['subnetID', 'vnetSubnetID'],
  ['osDiskSize', 'osDiskSizeGB'],
  ['tagz', 'tags'],
  ['foo', undefined],
  ['expireAfter', undefined],
  ['x'.repeat(100_000), undefined],
])('%s means %s', (given, meant) => {
  expect(similarName(given, fields)).toBe(meant)
})
