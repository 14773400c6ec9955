import { expect, it } from 'vitest'
import { forbiddenDifferences, withoutOwnFields } from './azure-differences.ts'

const diagnosticsProfile = { bootDiagnostics: { enabled: true } }

it('boot diagnostics are taken away, and nothing else', () => {
  const securityProfile = { securityType: 'Standard', encryptionAtHost: true }
  expect(withoutOwnFields({ a: 1, diagnosticsProfile, securityProfile })).toEqual({ a: 1, securityProfile })
})

it.each([
  [{ diagnosticsProfile: { bootDiagnostics: { enabled: true, storageUri: 'https://x' } } }],
  [{ securityProfile: {} }],
  [{ securityProfile: { securityType: 'Standard' } }],
  [{ priority: 'Spot' }],
])('%j is compared', (ours) => {
  expect(withoutOwnFields(ours)).toEqual(ours)
})

it.each([
  ['a value of its own', { KUBELET_FLAGS: 'a' }, { KUBELET_FLAGS: 'b' }],
  ['another value than the one that is allowed', { CSE_TIMEOUT: '60' }, { CSE_TIMEOUT: '15m' }],
  ['a variable that is missing', {}, { VNET_CNI_PLUGINS_URL: 'https://x' }],
  ['a GPU node without its driver', { GPU_DRIVER_TYPE: 'cuda' }, { GPU_NODE: 'true', GPU_DRIVER_TYPE: 'grid' }],
])('%s is a difference', (_, ours, theirs) => {
  expect(forbiddenDifferences(ours, theirs).length).toBeGreaterThan(0)
})

it('what is listed is none', () => {
  expect(
    forbiddenDifferences({ CSE_TIMEOUT: '900', NETWORK_POLICY: '' }, { CSE_TIMEOUT: '15m', NETWORK_POLICY: 'cilium' }),
  ).toEqual([])
})
