import type {
  DisruptionPlan,
  PlanBlocker,
  PlanBudget,
  PlannedCandidate,
  PlannedDisruption,
  PlannedReplacement,
} from '../../../core/disruption/plan/plan.ts'
import { causeTitle } from '../../../core/disruption/verdicts/cause-text.ts'
import { printable } from '../../../core/values/printable.ts'
import { counted, monthly } from '../../document/words.ts'
import { shownMove } from '../shared/shown-move.ts'
import { aligned } from '../shared/table.ts'

const mostPods = 20
const mostBlockers = 30
/** Things that could have been done, of each node that stays. */
const mostReasons = 2

/** A plan for people. `all`: every pod that moves and every node that stays, however many. */
export function planText(plan: DisruptionPlan, all = false): string {
  const sections = [
    head(plan),
    ...plan.commands.map((command, at) => commandText(command, at + 1, all)),
    costText(plan),
    budgetsText(plan.budgets),
    blockersText(plan, all),
  ]
  return sections.filter((text) => text !== '').join('\n\n')
}

/** A plan for scripts, which can be applied: the causes with their texts. */
export function planJson({ blockers, ...plan }: DisruptionPlan): object {
  const shown = blockers.map(({ moves, ...blocker }) => ({ ...blocker, moves: moves.map(shownMove) }))
  return { ...plan, blockers: shown }
}

function head({ id, commands, cost, createdAt, by, pauses, warnings, leftOut }: DisruptionPlan): string {
  const going = commands.reduce((sum, { candidates }) => sum + candidates.length, 0)
  const coming = commands.reduce((sum, { replacements }) => sum + replacements.length, 0)
  const what =
    going === 0
      ? 'there is nothing to do'
      : `${counted(going, 'node')} would go, ${counted(coming, 'new node')} would come, ${saved(cost.nodes.before - cost.nodes.after)}`
  return [
    ...warnings.map((warning) => `NOTE    ${printable(warning)}`),
    `PLAN    ${id} (${createdAt.slice(0, 19)}Z${by === undefined ? '' : `, ${printable(by)}`}): ${what}`,
    ...pauses.map((pause) => `PAUSED  ${printable(pause)}`),
    ...(leftOut === undefined || leftOut.commands === 0
      ? []
      : [
          `CUT     ${counted(leftOut.commands, 'further command')} found no room in the plan and cannot be applied with it; plan a part by --nodepool, --node or --budget`,
        ]),
  ].join('\n')
}

function saved(perHour: number): string {
  return perHour < 0 ? `${monthly(-perHour)} USD a month more` : `${monthly(perHour)} USD a month saved`
}

/** A command with its nodes and the pods that move. `all`: every one of them. */
export function commandText(command: PlannedDisruption, number: number, all: boolean): string {
  const { candidates, replacements } = command
  const rows = [...candidates.map(candidateRow), ...replacements.map(replacementRow)]
  const table = aligned([['', 'NODE', 'NODEPOOL', 'TYPE', 'CAPACITY', 'ZONE', 'USD/MONTH', 'PODS'], ...rows])
  const moves = movesOf(candidates)
  const shown = all ? moves : moves.slice(0, mostPods)
  const more = moves.length - shown.length
  const lines = [
    table,
    ...(shown.length === 0 ? [] : [aligned(shown)]),
    ...(more > 0 ? [`and ${counted(more, 'pod')} more (--all)`] : []),
  ]
  return [
    title(command, number),
    ...lines.flatMap((text) => text.split('\n')).map((line) => `  ${line}`.trimEnd()),
  ].join('\n')
}

function title({ reason, method, decision, candidates, savings }: PlannedDisruption, number: number): string {
  const how: Readonly<Record<PlannedDisruption['decision'], string>> = {
    delete: 'deleted',
    replace: 'replaced',
    'terminate-first': 'deleted before its replacement comes',
    reboot: 'rebooted',
  }
  return `${number}. ${reason} (${method}): ${counted(candidates.length, 'node')} ${how[decision]}, ${saved(savings)}`
}

function candidateRow({ node, nodePool, instanceType, capacityType, zone, price, pods }: PlannedCandidate) {
  return ['-', node, nodePool, instanceType, capacityType, zone, priceText(price), String(pods.length)]
}

function replacementRow(replacement: PlannedReplacement): readonly string[] {
  const { number, nodePool, instanceTypes, otherTypes, capacityTypes, zones, price, pods } = replacement
  const [cheapest = 'any'] = instanceTypes
  const others = instanceTypes.length - 1 + otherTypes
  return [
    '+',
    newNode(number),
    nodePool,
    others > 0 ? `${cheapest} or ${others} other${others === 1 ? '' : 's'}` : cheapest,
    capacityTypes.join(', ') || 'any',
    zones.join(', ') || 'any',
    priceText(price),
    String(pods),
  ]
}

const newNode = (number: number) => `new node ${number}`
const priceText = (price: number) => (price === 0 ? 'unknown' : monthly(price))

function movesOf(candidates: readonly PlannedCandidate[]): readonly (readonly string[])[] {
  return candidates.flatMap(({ node, pods }) =>
    pods.map(({ pod, node: to, newNode: number }) => [
      `pod ${pod}`,
      node,
      `-> ${to ?? (number === undefined ? 'any node' : newNode(number))}`,
    ]),
  )
}

function costText({ cost }: DisruptionPlan): string {
  const { nodes, cluster, unpriced } = cost
  const row = (what: string, { before, after }: typeof nodes) => [
    what,
    monthly(before),
    monthly(after),
    monthly(after - before),
  ]
  const table = aligned([
    ['USD/MONTH', 'BEFORE', 'AFTER', 'CHANGE'],
    ...(nodes.before === 0 && nodes.after === 0 ? [] : [row('these nodes', nodes)]),
    row('whole cluster', cluster),
  ])
  return unpriced === 0 ? table : `${table}\n${counted(unpriced, 'node')} without a known price counted as nothing`
}

/** Budgets that a plan uses up, a line each. */
export function budgetsText(budgets: readonly PlanBudget[]): string {
  return budgets
    .map(({ nodePool, reason, nodes, allowed, disrupted }) => {
      const before = disrupted === 0 ? '' : `, ${disrupted} of them before this plan`
      return `BUDGET  NodePool ${nodePool} allows ${allowed} of its ${counted(nodes, 'node')} at once for ${reason}; all are taken${before}`
    })
    .join('\n')
}

function blockersText({ blockers, leftOut }: DisruptionPlan, all: boolean): string {
  if (blockers.length === 0) return ''
  const shown = all ? blockers : blockers.slice(0, mostBlockers)
  const more = blockers.length - shown.length + (leftOut?.blockers ?? 0)
  return [
    'Nodes that stay, what each costs, and why:',
    aligned([['NODE', 'NODEPOOL', 'USD/MONTH', 'WHY'], ...shown.map((each) => blockerRow(each, all))]),
    ...(more > 0 ? [`and ${counted(more, 'node')} more${all ? '' : ' (--all)'}`] : []),
  ].join('\n')
}

function blockerRow(
  { node, nodeClaim, nodePool, price, moves, waitsUntil }: PlanBlocker,
  all: boolean,
): readonly string[] {
  const wait = waitsUntil === undefined ? [] : [`waits until ${waitsUntil.slice(0, 19)}Z (--now does not)`]
  const reasons = [...wait, ...new Set(moves.map(moveText))]
  return [node ?? nodeClaim, nodePool, priceText(price), (all ? reasons : reasons.slice(0, mostReasons)).join('; ')]
}

/** On one line; the messages of what is blocked name pods and PodDisruptionBudgets already. */
function moveText({ cause }: PlanBlocker['moves'][number]): string {
  const title = causeTitle(cause)
  if (cause.kind !== 'pods-without-place') return title
  const [first] = cause.pods
  const more = cause.count - 1
  const constraint = first?.constraint === undefined ? '' : ` (${first.constraint.trim()})`
  return `${title}: ${first?.name}${constraint}${more === 0 ? '' : ` and ${counted(more, 'pod')} more`}`
}
