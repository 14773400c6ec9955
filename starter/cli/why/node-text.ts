import { type BlockingPod, podDisruptionBudgetsOf, podsOf } from '../../../core/disruption/verdicts/cause.ts'
import type { Move } from '../../../core/disruption/verdicts/verdict.ts'
import { type Document, type Part, section } from '../../document/document.ts'
import { ago, counted, monthly } from '../../document/words.ts'
import type { EventFacts } from '../../picture/events.ts'
import type { ShownMove } from '../shared/shown-move.ts'
import type { CommandFacts, Evaluated, NodeReport } from './node-report.ts'

/** The report on a node for people. `now`: epoch ms. */
export function nodeDocument(report: NodeReport, now: number): Document {
  return [
    [
      heading(report),
      ...causeParts(report, now),
      section('what would let it go', report.remedies),
      section('looked at again', report.again),
      eventSection(report.events, now),
      section('not known', report.notRead),
    ],
  ]
}

/** How a node is, and what keeps it so, wherever it is shown. */
export function causeParts({ command, evaluation, warning, pauses, state, drain = [] }: NodeReport, now: number) {
  return [
    section('state', [...state, command && commandText(command), ...pauses]),
    section('its drain', drain),
    section(evaluation === undefined ? 'evaluation' : evaluationTitle(evaluation, now), [
      warning && `! ${warning}`,
      ...(evaluation?.moves ?? []).map(movePart),
    ]),
  ]
}

function heading(report: NodeReport): Part {
  const { node, nodeClaim, nodePool, instanceType, zone, capacityType, price, pods, movingPods, headline } = report
  const name = node === undefined ? `NodeClaim ${nodeClaim} without a Node yet` : `Node ${node}`
  const claim = node === undefined || nodeClaim === undefined ? '' : ` (NodeClaim ${nodeClaim})`
  const facts = [
    ...(nodePool === undefined ? [] : [`NodePool ${nodePool}`]),
    ...[instanceType, zone, capacityType].filter((one) => one !== undefined),
    ...(price === undefined ? [] : [`${monthly(price)} USD a month`]),
    `${counted(pods, 'pod')}, of which ${movingPods} would have to move`,
  ]
  return { title: `${name}${claim}`, items: [headline, facts.join(', ')] }
}

function commandText({ id, workflow, reason, since }: CommandFacts): string {
  const when = since === undefined ? '' : ` since ${since}`
  return `being disrupted by ${id}${reason === undefined ? '' : ` (${reason})`}${when}: workflow ${workflow}`
}

function evaluationTitle({ lastMs, since }: Evaluated, now: number): string {
  const last = lastMs === undefined ? 'last evaluation' : `last evaluation (${ago(now - lastMs)} ago)`
  return `${last}, the same since ${since.replace(/\.\d+Z$/, 'Z')}`
}

const words: Readonly<Record<Move['outcome'], string>> = {
  chosen: 'chosen',
  hindered: 'not possible',
  budget: 'waits for budgets',
  rejected: 'not worth it',
  blocked: 'blocked',
  unsuitable: 'does not apply',
  'not-looked-at': 'nothing found',
}

/** One thing that could have been done, with what stood in its way. */
export function movePart(move: ShownMove): Part {
  const { methods, outcome, cause, message, savingsForgone } = move
  const { pods, more } = podsOf(cause)
  const lost = savingsForgone === undefined ? '' : ` [up to ${monthly(savingsForgone)} USD a month not saved]`
  const title = `${methods.join(', ')}: ${words[outcome]}: ${message}${lost}`
  const behind = [
    ...pods.map(podText),
    ...(more === 0 ? [] : [`and ${counted(more, 'pod')} more`]),
    ...podDisruptionBudgetsOf(cause).map((name) => `PodDisruptionBudget ${name}`),
  ]
  return behind.length === 0 ? title : { title, items: behind }
}

function podText({ name, constraint }: BlockingPod): string {
  return `pod ${name}${constraint === undefined ? '' : `: ${constraint.trim()}`}`
}

export function eventSection(events: readonly EventFacts[], now: number): Part {
  return section(
    'events',
    events.map(
      ({ at, about, reason, message, times }) =>
        `${ago(now - at)} ago  ${about}  ${reason}${times > 1 ? ` (${times} times)` : ''}: ${message}`,
    ),
  )
}
