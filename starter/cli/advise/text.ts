import { printable } from '../../../core/values/printable.ts'
import { counted, few, monthly, percent, shareText } from '../../document/words.ts'
import { budgetsText, commandText } from '../operate/plan-text.ts'
import { aligned } from '../shared/table.ts'
import type { Advice } from './advice.ts'
import type { PoolBill } from './bill.ts'
import { holderName, poolName } from './names.ts'
import type { Holder } from './planner/held.ts'
import type { StayingNodes } from './planner/staying.ts'
import type { WaitingPods } from './planner/waiting.ts'

const mostMoves = 20
const mostHolders = 10
const mostSizes = 3

/** The report for people. `all`: every move and everything that holds nodes, however many. */
export function adviceText(advice: Advice, all = false): string {
  const sections = [
    headText(advice),
    billText(advice),
    passText(advice, all),
    holdersText(advice.holders, all),
    waitingText(advice.waiting),
    nodePoolsText(advice),
    listText('Not read:', advice.unread),
    listText('Notes:', advice.remarks),
  ]
  return sections.filter((text) => text !== '').join('\n\n')
}

function headText({ server, at, region, scalers, pass, bill }: Advice): string {
  const saved =
    pass === undefined
      ? 'what could be saved is not known'
      : `one consolidation pass would save ${monthly(pass.savedPerHour)} USD a month${shareText(pass.savedPerHour, bill.perHour)}`
  return [
    `${printable(server)}${region === undefined ? '' : ` in ${printable(region)}`}, ${at.slice(0, 19)}Z`,
    `${counted(bill.nodes, 'node')} cost ${monthly(bill.perHour)} USD a month; ${saved}.`,
    ...scalers.map(({ kind, evidence }) => `SCALED BY  ${kind}: ${evidence.map(printable).join('; ')}`),
  ].join('\n')
}

function billText({ bill, prices }: Advice): string {
  const rows = bill.pools.map(poolRow)
  const age = prices.readAt === undefined ? '' : `, read at ${prices.readAt.slice(0, 19)}Z`
  const unpriced = bill.pools.flatMap((pool) => pool.unpriced)
  return [
    'The monthly bill by pool:',
    aligned([['POOL', 'NODES', 'SPOT', 'CPU REQUESTED', 'MEMORY', 'USD/MONTH', 'SIZES'], ...rows]),
    `Prices: ${printable(prices.text)}${age}. Disks, networks and the control plane are not in it.`,
    ...(unpriced.length === 0
      ? []
      : [`${counted(unpriced.length, 'node')} without a known price counted as nothing: ${few(unpriced, 5)}`]),
  ].join('\n')
}

function poolRow(pool: PoolBill): readonly string[] {
  const { nodes, spot, perHour, sizes, cpuRequested, memoryRequested } = pool
  const shown = sizes.slice(0, mostSizes).map((one) => `${one.nodes} ${one.size}`)
  const more = sizes.length - shown.length
  return [
    poolName(pool),
    String(nodes),
    String(spot),
    percent(cpuRequested),
    percent(memoryRequested),
    monthly(perHour),
    `${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''}`,
  ]
}

function passText({ pass, bill }: Advice, all: boolean): string {
  if (pass === undefined) return ''
  const { commands, savedPerHour, nodesRemoved, nodesAdded, unpriced, leftOut, budgets } = pass
  if (commands.length === 0)
    return ['One consolidation pass would change nothing.', ...stayingLines(pass.staying)].join('\n')
  const shown = all ? commands : commands.slice(0, mostMoves)
  const more = commands.length - shown.length + leftOut
  return [
    `One consolidation pass would remove ${counted(nodesRemoved, 'node')} and add ${nodesAdded}: ${monthly(savedPerHour)} USD a month saved${shareText(savedPerHour, bill.perHour)}.`,
    ...shown.map((command, at) => commandText(command, at + 1, all)),
    ...(more > 0 ? [`and ${counted(more, 'command')} more${all ? '' : ' (--all)'}`] : []),
    ...(unpriced.length === 0
      ? []
      : [`Nodes without a known price among them count as no saving: ${few(unpriced, 5)}`]),
    ...(budgets.length === 0 ? [] : [budgetsText(budgets), 'Without these budgets: --budget 100%']),
    ...stayingLines(pass.staying),
  ].join('\n')
}

function stayingLines(staying: readonly StayingNodes[]): readonly string[] {
  if (staying.length === 0) return []
  const rows = staying.map((one) => [String(one.nodes), monthly(one.perHour), one.firstNode, one.example])
  return ['Nodes that stay, by the first cause:', aligned([['NODES', 'USD/MONTH', 'FIRST NODE', 'ITS CAUSE'], ...rows])]
}

function holdersText(holders: readonly Holder[], all: boolean): string {
  if (holders.length === 0) return ''
  const shown = all ? holders : holders.slice(0, mostHolders)
  const more = holders.length - shown.length
  const rows = shown.map((one) => [
    holderName(one),
    String(one.nodes),
    monthly(one.perHour),
    monthly(one.alonePerHour),
    few(one.firstNodes, 3),
  ])
  return [
    'What keeps nodes, and what these cost at most:',
    aligned([['WHAT', 'NODES', 'USD/MONTH', 'NOTHING ELSE KEEPS', 'FIRST NODES'], ...rows]),
    ...(more > 0 ? [`and ${more} more (--all)`] : []),
  ].join('\n')
}

function waitingText(waiting: readonly WaitingPods[]): string {
  if (waiting.length === 0) return ''
  return [
    'Pods that wait for a node:',
    ...waiting.flatMap(({ outcome, count, pods, finding, funnel }) => [
      `  ${counted(count, 'pod')} (${few(pods, 3)}${count > 3 ? ', ...' : ''}), ${outcome}: ${printable(finding)}`,
      ...funnel.map((line) => `    ${printable(line)}`),
    ]),
  ].join('\n')
}

function nodePoolsText({ nodePools }: Advice): string {
  if (nodePools.length === 0) return ''
  return [
    'NodePools in place of agent pools, as which the nodes are counted above (--write-nodepools FOLDER writes them):',
    ...nodePools.map(({ name, notes }) => `  NodePool ${printable(name)}: ${notes.map(printable).join('; ')}`),
  ].join('\n')
}

function listText(title: string, lines: readonly string[]): string {
  return lines.length === 0 ? '' : [title, ...lines.map((line) => `  ${printable(line)}`)].join('\n')
}
