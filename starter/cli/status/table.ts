import type { StoredWaiting } from '../../../api/waiting-pods.ts'
import { withheldRemedy, withheldText } from '../../../api/withheld-machines.ts'
import { phases } from '../../../core/node-claim/phase.ts'
import { pauseText } from '../../../core/pauses/pauses.ts'
import type { Document, Part, Table } from '../../document/document.ts'
import { ago, counted, few, monthly, shortened, usd } from '../../document/words.ts'
import type { LoopReport } from '../../picture/from-temporal.ts'
import { missingLines } from '../../picture/gaps.ts'
import type { PoolPicture } from '../../picture/watch/cluster-view.ts'
import { pauseJson, quarantineJson } from '../shared/kept-json.ts'
import { type LeaseReport, silentSince } from '../shared/leases.ts'
import { findingsJson } from '../shared/temporal-findings.ts'
import {
  type ClusterReport,
  loopsOf,
  pausesOf,
  poolsIn,
  problemsOf,
  type StatusReport,
  unknownRepairer,
} from './status.ts'

const mostCommands = 20
const mostWithheld = 20

/** The status for people: what is broken first. `now`: epoch ms. */
export function statusDocument(report: StatusReport, cluster: ClusterReport, now: number): Document {
  return [
    problemsOf(report, cluster).map((line) => `BROKEN  ${line}`),
    [loopsTable(report, now), lastPass(cluster, now)],
    pauses(report, cluster),
    [leases(cluster, now)],
    [quarantined(cluster)],
    [withheld(cluster, now)],
    [cluster.refusedCancellations && `REFUSED  ${cluster.refusedCancellations}`],
    [pendingPart(cluster, now)],
    commands(report, now),
    [nodes(cluster, now)],
  ]
}

function loopsTable(report: StatusReport, now: number): Table {
  return {
    header: ['LOOP', 'SINCE', 'DOING'],
    rows: loopsOf(report).map(({ loop, state, doing, sinceMs }) => [
      loop,
      sinceMs === undefined ? undefined : ago(now - sinceMs),
      doing ?? state,
    ]),
  }
}

function lastPass({ evaluations: found }: ClusterReport, now: number): Part {
  const last = found?.lastPass
  if (last === undefined) return undefined
  const commands = last.commands === 0 ? 'nothing to do' : counted(last.commands, 'command')
  return `disruption last evaluated the cluster ${ago(now - last.atMs)} ago: ${commands}`
}

function pauses(report: StatusReport, cluster: ClusterReport): readonly Part[] {
  const lines = loopsOf(report).flatMap((each) => {
    const known = pausesOf(each, cluster)
    return known === undefined
      ? [`whether ${each.loop} is paused is not known: neither the loop nor the cluster's ConfigMap could be asked`]
      : known.map((pause) => `PAUSED  ${pauseText(each.loop, pause)}`)
  })
  return lines.length === 0 ? ['nothing is paused'] : lines
}

function leases({ leases }: ClusterReport, now: number): Part {
  if (leases === undefined) return "who holds Joiner's Leases is not known"
  return {
    header: ['LEASE', 'HELD BY', 'FOR'],
    rows: leases.map((each) => [
      each.lease,
      shortened(each.unread === undefined ? holderText(each, now) : `not known: ${each.unread}`, 80),
      each.heldMs === undefined ? undefined : ago(each.heldMs),
    ]),
  }
}

/** A holder that is gone stays in its Lease until another process takes it. */
function holderText(lease: LeaseReport, now: number): string {
  const { holder } = lease
  if (holder === undefined) return 'nobody'
  const sinceMs = silentSince(lease, now)
  return sinceMs === undefined ? holder : `nobody: ${ago(now - sinceMs)} ago it was ${holder}`
}

function quarantined({ quarantined: entries }: ClusterReport): Part {
  if (entries === undefined) return 'which objects are quarantined is not known'
  if (entries.length === 0) return undefined
  const names = entries.map(({ id }) => id)
  return `QUARANTINED  ${few(names, 3)}: left out of planning, see joiner blocked objects list`
}

/** Each machine by name: its cost goes on until an operator decides about it. */
function withheld({ withheld: found }: ClusterReport, now: number): Part {
  if (found === undefined) return 'which machines run pods without a NodeClaim is not known'
  if (found.count === 0) return undefined
  const more = found.count - mostWithheld
  const asOf = found.atMs === undefined ? '' : `, as of ${ago(now - found.atMs)} ago`
  return {
    title: `WITHHELD  ${counted(found.count, 'machine')} without a NodeClaim kept since pods run there, ${usd(found.costPerDay)} USD a day${asOf}`,
    items: [
      ...found.machines.slice(0, mostWithheld).map(withheldText),
      more > 0 ? `and ${more} more, see --output json` : undefined,
      found.doubt,
      `to have one deleted: ${withheldRemedy({ node: 'NODE' })}`,
    ],
  }
}

function commands({ commands }: StatusReport, now: number): readonly Part[] {
  if (commands === undefined) return ['which disruption commands are under way is not known']
  if (commands.length === 0) return ['no disruption command is under way']
  const more = commands.length - mostCommands
  return [
    {
      header: ['COMMAND', 'SINCE', 'DOING', 'NODES'],
      drop: ['NODES'],
      rows: commands
        .slice(0, mostCommands)
        .map(({ id, startedMs, doing, candidates }) => [
          id,
          ago(now - startedMs),
          shortened(doing ?? '(no answer)', 80),
          few(candidates, 3),
        ]),
    },
    more > 0 ? `and ${counted(more, 'command')} more` : undefined,
  ]
}

function nodes(cluster: ClusterReport, now: number): Part {
  const pools = poolsIn(cluster, now)
  if (pools === undefined) return 'how many nodes there are is not known'
  if (pools.length === 0) return 'no nodes'
  const shown = phases.filter((phase) => pools.some((pool) => pool.phases[phase] !== undefined))
  return {
    header: ['NODEPOOL', 'NODES', ...shown.map((phase) => phase.toUpperCase()), 'USD/MONTH'],
    rows: pools.map(({ name, nodes: count, phases: inPhase, pricePerHour, unpriced }) => [
      name || noPool,
      count,
      ...shown.map((phase) => inPhase[phase] ?? 0),
      cluster.prices?.list === undefined
        ? 'unknown'
        : `${monthly(pricePerHour)}${unpriced === 0 ? '' : ` and ${counted(unpriced, 'node')} without a price`}`,
    ]),
  }
}

const noPool = '(none)'

/** The status for programs. `now`: epoch ms. */
export function statusJson(report: StatusReport, known: ClusterReport, now: number) {
  const { cluster, commands, queues = [], findings = [] } = report
  const { prices, repairer = unknownRepairer } = known
  const lastPass = known.evaluations?.lastPass
  const time = (ms: number) => new Date(ms).toISOString()
  return {
    // Null: not known.
    cluster: cluster ?? null,
    unread: missingLines([report, known].flatMap(({ missing = [] }) => missing)),
    problems: problemsOf(report, known),
    findings: findingsJson(findings, repairer),
    loops: loopsOf(report).map((each) => loopJson(each, known)),
    // Null: not known.
    leases: known.leases?.map(leaseJson) ?? null,
    // Null: not known.
    quarantined: known.quarantined?.map(quarantineJson) ?? null,
    // Null: not known.
    pendingPods: known.waiting === undefined || isUnknown(known, now) ? null : pendingJson(known.waiting),
    // Null: not known.
    withheldMachines: known.withheld ?? null,
    // Null: not known; empty: there were none of late.
    refusedCancellations: known.refusedCancellations ?? null,
    // Null: not known.
    commands: commands?.map(({ startedMs, ...command }) => ({ ...command, since: time(startedMs) })) ?? null,
    lastEvaluation: lastPass === undefined ? null : { at: time(lastPass.atMs), commands: lastPass.commands },
    // Null: not known.
    nodePools: poolsIn(known, now)?.map((pool) => poolJson(pool, prices?.list !== undefined)) ?? null,
    queues,
  }
}

function poolJson({ name, nodes, phases, pricePerHour, unpriced }: PoolPicture, isPriced: boolean) {
  return { nodePool: name || noPool, nodes, phases, ...(isPriced && { pricePerHour }), unpriced }
}

function loopJson(each: LoopReport, known: ClusterReport) {
  const { sinceMs, pauses: _, ...loop } = each
  return {
    ...loop,
    ...(sinceMs === undefined ? {} : { since: new Date(sinceMs).toISOString() }),
    // Null: not known.
    pauses: pausesOf(each, known)?.map(pauseJson) ?? null,
  }
}

function leaseJson({ lease, unread, holder, heldMs }: LeaseReport) {
  // Null: it was read; nobody; not known.
  return {
    name: lease,
    unread: unread ?? null,
    holder: holder ?? null,
    heldSeconds: heldMs === undefined ? null : Math.round(heldMs / 1000),
  }
}

const mostNamed = 3

/** Whether nobody plans: what the last planner has written is as old as that. */
function isOld({ leases }: ClusterReport, now: number): boolean {
  const planner = leases?.find(({ lease }) => lease === 'joiner-planner')
  if (planner === undefined || planner.unread !== undefined) return false
  return planner.holder === undefined || silentSince(planner, now) !== undefined
}

/** Whether nobody can say which pods wait: none did when somebody still planned. */
function isUnknown(cluster: ClusterReport, now: number): boolean {
  return isOld(cluster, now) && cluster.waiting?.counts.every(({ count }) => count === 0) === true
}

/** Pending pods by what they wait for, with an example of each that nothing is planned for. */
function pendingPart(cluster: ClusterReport, now: number): Part {
  const { waiting } = cluster
  if (waiting === undefined) return 'which pods wait for a node is not known'
  if (isUnknown(cluster, now)) return 'which pods wait for a node is not known, since no process plans'
  const { planned, unschedulable, held } = totals(waiting)
  const all = planned + unschedulable + held
  if (all === 0) return 'no pod waits for a node'
  const causes = (state: string) =>
    waiting.counts
      .filter((each) => each.state === state)
      .map(({ cause, count }) => `${cause ?? 'other'} ${count}`)
      .join(', ')
  const parts = [
    ...(planned > 0 ? [`${planned} planned, waiting for their nodes`] : []),
    ...(unschedulable > 0 ? [`${unschedulable} unschedulable (${causes('unschedulable')})`] : []),
    ...(held > 0 ? [`${held} held back (${causes('held')})`] : []),
  ]
  const examples = [...waiting.classes.values()]
    .filter(({ state }) => state !== 'planned')
    .slice(0, mostNamed)
    .map(({ pods: [pod = ''], finding }) => `${pod}: ${finding}  (joiner why pod ${pod})`)
  const { atMs } = waiting
  const asOf = atMs === undefined || !isOld(cluster, now) ? '' : `, as of ${ago(now - atMs)} ago: no process plans`
  const title = `PENDING  ${counted(all, 'pod')}: ${parts.join('; ')}${asOf}`
  return examples.length === 0 ? title : { title, items: examples }
}

/** For programs. */
function pendingJson(waiting: StoredWaiting) {
  const { atMs, counts } = waiting
  return { ...totals(waiting), counts, at: atMs === undefined ? null : new Date(atMs).toISOString() }
}

function totals({ counts }: StoredWaiting) {
  const of = (state: string) => counts.filter((each) => each.state === state).reduce((sum, { count }) => sum + count, 0)
  return { planned: of('planned'), unschedulable: of('unschedulable'), held: of('held') }
}
