import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { canonicalIp } from './ip.ts'

describe('an address', () => {
  test.each([
    ['10.0.0.1', '10.0.0.1'],
    ['0.0.0.0', '0.0.0.0'],
    ['255.255.255.255', '255.255.255.255'],
    ['::1', '::1'],
    ['::', '::'],
    ['0:0:0:0:0:0:0:1', '::1'],
    ['2001:DB8::1', '2001:db8::1'],
    ['2001:db8:0:0:1:0:0:1', '2001:db8::1:0:0:1'],
    ['2001:0db8:0000:0000:0000:0000:0000:0001', '2001:db8::1'],
    ['1:0:2:3:4:5:6:7', '1:0:2:3:4:5:6:7'],
    ['1::', '1::'],
    ['::ffff:10.0.0.1', '10.0.0.1'],
    ['::ffff:0a00:0001', '10.0.0.1'],
    ['64:ff9b::10.0.0.1', '64:ff9b::a00:1'],
  ])('%s is %s', (text, canonical) => {
    expect(canonicalIp(text)).toBe(canonical)
  })

  test.each([
    '',
    '10.0.0',
    '10.0.0.0.1',
    '256.0.0.1',
    '01.0.0.1',
    '10.0.0.1/8',
    ' 10.0.0.1',
    '10.0.0.1\n',
    '1:2:3:4:5:6:7',
    '1:2:3:4:5:6:7:8:9',
    '1::2::3',
    '1:2:3:4::5:6:7:8',
    '12345::',
    'g::',
    ':1',
    '10.0.0.1::',
    'localhost',
  ])('%j is none', (text) => {
    expect(canonicalIp(text)).toBeUndefined()
  })

  test('is the same however it is written', () => {
    fc.assert(
      fc.property(fc.ipV6(), (text) => {
        const canonical = canonicalIp(text)
        expect(canonical).toBeDefined()
        expect(canonicalIp(canonical ?? '')).toBe(canonical)
        expect(canonicalIp(text.toUpperCase())).toBe(canonical)
      }),
    )
    fc.assert(fc.property(fc.ipV4(), (text) => canonicalIp(text) === text && canonicalIp(`::ffff:${text}`) === text))
  })
})
