import { seconds, table } from '../../bench/report.ts'
import { printable } from '../../core/values/printable.ts'
import type { Corpus } from './corpus.ts'
import type { FileRun } from './file-runs.ts'
import type { HostileObject } from './hostile-object.ts'
import { innocentCount } from './innocents.ts'
import { type HostileReport, isTaken, type Sent } from './scenario.ts'

/** Within which innocent pods run on a machine that does nothing else. */
const promisedMs = 30_000

const kinds: readonly HostileObject['kind'][] = ['Pod', 'NodePool', 'NodeClaim', 'AKSNodeClass']

/** Returns the promises that a cluster did not keep, in words; none: all is well. `mostMs`: within which innocent pods run. */
export function brokenPromises(report: HostileReport, mostMs = promisedMs): readonly string[] {
  const { innocentsMs, innocentsLeft, restarted, writes, changed, violations, identity } = report
  return [
    ...(innocentsMs === undefined ? [`not all of the ${innocentCount} innocent pods run`] : []),
    ...(innocentsMs !== undefined && innocentsMs > mostMs
      ? [`the innocent pods run after ${seconds(innocentsMs)}, not within ${seconds(mostMs)}`]
      : []),
    ...(innocentsLeft < innocentCount ? [`${innocentsLeft} of ${innocentCount} innocent pods run in the end`] : []),
    ...restarted.map((name) => `process ${name} ended`),
    ...writes.map((write) => `a foreign VM was written: ${write}`),
    ...changed.map((name) => `${name} is not as it was`),
    ...violations.map((violation) => `custom data outside of the grammar: ${violation}`),
    ...identity.broken.map((what) => `a node's identity: ${what}`),
  ].map(printable)
}

/** Returns commands that did not end as they should. */
export function brokenRuns(runs: readonly FileRun[]): readonly string[] {
  return runs.flatMap(({ command, file, failure }) =>
    failure === undefined ? [] : [printable(`joiner ${command} of ${file}: ${failure}`)],
  )
}

/** What was sent, by kind. */
export function objectTable({ machines }: Corpus, { sent }: HostileReport): string {
  const rows = kinds.map((kind) => {
    const own = sent.filter(({ object }) => object.kind === kind)
    const [alone, beside] = [
      own.filter(({ isCompanion }) => !isCompanion),
      own.filter(({ isCompanion }) => isCompanion),
    ]
    return [kind, ...counts(alone), String(beside.length), String(beside.filter(isTaken).length)]
  })
  const vms = ['VM that is not Joiner’s', String(machines.length), String(machines.length), '0', '', '']
  return table(['kind', 'objects', 'taken', 'refused', 'that use them', 'of these taken'], [...rows, vms])
}

function counts(sent: readonly Sent[]): readonly string[] {
  const taken = sent.filter(isTaken).length
  return [sent.length, taken, sent.length - taken].map(String)
}

/** What became of the cluster. */
export function outcomeTable(report: HostileReport): string {
  return table(
    ['', 'measured', 'promised'],
    [
      [`until ${innocentCount} innocent pods run`, seconds(report.innocentsMs) || 'never', seconds(promisedMs)],
      ['innocent pods that run in the end', String(report.innocentsLeft), String(innocentCount)],
      ['processes that ended', String(report.restarted.length), '0'],
      ['requests to change VMs that are not Joiner’s', String(report.writes.length), '0'],
      ['of these VMs, NICs and disks changed', String(report.changed.length), '0'],
      ['places outside of the grammar in custom data', String(report.violations.length), '0'],
      ['promises that the identity of a node broke', String(report.identity.broken.length), '0'],
      ['its requests that the API server took', String(report.identity.taken.length), ''],
      ['its requests that the API server refused', String(report.identity.refused.length), ''],
      ['VMs that Joiner asked for', String(report.launched), ''],
      ['threads of schedulers that ended', String(report.threadsEnded), ''],
      ['hostile NodeClaims that wait for a person in the end', String(report.stayed.length), ''],
    ],
  )
}

/** What the commands did with the files. */
export function fileTable(runs: readonly FileRun[]): string {
  const rows = [...Map.groupBy(runs, ({ command }) => command)].map(([command, own]) => {
    const slowest = own.reduce((one, other) => (one.milliseconds < other.milliseconds ? other : one))
    const codes = [0, 1, 2].map((wanted) => String(own.filter(({ code }) => code === wanted).length))
    const failures = String(own.filter(({ failure }) => failure !== undefined).length)
    const peak = `${Math.round(Math.max(...own.map(({ peakMiB }) => peakMiB)))} MiB`
    return [command, String(own.length), ...codes, failures, `${seconds(slowest.milliseconds)} (${slowest.file})`, peak]
  })
  const head = ['joiner', 'files', 'code 0', 'code 1', 'code 2', 'failures', 'most processor time', 'largest peak']
  return table(head, rows)
}
