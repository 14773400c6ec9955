import { describe, expect, it } from 'vitest'
import { attemptInDiskName, type DiskMark, osDiskName, readDiskMark } from './os-disk-name.ts'

const [own, other] = ['0b7f3c1e-own', '5d2a9e44-other']

describe('the name of an OS disk', () => {
  it.each([
    ['general-x7k2p', 1],
    ['a-1', 12],
    ['deep-00000000', 3],
  ])('of claim %s carries the claim and attempt %i', (claimName, attempt) => {
    const name = osDiskName(own, claimName, attempt)
    expect(readDiskMark(own, name)).toEqual({ kind: 'ours', claimName, attempt })
    expect(attemptInDiskName(name)).toBe(attempt)
  })

  it('stays within the 80 characters that Azure allows for the longest claim that has a VM', () => {
    expect(osDiskName(own, 'x'.repeat(60), 999).length).toBeLessThanOrEqual(80)
  })

  it.each(['aks-general-x7k2p', 'aks-general-x7k2p-1', 'pvc-1f0c', 'aks-nodes-32301838-vms0_OsDisk_1_00ff', ''])(
    'has no mark as %s',
    (name) => expect(readDiskMark(own, name)).toBeUndefined(),
  )

  const marked = osDiskName(own, 'general-x7k2p', 1)
  it.each<[string, string, DiskMark['kind']]>([
    ['of another cluster', osDiskName(other, 'general-x7k2p', 1), 'otherCluster'],
    ['of an earlier form', 'aks-general-x7k2p-1-00000000', 'malformed'],
    ['whose claim was changed', marked.replace('x7k2p', 'x7k2q'), 'malformed'],
    ['whose attempt was changed', marked.replace('-1-', '-2-'), 'malformed'],
    ['that is cut off', marked.slice(0, -1), 'malformed'],
    ['whose attempt has a leading zero', marked.replace('-1-', '-01-'), 'malformed'],
  ])('is not ours with a mark %s', (_, name, kind) => expect(readDiskMark(own, name)).toEqual({ kind }))
})
