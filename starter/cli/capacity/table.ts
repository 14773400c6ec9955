import type { Mark, Marks, SizeUse } from '../../../activities/azure/capacity/mark.ts'
import { timeText } from '../../../core/values/time.ts'
import type { Table } from '../../document/document.ts'
import { ago } from '../../document/words.ts'

const header = ['UNAVAILABLE', 'CAPACITY', 'ZONES', 'REASON', 'UNTIL', 'LEFT', 'CAUSE']

/** The marks for people: those of several zones that say the same are one line. Zone 0 is the region without a zone. */
export function marksTable(marks: Iterable<Mark>, nowMs: number): Table {
  const groups = Map.groupBy(marks, (mark) =>
    JSON.stringify([what(mark), capacityTypeOf(mark), mark.reason, mark.untilMs]),
  )
  const rows = [...groups.values()].map((group) => {
    const [first] = group as [Mark]
    const zones = group.flatMap((mark) => (isEverywhere(mark) ? ['all'] : [mark.zone]))
    return [
      what(first),
      capacityTypeOf(first),
      [...new Set(zones)].sort().join(', '),
      first.reason,
      timeText(first.untilMs),
      ago(first.untilMs - nowMs),
      first.cause ?? '',
    ]
  })
  const columns = rows.some((row) => row.at(-1) !== '') ? header.length : header.length - 1
  const sorted = rows.sort((a, b) => (a.join() < b.join() ? -1 : 1))
  return { header: header.slice(0, columns), rows: sorted.map((row) => row.slice(0, columns)) }
}

function what(mark: Mark): string {
  if (mark.kind === 'allSpot') return 'all spot'
  if (mark.kind === 'offering') return mark.instanceType
  if (mark.kind === 'size') return `${mark.instanceType}${useText(mark)}`
  if (mark.kind === 'class') return `AKSNodeClass ${mark.nodeClass}`
  if (mark.kind === 'image') return `image ${shortId(mark.image)}, AKSNodeClass ${mark.nodeClass}`
  return mark.minVCpus < 0 ? `${mark.family}, all sizes` : `${mark.family}, ${mark.minVCpus} vCPUs and more`
}

const isEverywhere = (mark: Mark): mark is Extract<Mark, { readonly kind: 'allSpot' | 'size' | 'image' | 'class' }> =>
  mark.kind === 'allSpot' || mark.kind === 'size' || mark.kind === 'image' || mark.kind === 'class'

function useText({ image, nodeClass }: SizeUse): string {
  if (nodeClass !== undefined) return `, AKSNodeClass ${nodeClass}`
  return image === undefined ? '' : `, image ${shortId(image)}`
}

const shortId = (image: string) => image.split('/').slice(-3).join('/')

function capacityTypeOf(mark: Mark): string {
  if (mark.kind === 'size' || mark.kind === 'image' || mark.kind === 'class') return 'all'
  return mark.kind === 'allSpot' ? 'spot' : mark.capacityType
}

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
