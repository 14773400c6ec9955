import { describe, expect, it } from 'vitest'
import { inPlaceUpdateHash } from './in-place-update-hash.ts'

const tags = {
  'compute.aks.billing': 'linux',
  'karpenter.azure.com_cluster': 'test-cluster',
  'karpenter.sh_nodepool': 'default',
}
const hash = (change: Readonly<Record<string, string>> = {}, identities: readonly string[] = []) =>
  inPlaceUpdateHash({ identities, tags: { ...tags, ...change } })

describe('the hash of properties changed in place (reference/azure-provider.md 8.3)', () => {
  it('is 32-bit FNV-1a of the JSON, in decimal', () => {
    expect(hash()).toBe('3897900378')
  })

  it('ignores the order of tags and identities', () => {
    const reversed = Object.fromEntries(Object.entries(tags).toReversed())
    expect(inPlaceUpdateHash({ identities: ['/b', '/a'], tags: reversed })).toBe(hash({}, ['/a', '/b']))
  })

  it('distinguishes tags and identities', () => {
    const all = [hash(), hash({ a: '1' }), hash({ a: '2' }), hash({}, ['/a']), hash({}, ['/a', '/b'])]
    expect(new Set(all).size).toBe(all.length)
  })

  it('escapes as Go does', () => {
    const escaped = new Set(['<', '>', '&', '\u2028', '\u2029'].map((value) => hash({ value })))
    expect(escaped.size).toBe(5)
    // FNV-1a of {"tags":{"a":"\u003c"}}, which is plain ASCII.
    let expected = 0x811c9dc5
    for (const char of String.raw`{"tags":{"a":"\u003c"}}`)
      expected = Math.imul(expected ^ char.charCodeAt(0), 0x01000193) >>> 0
    expect(inPlaceUpdateHash({ identities: [], tags: { a: '<' } })).toBe(String(expected))
  })
})
