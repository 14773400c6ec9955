import { type Cell, type Document, foreign, type Part, section } from '../../document/document.ts'
import { counted, few, monthly, percent, shareText } from '../../document/words.ts'
import { yamlText } from '../../document/yaml-text.ts'
import { budgetLines, commandPart } from '../operate/plan-text.ts'
import type { Advice, PoolBill } from './advice.ts'
import type { Holder, StayingNodes, WaitingPods } from './planner/pass.ts'

const mostMoves = 20
const mostHolders = 10
const mostSizes = 3

interface Extent {
  /** Every move and everything that holds nodes, however many. */
  readonly all: boolean
  /** With the manifests of proposed NodePools, which a page folds. */
  readonly isPage: boolean
}

/** The report for people. */
export function adviceDocument(advice: Advice, { all, isPage }: Extent): Document {
  return [
    headParts(advice),
    billParts(advice),
    passParts(advice, all),
    holderParts(advice.holders, all),
    waitingParts(advice.waiting),
    nodePoolParts(advice, isPage),
    [section('Not read', advice.unread)],
    [section('Notes', advice.remarks)],
  ]
}

function headParts({ server, at, region, scalers, pass, bill }: Advice): readonly Part[] {
  const saved =
    pass === undefined
      ? 'what could be saved is not known'
      : `one consolidation pass would save ${monthly(pass.savedPerHour)} USD a month${shareText(pass.savedPerHour, bill.perHour)}`
  return [
    {
      heading: [
        "Joiner's advice on ",
        foreign(server),
        `${region === undefined ? '' : ` in ${region}`}, ${timeOf(at)}`,
      ],
      isOfAll: true,
    },
    `${counted(bill.nodes, 'node')} cost ${monthly(bill.perHour)} USD a month; ${saved}.`,
    ...scalers.map(({ kind, evidence }) => `SCALED BY  ${kind}: ${evidence.join('; ')}`),
  ]
}

const timeOf = (at: string) => `${at.slice(0, 19)}Z`

function billParts({ bill, prices }: Advice): readonly Part[] {
  const age = prices.readAt === undefined ? '' : `, read at ${timeOf(prices.readAt)}`
  const unpriced = bill.pools.flatMap((pool) => pool.unpriced)
  return [
    { heading: 'The monthly bill by pool' },
    {
      header: ['POOL', 'NODES', 'SPOT', 'CPU REQUESTED', 'MEMORY', 'USD/MONTH', 'SHARE', 'SIZES'],
      drop: ['SHARE', 'SPOT', 'CPU REQUESTED', 'MEMORY'],
      rows: bill.pools.map((pool) => poolRow(pool, bill.perHour)),
    },
    `Prices: ${prices.text}${age}. Disks, networks and the control plane are not in it.`,
    unpriced.length === 0
      ? undefined
      : `${counted(unpriced.length, 'node')} without a known price counted as nothing: ${few(unpriced, 5)}`,
  ]
}

function poolRow(pool: PoolBill, total: number): readonly Cell[] {
  const { nodes, spot, perHour, sizes, cpuRequested, memoryRequested } = pool
  const shown = sizes.slice(0, mostSizes).map((one) => `${one.nodes} ${one.size}`)
  const more = sizes.length - shown.length
  return [
    poolName(pool),
    nodes,
    spot,
    percent(cpuRequested),
    percent(memoryRequested),
    { number: monthly(perHour) },
    total > 0 ? { share: perHour / total } : undefined,
    `${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''}`,
  ]
}

function passParts({ pass, bill }: Advice, all: boolean): readonly Part[] {
  if (pass === undefined) return []
  const { commands, savedPerHour, nodesRemoved, nodesAdded, unpriced, leftOut, budgets } = pass
  if (commands.length === 0) return ['One consolidation pass would change nothing.', ...stayingParts(pass.staying)]
  const shown = all ? commands : commands.slice(0, mostMoves)
  const more = commands.length - shown.length + leftOut
  return [
    `One consolidation pass would remove ${counted(nodesRemoved, 'node')} and add ${nodesAdded}: ${monthly(savedPerHour)} USD a month saved${shareText(savedPerHour, bill.perHour)}.`,
    ...shown.map((command, at) => commandPart(command, at + 1, all)),
    more > 0 ? `and ${counted(more, 'command')} more${all ? '' : ' (--all)'}` : undefined,
    unpriced.length === 0
      ? undefined
      : `Nodes without a known price among them count as no saving: ${few(unpriced, 5)}`,
    ...(budgets.length === 0 ? [] : [...budgetLines(budgets), 'Without these budgets: --budget 100%']),
    ...stayingParts(pass.staying),
  ]
}

function stayingParts(staying: readonly StayingNodes[]): readonly Part[] {
  if (staying.length === 0) return []
  const rows = staying.map((one) => [one.nodes, { number: monthly(one.perHour) }, one.firstNode, one.example])
  return [
    'Nodes that stay, by the first cause:',
    { header: ['NODES', 'USD/MONTH', 'FIRST NODE', 'ITS CAUSE'], drop: ['FIRST NODE'], rows },
  ]
}

function holderParts(holders: readonly Holder[], all: boolean): readonly Part[] {
  if (holders.length === 0) return []
  const shown = all ? holders : holders.slice(0, mostHolders)
  const more = holders.length - shown.length
  const rows = shown.map((one) => [
    holderName(one),
    one.nodes,
    { number: monthly(one.perHour) },
    { number: monthly(one.alonePerHour) },
    few(one.firstNodes, 3),
  ])
  return [
    { heading: 'What keeps nodes, and what these cost at most' },
    { header: ['WHAT', 'NODES', 'USD/MONTH', 'NOTHING ELSE KEEPS', 'FIRST NODES'], drop: ['FIRST NODES'], rows },
    more > 0 ? `and ${more} more (--all)` : undefined,
  ]
}

function waitingParts(waiting: readonly WaitingPods[]): readonly Part[] {
  if (waiting.length === 0) return []
  const items = waiting.map(({ outcome, count, pods, finding, funnel }): Part => {
    const title = `${counted(count, 'pod')} (${few(pods, 3)}${count > 3 ? ', ...' : ''}), ${outcome}: ${finding}`
    return funnel.length === 0 ? title : { title, items: funnel }
  })
  return [{ title: 'Pods that wait for a node:', items }]
}

function nodePoolParts({ nodePools }: Advice, isPage: boolean): readonly Part[] {
  const items = nodePools.map(({ name, notes, nodePool, nodeClass }): Part => {
    const title = `NodePool ${name}: ${notes.join('; ')}`
    return isPage ? { title, code: `${yamlText(nodePool)}---\n${yamlText(nodeClass)}` } : title
  })
  const title =
    'NodePools in place of agent pools, as which the nodes are counted above (--write-nodepools FOLDER writes them):'
  return items.length === 0 ? [] : [{ title, items }]
}

/** A pool as its row names it. */
function poolName({ kind, name }: Pick<PoolBill, 'kind' | 'name'>): string {
  return kind === 'other' ? 'without a pool' : `${kind} ${name}`
}

/** What keeps nodes, as its row names it. */
function holderName({ kind, name, annotation }: Holder): string {
  if (kind === 'PodDisruptionBudget') return `${kind} ${name}`
  return kind === 'node annotation' ? `${annotation} on nodes` : `${annotation} on pods of ${name}`
}
