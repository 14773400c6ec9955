import type { Mark } from '../../../activities/azure/capacity/mark.ts'
import { aligned } from '../simulate/words.ts'

const header = ['UNAVAILABLE', 'CAPACITY', 'ZONES', 'REASON', 'UNTIL', 'LEFT']

/** The marks for people: those of several zones that say the same are one line. Zone 0 is the region without a zone. */
export function marksTable(marks: Iterable<Mark>, nowMs: number): string {
  const groups = Map.groupBy(marks, (mark) =>
    JSON.stringify([what(mark), capacityTypeOf(mark), mark.reason, mark.untilMs]),
  )
  const rows = [...groups.values()].map((group) => {
    const [first] = group as [Mark]
    const zones = group.flatMap((mark) => (mark.kind === 'allSpot' ? ['all'] : [mark.zone]))
    return [
      what(first),
      capacityTypeOf(first),
      [...new Set(zones)].sort().join(', '),
      first.reason,
      `${new Date(first.untilMs).toISOString().slice(0, 19)}Z`,
      left(first.untilMs - nowMs),
    ]
  })
  return aligned([header, ...rows.sort((a, b) => (a.join() < b.join() ? -1 : 1))])
}

function what(mark: Mark): string {
  if (mark.kind === 'allSpot') return 'all spot'
  if (mark.kind === 'offering') return mark.instanceType
  return mark.minVCpus < 0 ? `${mark.family}, all sizes` : `${mark.family}, ${mark.minVCpus} vCPUs and more`
}

const capacityTypeOf = (mark: Mark) => (mark.kind === 'allSpot' ? 'spot' : mark.capacityType)

/** `23h59m`, `9m30s`. */
function left(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000))
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor((seconds % 3600) / 60)]
  return hours > 0 ? `${hours}h${minutes}m` : `${minutes}m${seconds % 60}s`
}
