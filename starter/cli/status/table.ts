import { withheldRemedy, withheldText } from '../../../api/withheld-machines.ts'
import { pauseText } from '../../../core/pauses/pauses.ts'
import { printable } from '../../../core/values/printable.ts'
import { ago, counted, few, monthly, shortened } from '../../document/words.ts'
import { pauseJson } from '../operate/pause-json.ts'
import { quarantineJson } from '../quarantine/table.ts'
import type { LeaseReport } from '../shared/leases.ts'
import { aligned } from '../shared/table.ts'
import { findingsJson } from '../shared/temporal-findings.ts'
import { pendingJson, pendingText } from './pending.ts'
import {
  type ClusterReport,
  pausesOf,
  poolSummaries,
  problemsOf,
  type StatusReport,
  unknownRepairer,
} from './status.ts'

const phaseOrder = ['Launching', 'Registering', 'Initializing', 'Ready', 'Rebooting', 'Draining', 'Terminating', 'Gone']
const mostCommands = 20
const mostWithheld = 20

/** The status for people: what is broken first. `now`: epoch ms. */
export function statusText(report: StatusReport, cluster: ClusterReport, now: number): string {
  const sections = [
    problems(report, cluster),
    [loops(report, now), lastPass(cluster, now)].filter((text) => text !== '').join('\n'),
    pauses(report, cluster),
    leases(cluster),
    quarantined(cluster),
    withheld(cluster, now),
    cluster.refusedCancellations ? `REFUSED  ${printable(cluster.refusedCancellations)}` : '',
    pendingText(cluster),
    commands(report, now),
    nodes(cluster),
  ]
  return sections.filter((lines) => lines !== '').join('\n\n')
}

function problems(report: StatusReport, cluster: ClusterReport): string {
  return problemsOf(report, cluster)
    .map((line) => `BROKEN  ${printable(line)}`)
    .join('\n')
}

function loops({ loops }: StatusReport, now: number): string {
  return aligned([
    ['LOOP', 'SINCE', 'DOING'],
    ...loops.map(({ loop, state, doing, sinceMs }) => [
      loop,
      sinceMs === undefined ? '-' : ago(now - sinceMs),
      doing ?? state,
    ]),
  ])
}

function lastPass({ lastPass: last }: ClusterReport, now: number): string {
  if (last === undefined) return ''
  const found = last.commands === 0 ? 'nothing to do' : counted(last.commands, 'command')
  return `disruption last evaluated the cluster ${ago(now - last.atMs)} ago: ${found}`
}

function pauses({ loops }: StatusReport, cluster: ClusterReport): string {
  const lines = loops.flatMap((each) => {
    const known = pausesOf(each, cluster)
    return known === undefined
      ? [`whether ${each.loop} is paused is not known: neither the loop nor the cluster's ConfigMap could be asked`]
      : known.map((pause) => `PAUSED  ${printable(pauseText(each.loop, pause))}`)
  })
  return lines.length === 0 ? 'nothing is paused' : lines.join('\n')
}

function leases({ leases }: ClusterReport): string {
  if (leases === undefined) return "who holds Joiner's Leases is not known"
  return aligned([
    ['LEASE', 'HELD BY', 'FOR'],
    ...leases.map(({ lease, unread, holder, heldMs }) => [
      lease,
      unread === undefined ? shortened(printable(holder ?? 'nobody'), 80) : 'not known',
      heldMs === undefined ? '-' : ago(heldMs),
    ]),
  ])
}

function quarantined({ quarantined: entries = [] }: ClusterReport): string {
  if (entries.length === 0) return ''
  const names = entries.map(({ id }) => printable(id))
  return `QUARANTINED  ${few(names, 3)}: left out of planning, see joiner quarantine list`
}

/** Each machine by name: its cost goes on until an operator decides about it. */
function withheld({ withheld: found }: ClusterReport, now: number): string {
  if (found === undefined || found.count === 0) return ''
  const more = found.count - mostWithheld
  return [
    `WITHHELD  ${counted(found.count, 'machine')} without a NodeClaim kept since pods run there, ${found.costPerDay.toFixed(2)} USD a day${found.atMs === undefined ? '' : `, as of ${ago(now - found.atMs)} ago`}`,
    ...found.machines.slice(0, mostWithheld).map((one) => `  ${printable(withheldText(one))}`),
    ...(more > 0 ? [`  and ${more} more, see --output json`] : []),
    ...(found.doubt === undefined ? [] : [`  ${printable(found.doubt)}`]),
    `  to have one deleted: ${withheldRemedy('NODE')}`,
  ].join('\n')
}

function commands({ commands }: StatusReport, now: number): string {
  if (commands === undefined) return 'which disruption commands are under way is not known'
  if (commands.length === 0) return 'no disruption command is under way'
  const more = commands.length - mostCommands
  return [
    aligned([
      ['COMMAND', 'SINCE', 'DOING', 'NODES'],
      ...commands
        .slice(0, mostCommands)
        .map(({ id, startedMs, doing, candidates }) => [
          id,
          ago(now - startedMs),
          shortened(doing ?? '(no answer)', 80),
          few(candidates, 3),
        ]),
    ]),
    ...(more > 0 ? [`and ${counted(more, 'command')} more`] : []),
  ].join('\n')
}

function nodes({ nodes, priceOf }: ClusterReport): string {
  if (nodes === undefined) return 'how many nodes there are is not known'
  if (nodes.length === 0) return 'no nodes'
  const pools = poolSummaries(nodes, priceOf)
  const phases = [...new Set(nodes.map(({ phase }) => phase))].sort(
    (a, b) => phaseOrder.indexOf(a) - phaseOrder.indexOf(b),
  )
  const rows = pools.map(({ nodePool, nodes, phases: count, pricePerHour, unpriced }) => [
    nodePool,
    String(nodes),
    ...phases.map((phase) => String(count[phase] ?? 0)),
    pricePerHour === undefined
      ? 'unknown'
      : `${monthly(pricePerHour)}${unpriced === 0 ? '' : ` and ${counted(unpriced, 'node')} without a price`}`,
  ])
  return aligned([['NODEPOOL', 'NODES', ...phases.map((phase) => phase.toUpperCase()), 'USD/MONTH'], ...rows])
}

/** The status for programs. */
export function statusJson(report: StatusReport, known: ClusterReport): object {
  const { cluster, loops, commands, queues, findings, unread } = report
  const { nodes, repairer = unknownRepairer } = known
  const time = (ms: number) => new Date(ms).toISOString()
  return {
    // Null: not known.
    cluster: cluster ?? null,
    unread: [...unread, ...(known.unread ?? [])],
    problems: problemsOf(report, known),
    findings: findingsJson(findings, repairer),
    loops: loops.map((each) => {
      const { sinceMs, pauses: _, ...loop } = each
      return {
        ...loop,
        ...(sinceMs === undefined ? {} : { since: time(sinceMs) }),
        // Null: not known.
        pauses: pausesOf(each, known)?.map(pauseJson) ?? null,
      }
    }),
    // Null: not known.
    leases: known.leases?.map(leaseJson) ?? null,
    // Null: not known.
    quarantined: known.quarantined?.map(quarantineJson) ?? null,
    // Null: not known.
    pendingPods: known.waiting === undefined ? null : pendingJson(known.waiting),
    // Null: not known.
    withheldMachines: known.withheld ?? null,
    // Null: not known; empty: there were none of late.
    refusedCancellations: known.refusedCancellations ?? null,
    // Null: not known.
    commands: commands?.map(({ startedMs, ...command }) => ({ ...command, since: time(startedMs) })) ?? null,
    lastEvaluation:
      known.lastPass === undefined ? null : { at: time(known.lastPass.atMs), commands: known.lastPass.commands },
    // Null: not known.
    nodePools: nodes === undefined ? null : poolSummaries(nodes, known.priceOf),
    queues,
  }
}

function leaseJson({ lease, unread, holder, heldMs }: LeaseReport): object {
  // Null: it was read; nobody; not known.
  return {
    name: lease,
    unread: unread ?? null,
    holder: holder ?? null,
    heldSeconds: heldMs === undefined ? null : Math.round(heldMs / 1000),
  }
}
