import { describe, expect, it } from 'vitest'
import { sampleClaim, sampleTime } from '../../test/samples/sample-objects.ts'
import { holdAnnotations, holdOf, holdText, isHeldOtherwise, noHoldAnnotations } from './hold.ts'

const minute = 60_000
const claim = (annotations: Readonly<Record<string, string>>) => sampleClaim('a', { metadata: { annotations } })

describe('a hold as it stands on a NodeClaim', () => {
  it.each<[string, Readonly<Record<string, string>>, string | undefined]>([
    ['none', {}, undefined],
    [
      'a time to come',
      { 'joiner.sh/hold-until': '2026-01-01T00:10:00Z' },
      'held until 2026-01-01T00:10:00Z, no reason given',
    ],
    [
      'in another zone',
      { 'joiner.sh/hold-until': '2026-01-01T02:10:00+02:00' },
      'held until 2026-01-01T00:10:00Z, no reason given',
    ],
    ['a time that is over', { 'joiner.sh/hold-until': '2026-01-01T00:01:00Z' }, undefined],
    ['this very moment', { 'joiner.sh/hold-until': '2026-01-01T00:02:00Z' }, undefined],
    ['no end', { 'joiner.sh/hold-until': 'released' }, 'held until released, no reason given'],
    [
      'who and why, and expiry as well',
      {
        'joiner.sh/hold-until': 'released',
        'joiner.sh/hold-by': 'alice',
        'joiner.sh/hold-reason': 'core dump',
        'joiner.sh/hold-expiry': 'true',
      },
      'held until released by alice, with its expiry: core dump',
    ],
    [
      'what cannot be read holds, and says so',
      { 'joiner.sh/hold-until': '2h', 'joiner.sh/hold-reason': 'a look' },
      'held until released: a look; "2h" is no RFC 3339 time such as 2026-12-01T06:00:00Z, and not "released"; it holds without end',
    ],
    [
      'a day alone is no time',
      { 'joiner.sh/hold-until': '2026-01-05' },
      'held until released: "2026-01-05" is no RFC 3339 time such as 2026-12-01T06:00:00Z, and not "released"; it holds without end',
    ],
    [
      'an empty value',
      { 'joiner.sh/hold-until': '' },
      'held until released: "" is no RFC 3339 time such as 2026-12-01T06:00:00Z, and not "released"; it holds without end',
    ],
    ['who and why without until', { 'joiner.sh/hold-reason': 'left over' }, undefined],
  ])('%s', (_, annotations, text) => {
    const hold = holdOf(claim(annotations), sampleTime + 2 * minute)
    expect(hold && holdText(hold)).toBe(text)
  })

  it('is written as it is read', () => {
    const hold = { untilMs: sampleTime + 60 * minute, reason: 'a look', by: 'bob', expiry: true }
    const written = holdAnnotations(hold) as Record<string, string>
    expect(holdOf(claim(written), sampleTime)).toEqual(hold)
  })

  it('replaces all of the one before, and a release leaves nothing', () => {
    const keys = Object.keys(noHoldAnnotations).sort()
    expect(Object.keys(holdAnnotations({ expiry: false })).sort()).toEqual(keys)
    expect(isHeldOtherwise(claim({ [keys[0] as string]: 'x' }), claim({}))).toBe(true)
    expect(isHeldOtherwise(claim({ other: 'x' }), claim({}))).toBe(false)
  })
})
