import type {
  DisruptionPlan,
  PlanBlocker,
  PlanBudget,
  PlannedCandidate,
  PlannedDisruption,
  PlannedReplacement,
} from '../../../core/disruption/plan/plan.ts'
import { causeTitle } from '../../../core/disruption/verdicts/cause-text.ts'
import { shownMove } from '../../answers/node-report.ts'
import type { Cell, Document, Part } from '../../document/document.ts'
import { counted, monthly } from '../../document/words.ts'

const mostPods = 20
const mostBlockers = 30
/** Things that could have been done, of each node that stays. */
const mostReasons = 2

/** A plan for people. `all`: every pod that moves and every node that stays, however many. */
export function planDocument(plan: DisruptionPlan, all = false): Document {
  return [
    head(plan),
    ...plan.commands.map((command, at) => [commandPart(command, at + 1, all)]),
    costParts(plan),
    budgetLines(plan.budgets),
    blockerParts(plan, all),
  ]
}

/** A plan for scripts, which can be applied: the causes with their texts. */
export function planJson({ blockers, ...plan }: DisruptionPlan) {
  const shown = blockers.map(({ moves, ...blocker }) => ({ ...blocker, moves: moves.map(shownMove) }))
  return { ...plan, blockers: shown }
}

function head({ id, commands, cost, createdAt, by, pauses, warnings, leftOut }: DisruptionPlan): readonly Part[] {
  const going = commands.reduce((sum, { candidates }) => sum + candidates.length, 0)
  const coming = commands.reduce((sum, { replacements }) => sum + replacements.length, 0)
  const what =
    going === 0
      ? 'there is nothing to do'
      : `${counted(going, 'node')} would go, ${counted(coming, 'new node')} would come, ${saved(cost.nodes.before - cost.nodes.after)}`
  return [
    ...warnings.map((warning) => `NOTE    ${warning}`),
    `PLAN    ${id} (${createdAt.slice(0, 19)}Z${by === undefined ? '' : `, ${by}`}): ${what}`,
    ...pauses.map((pause) => `PAUSED  ${pause}`),
    leftOut === undefined || leftOut.commands === 0
      ? undefined
      : `CUT     ${counted(leftOut.commands, 'further command')} found no room in the plan and cannot be applied with it; plan a part by --nodepool, --node or --budget`,
  ]
}

function saved(perHour: number): string {
  return perHour < 0 ? `${monthly(-perHour)} USD a month more` : `${monthly(perHour)} USD a month saved`
}

/** A command with its nodes and the pods that move. `all`: every one of them. */
export function commandPart(command: PlannedDisruption, number: number, all: boolean): Part {
  const { candidates, replacements } = command
  const moves = movesOf(candidates)
  const shown = all ? moves : moves.slice(0, mostPods)
  const more = moves.length - shown.length
  return {
    title: title(command, number),
    items: [
      {
        header: ['', 'NODE', 'NODEPOOL', 'TYPE', 'CAPACITY', 'ZONE', 'USD/MONTH', 'PODS'],
        drop: ['ZONE', 'CAPACITY', 'NODEPOOL'],
        rows: [...candidates.map(candidateRow), ...replacements.map(replacementRow)],
      },
      { rows: shown },
      more > 0 ? `and ${counted(more, 'pod')} more (--all)` : undefined,
    ],
  }
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
  return ['-', node, nodePool, instanceType, capacityType, zone, priceText(price), pods.length]
}

function replacementRow(replacement: PlannedReplacement): readonly Cell[] {
  const { number, nodePool, instanceTypes, otherTypes, capacityTypes, zones, price, pods } = replacement
  const [cheapest = 'any'] = instanceTypes
  const others = instanceTypes.length - 1 + otherTypes
  return [
    '+',
    newNode(number),
    nodePool,
    others > 0 ? `${cheapest} or ${counted(others, 'other')}` : cheapest,
    capacityTypes.join(', ') || 'any',
    zones.join(', ') || 'any',
    priceText(price),
    pods,
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

function costParts({ cost }: DisruptionPlan): readonly Part[] {
  const { nodes, cluster, unpriced } = cost
  const row = (what: string, { before, after }: typeof nodes) => [
    what,
    monthly(before),
    monthly(after),
    monthly(after - before),
  ]
  return [
    {
      header: ['USD/MONTH', 'BEFORE', 'AFTER', 'CHANGE'],
      rows: [
        ...(nodes.before === 0 && nodes.after === 0 ? [] : [row('these nodes', nodes)]),
        row('whole cluster', cluster),
      ],
    },
    unpriced === 0 ? undefined : `${counted(unpriced, 'node')} without a known price counted as nothing`,
  ]
}

/** Budgets that a plan uses up, a line each. */
export function budgetLines(budgets: readonly PlanBudget[]): readonly string[] {
  return budgets.map(({ nodePool, reason, nodes, allowed, disrupted }) => {
    const before = disrupted === 0 ? '' : `, ${disrupted} of them before this plan`
    return `BUDGET  NodePool ${nodePool} allows ${allowed} of its ${counted(nodes, 'node')} at once for ${reason}; all are taken${before}`
  })
}

function blockerParts({ blockers, leftOut }: DisruptionPlan, all: boolean): readonly Part[] {
  if (blockers.length === 0) return []
  const shown = all ? blockers : blockers.slice(0, mostBlockers)
  const more = blockers.length - shown.length + (leftOut?.blockers ?? 0)
  return [
    { heading: 'Nodes that stay, what each costs, and why' },
    {
      header: ['NODE', 'NODEPOOL', 'USD/MONTH', 'WHY'],
      drop: ['NODEPOOL'],
      rows: shown.map((each) => blockerRow(each, all)),
    },
    more > 0 ? `and ${counted(more, 'node')} more${all ? '' : ' (--all)'}` : undefined,
  ]
}

function blockerRow(
  { node, nodeClaim, nodePool, price, moves, waitsUntil }: PlanBlocker,
  all: boolean,
): readonly string[] {
  const wait =
    waitsUntil === undefined
      ? []
      : [`waits until ${waitsUntil.slice(0, 19)}Z (unless --ignore-consolidate-after is given)`]
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
