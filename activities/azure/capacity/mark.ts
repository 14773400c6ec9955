import type { MarkScope } from '../arm/azure-error.ts'

/** One way to buy one size, as marks identify it. Zone `0` is regional. */
export interface OfferingId {
  readonly instanceType: string
  /** Name of the quota family; empty when it is not known. */
  readonly family: string
  readonly vCpus: number
  readonly zone: string
  readonly capacityType: string
}

interface Reported {
  /** Epoch ms at which the mark expires. */
  readonly untilMs: number
  readonly reason: string
}

/** A size that was refused in a zone for a capacity type. */
interface OfferingMark extends Reported {
  readonly kind: 'offering'
  readonly instanceType: string
  readonly family: string
  readonly zone: string
  readonly capacityType: string
}

/** The sizes of a family with at least so many vCPUs, in a zone for a capacity type; `minVCpus` -1: the whole family. */
interface FamilyMark extends Reported {
  readonly kind: 'family'
  readonly family: string
  readonly minVCpus: number
  readonly zone: string
  readonly capacityType: string
}

/** Every spot offering of the region. */
interface AllSpotMark extends Reported {
  readonly kind: 'allSpot'
}

export type Mark = OfferingMark | FamilyMark | AllSpotMark

/** Marks by their key, which a ConfigMap accepts. At most one mark has a key. */
export type Marks = ReadonlyMap<string, Mark>

export const noMarks: Marks = new Map()

/** Returns the key of a mark. A family's case does not matter (reference/azure-provider.md 3.8). */
function markKey(mark: Mark): string {
  if (mark.kind === 'allSpot') return 'spot'
  const place = `${escaped(mark.capacityType)}.${escaped(mark.zone)}`
  return mark.kind === 'offering'
    ? `offering.${place}.${escaped(mark.instanceType)}`
    : familyKey(mark.family, mark.zone, mark.capacityType)
}

const familyKey = (family: string, zone: string, capacityType: string) =>
  `family.${escaped(capacityType)}.${escaped(zone)}.${escaped(family.toLowerCase())}`

/** Escapes spaces, which some family names hold. */
function escaped(text: string): string {
  return text.replaceAll(/[^-_a-zA-Z0-9]/g, (char) => `.${char.codePointAt(0)?.toString(16)}.`)
}

/** Marks by place, so that lookups of thousands of offerings build no text keys. */
interface PlaceMarks {
  readonly offerings: Map<string, Mark>
  readonly families: Map<string, FamilyMark>
}

const indexes = new WeakMap<Marks, ReadonlyMap<string, ReadonlyMap<string, PlaceMarks>>>()

function indexOf(marks: Marks): ReadonlyMap<string, ReadonlyMap<string, PlaceMarks>> {
  const known = indexes.get(marks)
  if (known !== undefined) return known
  const index = new Map<string, Map<string, PlaceMarks>>()
  for (const mark of marks.values()) {
    if (mark.kind === 'allSpot') continue
    const zones = index.get(mark.capacityType) ?? new Map<string, PlaceMarks>()
    const place = zones.get(mark.zone) ?? { offerings: new Map(), families: new Map() }
    if (mark.kind === 'offering') place.offerings.set(mark.instanceType, mark)
    else place.families.set(mark.family.toLowerCase(), mark)
    index.set(mark.capacityType, zones.set(mark.zone, place))
  }
  indexes.set(marks, index)
  return index
}

/** Returns whether a current mark covers an offering: of all spot, of the size, or of its family from its vCPUs on. */
export function isBlocked(marks: Marks, offering: OfferingId, nowMs: number): boolean {
  return blockingMark(marks, offering, nowMs) !== undefined
}

/** Returns the mark that blocks an offering, if there is one. The set of marks must not change any more. */
export function blockingMark(marks: Marks, offering: OfferingId, nowMs: number): Mark | undefined {
  const { instanceType, family, vCpus, zone, capacityType } = offering
  const live = <M extends Mark>(mark: M | undefined) => (mark !== undefined && mark.untilMs > nowMs ? mark : undefined)
  const spot = capacityType === 'spot' ? live(marks.get('spot')) : undefined
  if (spot !== undefined) return spot
  const place = indexOf(marks).get(capacityType)?.get(zone)
  if (place === undefined) return undefined
  const ofFamily = family === '' ? undefined : live(place.families.get(family.toLowerCase()))
  if (ofFamily !== undefined && vCpus >= ofFamily.minVCpus) return ofFamily
  return live(place.offerings.get(instanceType))
}

/** Returns the marks of a refusal. `zones`: all zone labels of the size, `0` included. */
export function marksFor(
  { instanceType, family, vCpus, zone, capacityType }: OfferingId,
  scope: MarkScope,
  { untilMs, reason, zones }: { readonly untilMs: number; readonly reason: string; readonly zones: readonly string[] },
): readonly Mark[] {
  const reported = { untilMs, reason }
  if (scope === 'allSpot') return [{ kind: 'allSpot', ...reported }]
  const placement = zone === '0' ? ['0'] : [...new Set([zone, ...zones.filter((other) => other !== '0')])]
  const both = ['on-demand', 'spot']
  const table: Readonly<Record<Exclude<MarkScope, 'allSpot'>, readonly [readonly string[], readonly string[]]>> = {
    allZonesOfCapacityType: [[...new Set([zone, ...zones])], [capacityType]],
    placementOfCapacityType: [placement, [capacityType]],
    zoneAllCapacityTypes: [[zone], both],
    placementAllCapacityTypes: [placement, both],
    zoneOfCapacityType: [[zone], [capacityType]],
    nothing: [[], []],
  }
  const [places, types] = table[scope]
  return places.flatMap((where) =>
    types.flatMap((which) =>
      offeringMarks({ instanceType, family, vCpus, zone: where, capacityType: which }, reported),
    ),
  )
}

/** Returns the marks of a refused size and of its family's larger ones; of a size with unknown family, only its own. */
export function offeringMarks(
  { instanceType, family, vCpus, zone, capacityType }: OfferingId,
  reported: Reported,
): Mark[] {
  const place = { zone, capacityType, ...reported }
  const own: Mark = { kind: 'offering', instanceType, family, ...place }
  return family === '' ? [own] : [own, { kind: 'family', family, minVCpus: vCpus, ...place }]
}

/**
 * Adds marks. Marking again resets the time, even when that shortens it; a family keeps the lower threshold while it
 * is marked. `news` counts what blocks more than before: a family or all spot that was not marked or not from so few vCPUs on, and a size
 * without a family (reference/azure-provider.md 3.8).
 */
export function withMarks(
  marks: Marks,
  added: readonly Mark[],
  nowMs: number,
): { readonly marks: Marks; readonly news: number } {
  const after = new Map(marks)
  let news = 0
  for (const mark of added) {
    const key = markKey(mark)
    const found = after.get(key)
    const before = found !== undefined && found.untilMs > nowMs ? found : undefined
    if (mark.kind === 'family' && before?.kind === 'family') {
      const minVCpus = Math.min(before.minVCpus, mark.minVCpus)
      if (minVCpus < before.minVCpus) news += 1
      after.set(key, { ...mark, minVCpus })
      continue
    }
    if (before === undefined && !(mark.kind === 'offering' && mark.family !== '')) news += 1
    after.set(key, mark)
  }
  return { marks: after, news }
}

/** Returns the marks that have not expired. */
export function liveMarks(marks: Marks, nowMs: number): Marks {
  return new Map([...marks].filter(([, mark]) => mark.untilMs > nowMs))
}

/** Returns whether two sets of marks block the same offerings. Times do not matter: expiry is seen when it happens. */
export function blockAlike(a: Marks, b: Marks): boolean {
  return a.size === b.size && [...a].every(([key, mark]) => alike(mark, b.get(key)))
}

function alike(a: Mark, b: Mark | undefined): boolean {
  return b !== undefined && (a.kind !== 'family' || (b.kind === 'family' && a.minVCpus === b.minVCpus))
}

/** Returns a mark as text for the ConfigMap: readable by people, the time as text. */
function formatMark(mark: Mark): string {
  const { untilMs, ...rest } = mark
  return JSON.stringify({ ...rest, until: new Date(untilMs).toISOString() })
}

/** Returns a mark from the ConfigMap; undefined when the text is none, so that a damaged entry blocks nothing. */
export function parseMark(text: string): Mark | undefined {
  let value: Record<string, unknown>
  try {
    value = Object(JSON.parse(text)) as Record<string, unknown>
  } catch {
    return undefined
  }
  const { kind, until, reason } = value
  const untilMs = typeof until === 'string' ? Date.parse(until) : Number.NaN
  if (Number.isNaN(untilMs) || typeof reason !== 'string') return undefined
  const reported = { untilMs, reason }
  if (kind === 'allSpot') return { kind, ...reported }
  const { instanceType, family, minVCpus, zone, capacityType } = value
  if (typeof family !== 'string' || typeof zone !== 'string' || typeof capacityType !== 'string') return undefined
  const place = { family, zone, capacityType, ...reported }
  if (kind === 'offering' && typeof instanceType === 'string') return { kind, instanceType, ...place }
  if (kind === 'family' && typeof minVCpus === 'number') return { kind, minVCpus, ...place }
  return undefined
}

/** Returns the marks of a ConfigMap's data. An entry under another key than its own is damaged too. */
export function parseMarks(data: Readonly<Record<string, string>>): Marks {
  const marks = new Map<string, Mark>()
  for (const [key, text] of Object.entries(data)) {
    const mark = parseMark(text)
    if (mark !== undefined && markKey(mark) === key) marks.set(key, mark)
  }
  return marks
}

/** Returns the marks as a ConfigMap's data. */
export function formatMarks(marks: Marks): Record<string, string> {
  return Object.fromEntries([...marks].map(([key, mark]) => [key, formatMark(mark)]))
}

/**
 * Returns the marks that fit into so many bytes of keys and values. A size that its family's mark blocks for as long is redundant and
 * goes first; then the one that expires soonest: it is offered again, which costs one more refusal.
 */
export function withinBytes(marks: Marks, bytes: number): Marks {
  const lengthOf = ([key, mark]: readonly [string, Mark]) => key.length + Buffer.byteLength(formatMark(mark))
  let total = [...marks].reduce((sum, entry) => sum + lengthOf(entry), 0)
  if (total <= bytes) return marks
  const kept = new Map(marks)
  const byEnd = [...marks].sort(([, a], [, b]) => a.untilMs - b.untilMs)
  const isSaidByFamily = ([, mark]: readonly [string, Mark]) =>
    mark.kind === 'offering' &&
    mark.family !== '' &&
    (marks.get(familyKey(mark.family, mark.zone, mark.capacityType))?.untilMs ?? 0) >= mark.untilMs
  for (const entry of [...byEnd.filter(isSaidByFamily), ...byEnd.filter((one) => !isSaidByFamily(one))]) {
    if (total <= bytes) break
    kept.delete(entry[0])
    total -= lengthOf(entry)
  }
  return kept
}
