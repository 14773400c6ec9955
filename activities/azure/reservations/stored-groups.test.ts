import { expect, test } from 'vitest'
import { keptGroups } from './stored-groups.ts'

const reservation = {
  id: 'id',
  instanceType: 'Standard_D2s_v5',
  zone: 'westus2-1',
  capacity: 2,
  others: 0,
  isSettled: true,
  allocated: ['vm'],
}
const read = { kind: 'read' as const, groupId: 'a', associated: ['vm'], reservations: [reservation] }
const groups = [
  read,
  { kind: 'gone' as const, groupId: 'b' },
  { kind: 'unreadable' as const, groupId: 'c', why: '403' },
]

test('groups come back as they were stored', () => {
  expect(keptGroups.schema.decode(keptGroups.schema.encode(groups) as never)).toEqual(groups)
})

test.each([
  ['no list', read],
  ['a group without its id', [{ kind: 'gone' }]],
  ['a group of an unknown kind', [{ ...read, kind: 'other' }]],
  ['an unreadable one without the reason', [{ kind: 'unreadable', groupId: 'c' }]],
  ['a reservation without a number', [{ ...read, reservations: [{ ...reservation, capacity: '2' }] }]],
  ['a reservation without its type', [{ ...read, reservations: [{ ...reservation, instanceType: undefined }] }]],
  ['VMs that are no list', [{ ...read, associated: 'vm' }]],
])('%s is refused', (_what, json) => {
  expect(keptGroups.schema.safeParse(json).success).toBe(false)
})
