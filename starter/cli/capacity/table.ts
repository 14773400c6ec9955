import type { Mark, SizeUse } from '../../../activities/azure/capacity/mark.ts'
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
