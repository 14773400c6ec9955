import { circumstances, table } from '../../bench/report.ts'
import type { PhaseRow, Result } from './matrix.ts'
import { describe, mayBeMissing, points, type Row, stages } from './rows.ts'
import { nameOf } from './steps.ts'

export interface Report {
  /** How many rows the recording gave. */
  readonly rows: number
  readonly results: readonly Result<Row>[]
  readonly phases: readonly Result<PhaseRow>[]
  /** Kinds of writes that came in these runs only, with no row. */
  readonly unrecorded: readonly string[]
  /** Steps of recorded kinds that no untroubled lifecycle has. */
  readonly onlyInRecovery: readonly string[]
  readonly left: Readonly<Record<string, number>>
  readonly minutes: number
  readonly limitSeconds: number
  readonly isMachines: boolean
}

/** The report as docs/crash-matrix.md shows it. */
export function asMarkdown(report: Report): string {
  const { rows, results, phases, unrecorded, onlyInRecovery, left, minutes, limitSeconds, isMachines } = report
  const all = [...results, ...phases]
  const counts = ['ok', 'stuck', 'leaked', 'duplicated', 'not reached']
    .map((verdict) => `${all.filter((one) => one.verdict === verdict).length} ${verdict}`)
    .join(', ')
  const rest = Object.entries(left)
    .map(([kind, count]) => `${count} ${kind}`)
    .join(', ')
  return [
    isMachines ? '# Crash matrix of AKS machines' : '# Crash matrix',
    '',
    `Made by \`npm run crash-matrix${isMachines ? ' -- --machines' : ''}\`. A proxy before the API server and another before Azure recorded one untroubled launch, replacement and termination of a node. Each write that they saw, by method, resource and what it changes, has a row for each of three points: the worker is killed with SIGKILL before the write is forwarded, after the`,
    'server has answered and no client got the answer, and after the answer was relayed. Joiner is started again, and from that start the seconds count until the NodePool is in the same end state as without the kill: the same nodes, VMs, NICs, disks, tokens and lifecycles, no running command, and no taint, condition or stamp of one. Several rows share one kill.',
    '',
    `${circumstances()}. The recording gave ${rows} rows; ${results.length} of them, and ${phases.length} with servers, were run in ${minutes.toFixed(0)} minutes, with ${limitSeconds} s for each: **${counts}**. In the end there are ${rest}.`,
    '',
    '## Joiner is killed',
    '',
    'Seconds until all was as without the kill, by when Joiner was killed; a word says what else became of it.',
    '',
    writesTable(results),
    '',
    '## A server is killed',
    '',
    'One claim is kept in each phase; then the server is killed and started again on the same data.',
    '',
    table(
      ['server', 'phase', 'result', 's'],
      phases.map(({ row, ...result }) => [row.server, row.phase, reported(result), secondsOf(result)]),
    ),
    '',
    '## Writes without a row',
    '',
    'Seen in recovery and at the start of a process only, since no untroubled lifecycle has them:',
    '',
    ...[...unrecorded, ...onlyInRecovery].map((step) => `- \`${step}\``),
    '',
  ].join('\n')
}

/** Returns the table of what became of kills at writes: a line for each write, a column for each point. */
export function writesTable(results: readonly Result<Row>[]): string {
  const order = ({ stage, step }: Row) => `${stages.indexOf(stage)} ${nameOf(step)}`
  const sorted = [...results].sort((one, other) => order(one.row).localeCompare(order(other.row)))
  const lines = [...Map.groupBy(sorted, ({ row }) => order(row)).values()].map((own) => {
    const [first] = own
    const cells = points.map((point) => {
      const found = own.find(({ row }) => row.point === point)
      return found === undefined ? '' : outcomeOf(found)
    })
    return first === undefined ? [] : [first.row.stage, `\`${nameOf(first.row.step)}\``, ...cells]
  })
  return table(['stage', 'write', ...points], lines)
}

const outcomeOf = (result: Omit<Result<unknown>, 'row'>) =>
  result.verdict === 'ok' ? secondsOf(result) : [reported(result), secondsOf(result)].join(' ').trim()

function reported({ verdict, detail }: Omit<Result<unknown>, 'row'>): string {
  return detail === undefined ? verdict : `**${verdict}**: ${detail}`
}

function secondsOf({ seconds }: Omit<Result<unknown>, 'row'>): string {
  return seconds === undefined ? '' : seconds.toFixed(1)
}

/** Kinds of writes that come at the start of a process. Any other kind that was not recorded is a gap in the recording. */
const atStart: readonly RegExp[] = [
  /configmaps joiner-(catalogue|prices|quota|image-versions)$/,
  /customresourcedefinitions/,
  /secrets joiner-conversion$/,
  /POST configmaps joiner-cost-N$/,
  /POST leases/,
]

/** All that is not as it should be, a line each. */
export function problemsOf({ results, phases, unrecorded, left }: Report): readonly string[] {
  const rest = Object.entries(left).filter(([, count]) => count > 0)
  return [
    ...results.filter(({ verdict }) => verdict !== 'ok').map((one) => `${describe(one.row)}: ${reported(one)}`),
    ...phases
      .filter(({ verdict }) => verdict !== 'ok')
      .map((one) => `${one.row.server} killed while ${one.row.phase}: ${reported(one)}`),
    ...unrecorded
      .filter((kind) => ![...atStart, mayBeMissing].some((pattern) => pattern.test(kind)))
      .map((kind) => `${kind}: a write without a row`),
    ...rest.map(([kind, count]) => `left in the end: ${count} ${kind}`),
  ]
}
