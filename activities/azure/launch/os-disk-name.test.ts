import { describe, expect, it } from 'vitest'
import { attemptInDiskName, osDiskName, readOsDiskName } from './os-disk-name.ts'

describe('the name of an OS disk', () => {
  it.each([
    ['general-x7k2p', 1],
    ['a-1', 12],
    ['deep-00000000', 3],
  ])('of claim %s tells the claim and attempt %i', (claimName, attempt) => {
    const name = osDiskName('prod', claimName, attempt)
    expect(readOsDiskName('prod', name)).toEqual({ claimName, attempt })
    expect(attemptInDiskName(name)).toBe(attempt)
  })

  it('stays within the 80 characters that Azure allows for the longest claim that has a VM', () => {
    expect(osDiskName('prod', 'x'.repeat(59), 10).length).toBeLessThanOrEqual(80)
  })

  it.each([
    'aks-general-x7k2p',
    'aks-general-x7k2p-1',
    'aks-general-x7k2p-1-00000000',
    'pvc-1f0c',
    'aks-nodepool1-1_OsDisk',
  ])('is not %s: nobody knows whose that is', (name) => expect(readOsDiskName('prod', name)).toBeUndefined())

  it('is of one cluster', () => {
    expect(readOsDiskName('staging', osDiskName('prod', 'general-x7k2p', 1))).toBeUndefined()
  })
})
