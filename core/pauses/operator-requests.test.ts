import { expect, test } from 'vitest'
import { ageRefusal, type Undated } from './operator-requests.ts'

const now = Date.parse('2026-11-27T10:00:00Z')

test.each<[string, unknown, Undated, string | undefined]>([
  ['made now', { at: '2026-11-27T10:00:00Z' }, 'refused', undefined],
  ['two minutes old', { at: '2026-11-27T09:58:00Z' }, 'refused', undefined],
  ['older', { at: '2026-11-27T09:57:59Z' }, 'refused', 'the request is 121 s old, and holds for 120 s'],
  ['older, of a brake as well', { at: '2026-11-27T09:00:00Z' }, 'accepted', 'the request is 3600 s old'],
  ['in another zone', { at: '2026-11-27T12:00:00+02:00' }, 'refused', undefined],
  ['by a clock that is ahead', { at: '2026-11-27T10:01:59.5Z' }, 'refused', undefined],
  ['by a clock that is far ahead', { at: '2026-11-27T11:00:00Z' }, 'refused', 'the request is 3600 s in the future'],
  [
    'at no time',
    { at: 'now' },
    'refused',
    'at "now": not an RFC 3339 time; write it as {"at": "2026-11-27T10:00:00Z"}',
  ],
  ['at a number', { at: now }, 'refused', 'not an RFC 3339 time'],
  ['at no time, of a brake', { at: 'now' }, 'accepted', undefined],
  ['without a time', {}, 'refused', 'at: state when this is asked for, such as {"at": "2026-11-27T10:00:00Z"}'],
  ['with a time of null', { at: null }, 'refused', 'at: state when'],
  ['that is empty', undefined, 'refused', 'at: state when'],
  ['that is no object', 'all', 'refused', 'at: state when'],
  ['without a time, of a brake', null, 'accepted', undefined],
])('a request %s', (_, request, undated, refusal) => {
  const found = ageRefusal('resume', request, { undated, now })
  if (refusal === undefined) expect(found).toBeUndefined()
  else expect(found?.startsWith('resume: at')).toBe(true)
  expect(found ?? '').toContain(refusal ?? '')
})
