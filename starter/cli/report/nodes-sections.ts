import { mostRefused } from '../../../core/history/record.ts'
import type { NodeCounts, ReasonCount } from '../../../core/history/report/nodes.ts'
import type { ReportFacts } from '../../../core/history/report/report.ts'
import type { Spread } from '../../../core/history/report/spread.ts'
import { type Cell, foreign, type Part, type Table, tableOf } from '../../document/document.ts'
import { counted, hoursText, latency, usd } from '../../document/words.ts'

/** Rows of a table that could have any number; JSON has all. */
export const mostRows = 50

/** How many NodeClaims there were, why they came and why they went. */
export function nodesSection({ nodes, nodePools, births, deaths }: ReportFacts): readonly Part[] {
  return [
    { heading: 'Nodes' },
    {
      title: 'NodeClaims by NodePool',
      header: ['NodePool', 'At the start', 'Created', 'Ended', 'At the end', 'Node-hours', 'USD'],
      rows: [...nodePools.map((pool) => countsRow(foreign(pool.nodePool), pool)), countsRow('all', nodes)],
    },
    reasonTable('Why NodeClaims were created', births, births_),
    reasonTable('Why NodeClaims ended', deaths, deaths_),
  ]
}

function countsRow(name: Cell, counts: NodeCounts): readonly Cell[] {
  const { atStart, created, ended, atEnd, nodeHours } = counts
  return [name, atStart, created, ended, atEnd, { number: hoursText(nodeHours) }, { number: usdText(counts) }]
}

/** A plus says that a part has no known price. */
export function usdText({ usd: known, unpricedHours }: Pick<NodeCounts, 'usd' | 'unpricedHours'>): string {
  if (unpricedHours === 0) return usd(known)
  return known === 0 ? 'unknown' : `${usd(known)} + unknown`
}

const births_: Readonly<Record<string, string>> = {
  pods: 'pods needed a node',
  replacement: 'replacement by a disruption command',
  static: 'replicas of a static NodePool',
  'by-hand': 'created by hand or by another controller',
}

const deaths_: Readonly<Record<string, string>> = {
  Empty: 'disruption: empty',
  Drifted: 'disruption: drifted',
  Underutilized: 'disruption: underutilized',
  interrupted: 'interrupted by Azure',
  repaired: 'node repair',
  expired: 'expired',
  forced: 'ended by force',
  'vm-lost': 'VM lost without a notice',
  'node-gone': 'Node gone, its VM was deleted',
  'scaled-down': 'its static NodePool was scaled down',
  'gave-up': 'gave up: it never became a node',
  deleted: 'somebody deleted the NodeClaim or the Node',
}

function reasonTable(
  title: string,
  rows: readonly ReasonCount[],
  words: Readonly<Record<string, string>>,
): Table | undefined {
  if (rows.length === 0) return undefined
  return {
    title,
    header: ['Reason', 'NodePool', 'NodeClaims'],
    rows: rows.map(({ reason, nodePool, nodes }) => [words[reason] ?? reason, foreign(nodePool), nodes]),
  }
}

/** How long launches took. */
export function launchesSection({ launches, latencies: { all, rows } }: ReportFacts): readonly Part[] {
  const { created, ready, underWay, gaveUp, leftEarly } = launches
  const title = { heading: 'Launch latency' }
  if (all === undefined) return [title, `No NodeClaim that was created became ready (${created} created).`]
  return [
    title,
    `Of ${counted(created, 'NodeClaim')} that were created, ${ready} became ready, ${underWay} are under way, ${gaveUp} gave up, ` +
      `and ${leftEarly} were deleted before. Steps follow each other: Azure accepts the VM, the Node registers, the Node is ready. ` +
      'Kubernetes keeps whole seconds. Launches that were refused are part of the first step.',
    {
      title: 'p50 / p90 / p99 of NodeClaims that became ready',
      ...tableOf(
        [
          ...rows.map((row) => ({ ...row, names: [foreign(row.nodePool), foreign(row.instanceType)] })),
          { ...all, names: ['all', 'all'] },
        ],
        [
          ['NodePool', ({ names: [nodePool] }) => nodePool],
          ['Size', ({ names: [, size] }) => size],
          ['NodeClaims', ({ ready: count }) => count],
          ['Created to accepted', ({ steps }) => spreadCell(steps.accepted)],
          ['To registered', ({ steps }) => spreadCell(steps.registered)],
          ['To ready', ({ steps }) => spreadCell(steps.initialized)],
          ['Created to ready', ({ steps }) => spreadCell(steps.total)],
          ['Longest', ({ steps }) => durationCell(steps.total?.max)],
        ],
      ),
    },
  ]
}

function spreadCell(spread: Spread | undefined): Cell {
  return { number: spread === undefined ? '-' : [spread.p50, spread.p90, spread.p99].map(latency).join(' / ') }
}

/** What Azure refused. */
export function refusalsSection({ refusals: { rows, cutShort } }: ReportFacts): readonly Part[] {
  const title = { heading: 'Capacity failures' }
  if (rows.length === 0) return [title, 'No launch failed.']
  return [
    title,
    cutShort === 0
      ? undefined
      : `A lifecycle keeps its latest ${mostRefused} refusals. ${counted(cutShort, 'NodeClaim')} had as many: there may have been more than is shown.`,
    leftOut(rows.length),
    {
      title: 'Failed launches by size and zone',
      ...tableOf(rows.slice(0, mostRows), [
        ['Size', ({ instanceType }) => foreign(instanceType)],
        ['Zone', ({ zone }) => foreign(zone)],
        ['Capacity type', ({ capacityType }) => foreign(capacityType)],
        ['Reason', ({ reason }) => foreign(reason)],
        ['Times', ({ times }) => times],
        ['NodeClaims', ({ nodeClaims }) => nodeClaims],
        ['Ready nevertheless', ({ becameReady }) => becameReady],
      ]),
    },
  ]
}

/** A line when a table does not have all rows. */
export function leftOut(rows: number): Part {
  return rows <= mostRows ? undefined : `${rows - mostRows} more rows are in the JSON.`
}

/** Returns a duration as a number; a dash where it is not known. */
export function durationCell(ms: number | undefined): Cell {
  return { number: ms === undefined ? '-' : latency(ms) }
}
