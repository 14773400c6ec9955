import { seconds, table } from '../../bench/report.ts'
import { printable } from '../../core/values/printable.ts'
import { acts } from './acts.ts'
import type { Outcome, Row } from './stage.ts'

const knownMs = 30_000
const putMs = 10_000
/**
 * A run that enters a phase while an attribute is missing cannot tell it: its task is tried again until the attribute is there. One that is terminated in
 * the middle of a task has that written down as a failure.
 */
const allowedCauses: readonly string[] = [
  'WORKFLOW_TASK_FAILED_CAUSE_BAD_SEARCH_ATTRIBUTES',
  'WORKFLOW_TASK_FAILED_CAUSE_FORCE_CLOSE_COMMAND',
]

/** What was done, and what came of it: a row each. */
export function rowTable(rows: readonly Row[]): string {
  const head = [
    'what was done',
    'times',
    'named after',
    'healed after',
    'pods meanwhile',
    'longest until PUT',
    'nodes gone',
  ]
  return table(
    head,
    rows.map(({ what, times, namedMs, healedMs, waits, gone }) => [
      what,
      String(times),
      seconds(namedMs),
      seconds(healedMs) || 'by a person',
      String(waits.length),
      waits.includes(undefined) ? 'never' : seconds(longest(waits)),
      String(gone),
    ]),
  )
}

const longest = (waits: Row['waits']) => (waits.length === 0 ? undefined : Math.max(...waits.map((wait) => wait ?? 0)))

/** What was there in the end. */
export function outcomeTable(outcome: Outcome): string {
  const failed = Object.entries(outcome.failedTasks).map(([cause, count]) => `${count} ${cause}`)
  return table(
    ['', 'seen'],
    [
      ['histories, all replayed', `${outcome.histories}, ${outcome.objections.length} objections`],
      ['workflow tasks that failed', failed.join(', ') || '0'],
      ['VMs asked for twice', String(outcome.twice.length)],
      ['VMs without NodeClaim, NodeClaims without VM', String(outcome.odd.length)],
      ['the pause from before', outcome.isPaused ? 'in force' : 'lost'],
    ],
  )
}

/** A text for each promise that was not kept. */
export function brokenPromises(outcome: Outcome): readonly string[] {
  const { rows, objections, twice, odd, isPaused, failedTasks } = outcome
  const ofRows = rows.flatMap(({ what, namedMs, healedMs, waits, gone }) => {
    const knownAfter = Math.min(namedMs ?? Number.POSITIVE_INFINITY, healedMs ?? Number.POSITIVE_INFINITY)
    const atMost = acts.find((act) => act.what === what)?.mayTake ?? 0
    const late = waits.filter((wait) => wait === undefined || wait > putMs).length
    return [
      ...(knownAfter > knownMs ? [`${what}: neither healed nor named within ${knownMs / 1000} s`] : []),
      ...(late > 0 ? [`${what}: ${late} of ${waits.length} pods had no PUT within ${putMs / 1000} s`] : []),
      ...(gone > atMost ? [`${what}: ${gone} nodes went, at most ${atMost} may`] : []),
    ]
  })
  const causes = Object.entries(failedTasks).filter(([cause]) => !allowedCauses.includes(cause))
  return [
    ...ofRows,
    ...causes.map(([cause, count]) => `${count} workflow tasks failed: ${cause}`),
    ...objections.map((objection) => `replay: ${printable(objection)}`),
    ...twice.map((name) => `VM ${name} was asked for twice`),
    ...odd.map((name) => `${name} is a VM or a NodeClaim without the other`),
    ...(isPaused ? [] : ['the pause of NodePool paused is lost']),
  ]
}
