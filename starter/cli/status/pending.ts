import type { StoredWaiting } from '../../../api/waiting-pods.ts'
import type { Part } from '../../document/document.ts'
import { counted } from '../../document/words.ts'
import type { ClusterReport } from './status.ts'

const mostNamed = 3

/** Pending pods by what they wait for, with an example of each that nothing is planned for. */
export function pendingPart({ waiting }: ClusterReport): Part {
  if (waiting === undefined) return 'which pods wait for a node is not known'
  const { planned, unschedulable, held } = totals(waiting)
  const all = planned + unschedulable + held
  if (all === 0) return 'no pod waits for a node'
  const causes = (state: string) =>
    waiting.counts
      .filter((each) => each.state === state)
      .map(({ cause, count }) => `${cause ?? 'other'} ${count}`)
      .join(', ')
  const parts = [
    ...(planned > 0 ? [`${planned} planned, waiting for their nodes`] : []),
    ...(unschedulable > 0 ? [`${unschedulable} unschedulable (${causes('unschedulable')})`] : []),
    ...(held > 0 ? [`${held} held back (${causes('held')})`] : []),
  ]
  const examples = [...waiting.classes.values()]
    .filter(({ state }) => state !== 'planned')
    .slice(0, mostNamed)
    .map(({ pods: [pod = ''], finding }) => `${pod}: ${finding}  (joiner why pod ${pod})`)
  const title = `PENDING  ${counted(all, 'pod')}: ${parts.join('; ')}`
  return examples.length === 0 ? title : { title, items: examples }
}

/** For programs. */
export function pendingJson(waiting: StoredWaiting) {
  const { atMs, counts } = waiting
  return { ...totals(waiting), counts, at: atMs === undefined ? null : new Date(atMs).toISOString() }
}

function totals({ counts }: StoredWaiting) {
  const of = (state: string) => counts.filter((each) => each.state === state).reduce((sum, { count }) => sum + count, 0)
  return { planned: of('planned'), unschedulable: of('unschedulable'), held: of('held') }
}
