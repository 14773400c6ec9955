import { describe, expect, it } from 'vitest'
import { maintenanceWindow } from './images-status.ts'

const start = 'aksManagedNodeOSUpgradeSchedule-start'
const end = 'aksManagedNodeOSUpgradeSchedule-end'
const now = Date.parse('2026-05-05T12:00:00Z')
const kindOf = (entries: Record<string, string> | undefined) => maintenanceWindow(entries, 'joiner', now).kind

describe('the maintenance window of node images (reference/azure-provider.md 6.4)', () => {
  it.each<[string, Record<string, string> | undefined, string]>([
    ['no ConfigMap', undefined, 'open'],
    ['neither entry', { 'aksManagedAutoUpgradeSchedule-start': '2027-01-01T00:00:00Z' }, 'open'],
    ['within', { [start]: '2026-05-05T11:00:00Z', [end]: '2026-05-05T13:00:00Z' }, 'open'],
    ['within, in another zone', { [start]: '2026-05-05T13:30:00+02:00', [end]: '2026-05-05T12:00:00.5Z' }, 'open'],
    ['before', { [start]: '2026-05-05T12:00:01Z', [end]: '2026-05-05T13:00:00Z' }, 'closed'],
    ['at its very start', { [start]: '2026-05-05T12:00:00Z', [end]: '2026-05-05T13:00:00Z' }, 'closed'],
    ['after', { [start]: '2026-05-05T10:00:00Z', [end]: '2026-05-05T11:00:00Z' }, 'closed'],
    ['only its start', { [start]: '2026-05-05T10:00:00Z' }, 'invalid'],
    ['only its end', { [end]: '2026-05-05T10:00:00Z' }, 'invalid'],
    ['a start that is no time', { [start]: 'tomorrow', [end]: '2026-05-05T11:00:00Z' }, 'invalid'],
    ['a start without a zone', { [start]: '2026-05-05T10:00:00', [end]: '2026-05-05T11:00:00Z' }, 'invalid'],
    ['an end on a day that is none', { [start]: '2026-05-05T10:00:00Z', [end]: '2026-13-05T11:00:00Z' }, 'invalid'],
    ['empty entries', { [start]: '', [end]: '' }, 'invalid'],
  ])('%s', (_, entries, kind) => {
    expect(kindOf(entries)).toBe(kind)
  })

  it.each([
    [{ [start]: 'noon', [end]: '2026-05-05T11:00:00Z' }, /joiner\/upcoming-maintenance-window.*-start "noon"/],
    [{ [start]: '2026-05-05T11:00:00Z', [end]: 'late' }, /-end "late"/],
    [{ [end]: '2026-05-05T11:00:00Z' }, /-start is missing beside .*-end "2026-05-05T11:00:00Z"/],
  ])('names the entry and its value: %j', (entries, message) => {
    const found = maintenanceWindow(entries, 'joiner', now)
    expect(found.kind === 'invalid' && found.message).toMatch(message)
  })
})
