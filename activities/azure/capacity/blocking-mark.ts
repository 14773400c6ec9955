import type { NodeClass } from '../../../api/objects.ts'
import type { FamilyMark, Mark, Marks, OfferingId, SizeMark } from './mark.ts'

/** Marks by place, so that thousands of offerings are looked up without making keys of text. */
interface PlaceMarks {
  readonly offerings: Map<string, Mark>
  readonly families: Map<string, FamilyMark>
}

interface Index {
  readonly places: ReadonlyMap<string, ReadonlyMap<string, PlaceMarks>>
  readonly sizes: ReadonlyMap<string, readonly SizeMark[]>
}

const indexes = new WeakMap<Marks, Index>()

function indexOf(marks: Marks): Index {
  const known = indexes.get(marks)
  if (known !== undefined) return known
  const places = new Map<string, Map<string, PlaceMarks>>()
  const sizes = new Map<string, SizeMark[]>()
  for (const mark of marks.values()) {
    if (mark.kind === 'allSpot' || mark.kind === 'image' || mark.kind === 'class') continue
    if (mark.kind === 'size') {
      sizes.set(mark.instanceType, [...(sizes.get(mark.instanceType) ?? []), mark])
      continue
    }
    const zones = places.get(mark.capacityType) ?? new Map<string, PlaceMarks>()
    const place = zones.get(mark.zone) ?? { offerings: new Map(), families: new Map() }
    if (mark.kind === 'offering') place.offerings.set(mark.instanceType, mark)
    else place.families.set(mark.family.toLowerCase(), mark)
    places.set(mark.capacityType, zones.set(mark.zone, place))
  }
  const index = { places, sizes }
  indexes.set(marks, index)
  return index
}

export interface OfferingUse {
  readonly nodeClass: string
  /** Ids of the images that the class's nodes may get. */
  readonly images: ReadonlySet<string>
}

/** Returns what the nodes of a class ask for offerings with. */
export function offeringUse({ metadata, status }: NodeClass): OfferingUse {
  return { nodeClass: metadata.name, images: new Set(status.images?.map(({ id }) => id)) }
}

/** Whether a mark that has not run out speaks of an offering: of all spot, of the size, or of its family from its vCPUs on. */
export function isBlocked(marks: Marks, offering: OfferingId, { nowMs, use }: At): boolean {
  return blockingMark(marks, offering, { nowMs, use }) !== undefined
}

interface At {
  readonly nowMs: number
  readonly use?: OfferingUse | undefined
}

/** The mark that blocks an offering, if there is one. The set of marks must not change any more. */
export function blockingMark(marks: Marks, offering: OfferingId, { nowMs, use }: At): Mark | undefined {
  const { instanceType, family, vCpus, zone, capacityType } = offering
  const live = <M extends Mark>(mark: M | undefined) => (mark !== undefined && mark.untilMs > nowMs ? mark : undefined)
  const spot = capacityType === 'spot' ? live(marks.get('spot')) : undefined
  if (spot !== undefined) return spot
  const { places, sizes } = indexOf(marks)
  const ofSize = sizes.get(instanceType)?.find((mark) => live(mark) !== undefined && isMeant(mark, use))
  if (ofSize !== undefined) return ofSize
  const place = places.get(capacityType)?.get(zone)
  if (place === undefined) return undefined
  const ofFamily = family === '' ? undefined : live(place.families.get(family.toLowerCase()))
  if (ofFamily !== undefined && vCpus >= ofFamily.minVCpus) return ofFamily
  return live(place.offerings.get(instanceType))
}

function isMeant({ image, nodeClass }: SizeMark, use: OfferingUse | undefined): boolean {
  if (nodeClass !== undefined && nodeClass !== use?.nodeClass) return false
  return image === undefined || use?.images.has(image) === true
}
