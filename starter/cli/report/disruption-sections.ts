import type { Interruption } from '../../../core/history/report/interruptions.ts'
import type { ReportFacts } from '../../../core/history/report/report.ts'
import { timeText } from '../../../core/values/time.ts'
import { type Cell, foreign, type Line, type Part, type Table, tableOf } from '../../document/document.ts'
import { counted, latency, usd } from '../../document/words.ts'
import { durationCell, leftOut, mostRows } from './nodes-sections.ts'
import type { Measured } from './prometheus.ts'

const mostNamed = 3

/** What disruption commands did, and which were undone. */
export function disruptionSection({ methods, undone }: ReportFacts): readonly Part[] {
  const title = { heading: 'Disruption' }
  if (methods.length === 0) return [title, 'No disruption command ran.']
  return [
    title,
    'The saving of a command is the price of the nodes that left less that of their replacements, from its end until a replacement ends, for a day at most.',
    leftOut(undone.length),
    {
      title: 'Disruption commands by method',
      ...tableOf(methods, [
        ['Method', ({ method }) => method],
        ['Reason', ({ reason }) => reason],
        ['Done', ({ done }) => done],
        ['Undone', ({ undone: count }) => count],
        ['Running', ({ running }) => running],
        ['Terminated', ({ unknown }) => unknown],
        ['Nodes removed', ({ removed }) => removed],
        ['Replacements', ({ replacements }) => replacements],
        ['USD an hour', ({ savingsPerHour }) => ({ number: usd(savingsPerHour) })],
        ['USD saved', ({ saved }) => ({ number: usd(saved) })],
      ]),
    },
    undoneTable(undone),
  ]
}

function undoneTable(undone: ReportFacts['undone']): Table | undefined {
  if (undone.length === 0) return undefined
  return {
    title: 'Commands that were undone',
    ...tableOf(undone.slice(0, mostRows), [
      ['Method', ({ method }) => method],
      ['Why', ({ message }) => foreign(message)],
      ['Commands', ({ commands }) => commands],
      ['NodeClaims that stayed', ({ candidates }) => foreign(namesText(candidates))],
      ['Last', ({ lastMs }) => timeText(lastMs)],
    ]),
  }
}

function namesText(names: readonly string[]): string {
  const more = names.length - mostNamed
  return `${names.slice(0, mostNamed).join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}

const outcomes: Readonly<Record<Interruption['outcome'], string>> = {
  'in-time': 'replacement ready in time',
  late: 'replacement late',
  'without-replacement': 'no new node',
  'under-way': 'under way',
}

/** What Azure took back, and how the pods fared. */
export function interruptionsSection({ interruptionCounts: counts, interruptions }: ReportFacts): readonly Part[] {
  const title = { heading: 'Interruptions' }
  const { nodes, inTime, late, withoutReplacement, underWay, drainedPods, vmsLost } = counts
  const lost = vmsLost === 0 ? undefined : `${counted(vmsLost, 'VM')} vanished without a notice.`
  if (nodes === 0) return [title, 'No node was interrupted with a notice.', lost]
  return [
    title,
    `Azure interrupted ${counted(nodes, 'node')}. For ${inTime} a replacement was ready before the VM was gone, for ${late} later; ` +
      `for ${withoutReplacement} no new node was created; ${underWay} are under way. ${counted(drainedPods, 'pod')} moved. ` +
      'The replacement is the next NodeClaim that was created for pods in the same NodePool: nothing links the two.',
    lost,
    leftOut(interruptions.length),
    {
      title: 'Interrupted nodes',
      ...tableOf(interruptions.slice(0, mostRows), [
        ['NodeClaim', ({ nodeClaim }) => foreign(nodeClaim)],
        ['NodePool', ({ nodePool }) => foreign(nodePool)],
        ['Size', ({ instanceType }) => foreign(instanceType)],
        ['Zone', ({ zone }) => foreign(zone)],
        ['Notice', ({ noticedMs }) => timeText(noticedMs)],
        ['Announced', ({ message }) => foreign(message)],
        ['VM gone after', ({ goneMs, noticedMs }) => afterCell(goneMs, noticedMs)],
        ['Pods moved', ({ drainedPods = 0 }) => drainedPods],
        ['Replacement', ({ replacement }) => replacement && foreign(replacement.nodeClaim)],
        ['Ready after', ({ replacement, noticedMs }) => afterCell(replacement?.readyMs, noticedMs)],
        ['Outcome', ({ outcome }) => outcomes[outcome]],
      ]),
    },
  ]
}

function afterCell(ms: number | undefined, noticedMs: number): Cell {
  return durationCell(ms === undefined ? undefined : Math.max(0, ms - noticedMs))
}

/** How long pods waited: what the history says, and what Prometheus measured. */
export function waitsSection({ plannedWaits }: ReportFacts, measured: Measured): readonly Part[] {
  const planned =
    plannedWaits === undefined
      ? 'No node was created for pods and became ready.'
      : `${counted(plannedWaits.count, 'pod')} waited for a node that was created for them: ` +
        `p50 ${latency(plannedWaits.p50)}, p90 ${latency(plannedWaits.p90)}, p99 ${latency(plannedWaits.p99)}, ` +
        `at most ${latency(plannedWaits.max)}, from the creation of the NodeClaim until the node was ready. The time before, until they were planned, is not part of it.`
  return [{ heading: 'Time that pods waited' }, planned, unmeasured(measured), measuredTable(measured)]
}

function unmeasured(measured: Measured): Line {
  if (measured.kind === 'measured')
    return 'Prometheus knows only what it scraped and still keeps. Percentiles are those of histogram buckets.'
  if (measured.kind === 'failed')
    return ['What Joiner measured is not known: Prometheus did not answer: ', foreign(measured.why)]
  return 'How long all pods waited is not known: it is in metrics only; give --prometheus.'
}

function measuredTable(measured: Measured): Table | undefined {
  if (measured.kind !== 'measured') return undefined
  return {
    title: 'What Joiner measured',
    header: ['From, to', 'Pods', 'Average', 'p50', 'p90', 'p99', 'Metric'],
    rows: measured.waits.map(({ what, pods, averageMs, p50Ms, p90Ms, p99Ms, metric }) => [
      what,
      pods,
      ...[averageMs, p50Ms, p90Ms, p99Ms].map(durationCell),
      foreign(metric),
    ]),
  }
}
