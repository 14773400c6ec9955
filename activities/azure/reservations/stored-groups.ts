import type { ReservationGroup } from './reservation.ts'

/** Returns groups as JSON, for the ConfigMap `joiner-reservations`. */
export function encodeGroups(groups: readonly ReservationGroup[]): unknown {
  return groups
}

/** The inverse of `encodeGroups`. Errors: JSON that is not such a list. */
export function decodeGroups(json: unknown): readonly ReservationGroup[] {
  if (!Array.isArray(json) || !json.every(isGroup))
    throw new Error('stored capacity reservations: not a list of groups')
  return json
}

function isGroup(value: unknown): value is ReservationGroup {
  const group = Object(value) as Partial<Record<string, unknown>>
  if (typeof group['groupId'] !== 'string') return false
  if (group['kind'] === 'gone') return true
  if (group['kind'] === 'unreadable') return typeof group['why'] === 'string'
  return group['kind'] === 'read' && isTexts(group['associated']) && isList(group['reservations'], isReservation)
}

function isReservation(value: unknown): boolean {
  const one = Object(value) as Partial<Record<string, unknown>>
  const texts = [one['id'], one['instanceType'], one['zone']].every((field) => typeof field === 'string')
  const numbers = [one['capacity'], one['others']].every((field) => Number.isInteger(field))
  return texts && numbers && typeof one['isSettled'] === 'boolean' && isTexts(one['allocated'])
}

const isList = (value: unknown, isEntry: (entry: unknown) => boolean) => Array.isArray(value) && value.every(isEntry)
const isTexts = (value: unknown) => isList(value, (entry) => typeof entry === 'string')
