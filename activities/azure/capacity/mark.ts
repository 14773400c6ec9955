import type { MarkScope } from '../arm/azure-error.ts'

/** One way to buy one size, as marks speak of it. Zone `0` is regional. */
export interface OfferingId {
  readonly instanceType: string
  /** Name of the quota family; empty when it is not known. */
  readonly family: string
  readonly vCpus: number
  readonly zone: string
  readonly capacityType: string
}

interface Reported {
  /** Epoch ms from which on the mark says nothing. */
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

/** The sizes of a family from so many vCPUs on, in a zone for a capacity type; `minVCpus` -1: the whole family. */
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

/** Marks by their key, which is one that a ConfigMap takes. At most one mark has a key. */
export type Marks = ReadonlyMap<string, Mark>

export const noMarks: Marks = new Map()

/** What a mark is known by. A family's case does not matter (reference/azure-provider.md 3.8). */
function markKey(mark: Mark): string {
  if (mark.kind === 'allSpot') return 'spot'
  const place = `${escaped(mark.capacityType)}.${escaped(mark.zone)}`
  return mark.kind === 'offering'
    ? `offering.${place}.${escaped(mark.instanceType)}`
    : familyKey(mark.family, mark.zone, mark.capacityType)
}

const familyKey = (family: string, zone: string, capacityType: string) =>
  `family.${escaped(capacityType)}.${escaped(zone)}.${escaped(family.toLowerCase())}`

/** Some family names hold a space. */
function escaped(text: string): string {
  return text.replaceAll(/[^-_a-zA-Z0-9]/g, (char) => `.${char.codePointAt(0)?.toString(16)}.`)
}

/** Marks by place, so that thousands of offerings are looked up without making keys of text. */
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

/** Whether a mark that has not run out speaks of an offering: of all spot, of the size, or of its family from its vCPUs on. */
export function isBlocked(marks: Marks, offering: OfferingId, nowMs: number): boolean {
  return blockingMark(marks, offering, nowMs) !== undefined
}

/** The mark that blocks an offering, if there is one. The set of marks must not change any more. */
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

/** The marks of a refusal. `zones`: all zone labels of the size, `0` included. */
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

/** A size that is refused is refused with its family's larger ones; of a size whose family is not known, only itself. */
export function offeringMarks(
  { instanceType, family, vCpus, zone, capacityType }: OfferingId,
  reported: Reported,
): Mark[] {
  const place = { zone, capacityType, ...reported }
  const own: Mark = { kind: 'offering', instanceType, family, ...place }
  return family === '' ? [own] : [own, { kind: 'family', family, minVCpus: vCpus, ...place }]
}

/**
 * The marks with more of them. Marking again sets the time again, even when that shortens it; a family keeps the lower threshold while it
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

/** The marks that have not run out. */
export function liveMarks(marks: Marks, nowMs: number): Marks {
  return new Map([...marks].filter(([, mark]) => mark.untilMs > nowMs))
}

/** Whether two sets of marks can block different offerings. Times do not matter: that a mark runs out is seen when it does. */
export function blockAlike(a: Marks, b: Marks): boolean {
  return a.size === b.size && [...a].every(([key, mark]) => alike(mark, b.get(key)))
}

function alike(a: Mark, b: Mark | undefined): boolean {
  return b !== undefined && (a.kind !== 'family' || (b.kind === 'family' && a.minVCpus === b.minVCpus))
}

/** A mark as it stands in the ConfigMap: readable by people, the time as text. */
function formatMark(mark: Mark): string {
  const { untilMs, ...rest } = mark
  return JSON.stringify({ ...rest, until: new Date(untilMs).toISOString() })
}

/** A mark from the ConfigMap; undefined when the text is none, so that a damaged entry blocks nothing. */
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

/** The marks of a ConfigMap's data. An entry under another key than its own is damaged too. */
export function parseMarks(data: Readonly<Record<string, string>>): Marks {
  const marks = new Map<string, Mark>()
  for (const [key, text] of Object.entries(data)) {
    const mark = parseMark(text)
    if (mark !== undefined && markKey(mark) === key) marks.set(key, mark)
  }
  return marks
}

/** The marks as a ConfigMap's data. */
export function formatMarks(marks: Marks): Record<string, string> {
  return Object.fromEntries([...marks].map(([key, mark]) => [key, formatMark(mark)]))
}

/**
 * The marks that fit into so many bytes of keys and values. A size that its family's mark blocks for as long says nothing of its own and
 * goes first; then what runs out soonest goes: it is offered again, which costs one more refusal.
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
