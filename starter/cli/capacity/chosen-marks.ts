import type { Mark, Marks } from '../../../activities/azure/capacity/mark.ts'

/** Which marks are meant; what is not named may be anything. */
export interface MarkFilter {
  readonly instanceType?: string
  readonly family?: string
  /** A zone label; `0` is the region without a zone. */
  readonly zone?: string
  readonly capacityType?: string
  readonly nodeClass?: string
}

/**
 * The marks that a filter names. A size is offered again only when its family is, so the family's marks of the places where it was refused
 * go with it. The mark on all spot has neither size, family nor zone. The case of sizes and families does not matter.
 */
export function chosenMarks(marks: Marks, filter: MarkFilter): readonly Mark[] {
  const meant = [...marks.values()].filter((mark) => isMeant(mark, filter))
  const places = new Set(meant.flatMap((mark) => (mark.kind === 'offering' ? [placeOf(mark)] : [])))
  const families = [...marks.values()].filter((mark) => mark.kind === 'family' && places.has(placeOf(mark)))
  return [...new Set([...meant, ...families])]
}

function isMeant(mark: Mark, { nodeClass, ...filter }: MarkFilter): boolean {
  const isOfClass = nodeClass === undefined || ('nodeClass' in mark && mark.nodeClass === nodeClass)
  return isOfClass && isOfPlace(mark, filter)
}

function isOfPlace(mark: Mark, { instanceType, family, zone, capacityType }: Omit<MarkFilter, 'nodeClass'>): boolean {
  if (mark.kind === 'allSpot') {
    const names = [instanceType, family, zone].some((field) => field !== undefined)
    return !names && (capacityType === undefined || capacityType === 'spot')
  }
  if (mark.kind === 'image' || mark.kind === 'class')
    return [instanceType, family, zone, capacityType].every((field) => field === undefined)
  const isSize = instanceType === undefined || mark.kind === 'family' || isSameName(mark.instanceType, instanceType)
  // A size that does not work anywhere is not offered in any zone.
  if (mark.kind === 'size') return isSize && family === undefined
  if (zone !== undefined && zone !== mark.zone) return false
  if (capacityType !== undefined && capacityType !== mark.capacityType) return false
  if (family !== undefined && family.toLowerCase() !== mark.family.toLowerCase()) return false
  if (instanceType === undefined) return true
  return mark.kind === 'offering' && isSize
}

const isSameName = (one: string, other: string) => one.toLowerCase() === other.toLowerCase()

function placeOf(mark: Extract<Mark, { readonly kind: 'offering' | 'family' }>): string {
  return `${mark.capacityType}/${mark.zone}/${mark.family.toLowerCase()}`
}
