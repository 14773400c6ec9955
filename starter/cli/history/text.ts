import type { CommandFacts, History, Life } from '../../../core/history/life.ts'
import { birthText, deathText, offeringText, priceText } from '../../../core/history/texts.ts'
import { timelineOf } from '../../../core/history/timeline.ts'
import { timeText } from '../../../core/values/time.ts'
import type { CsvCell, CsvTable } from '../../document/csv.ts'
import type { Document, Table } from '../../document/document.ts'
import { ago, hoursText, usd } from '../../document/words.ts'
import { iso, type LifeRow, type PoolRow } from './rows.ts'

/** All lifecycles for people. `now`: epoch ms. */
export function livesTable(rows: readonly LifeRow[], now: number): Table {
  return {
    header: ['NODECLAIM', 'NODEPOOL', 'CREATED', 'LIVED', 'READY AFTER', 'VM', 'USD', 'CAME', 'WENT'],
    drop: ['READY AFTER', 'NODEPOOL', 'VM'],
    rows: rows.map(({ life, usd, unpricedHours }) => [
      life.nodeClaim,
      life.nodePool,
      timeText(life.createdMs),
      ago((life.endedMs ?? now) - life.createdMs),
      life.readyMs === undefined ? undefined : ago(life.readyMs - life.createdMs),
      vmText(life),
      usdText(usd, unpricedHours),
      birthText(life.came),
      wentText(life),
    ]),
  }
}

function vmText({ vms }: Life): string {
  const last = vms.at(-1)
  if (last === undefined) return '-'
  return `${offeringText(last)}${vms.length > 1 ? ` (${vms.length} VMs)` : ''}`
}

function wentText({ went, isRunning, drainingMs }: Life): string {
  if (went !== undefined) return `${isRunning ? 'going: ' : ''}${deathText(went)}`
  return drainingMs === undefined ? '-' : 'going'
}

/** A plus says that a part has no known price. */
function usdText(known: number, unpricedHours: number): string {
  if (unpricedHours > 0) return known === 0 ? '?' : `${usd(known)}+?`
  return usd(known)
}

/** One lifecycle with its timeline, for people. */
export function nodeParts({ life, ...cost }: LifeRow, commands: readonly CommandFacts[]): Document {
  const last = life.vms.at(-1)
  const named = [
    `NodeClaim ${life.nodeClaim}`,
    ...(life.node === undefined ? [] : [`Node ${life.node}`]),
    ...(life.nodePool === undefined ? [] : [`NodePool ${life.nodePool}`]),
  ]
  const labels = Object.entries(life.labels).map(([key, value]) => `${key}=${value}`)
  const refused = life.refused.map((one) => `${offeringText(one)}: ${one.reason}`)
  const facts = [
    ...(last === undefined ? ['no VM'] : [`${offeringText(last)}, ${priceText(last)}`]),
    `${hoursText(cost.nodeHours)} node-hours, $${usdText(cost.usd, cost.unpricedHours)}`,
    `came: ${birthText(life.came)}`,
    `went: ${life.went === undefined ? `it is still there; joiner why node ${life.node ?? life.nodeClaim}` : deathText(life.went)}`,
    ...(life.attempts > 1 ? [`${life.attempts} launch attempts`] : []),
    ...(refused.length === 0 ? [] : [`refused: ${refused.join('; ')}`]),
    ...(labels.length === 0 ? [] : [`labels: ${labels.join(', ')}`]),
  ]
  const moments = timelineOf(life, commands).map(({ atMs, what }) => [
    timeText(atMs),
    atMs < life.createdMs ? '' : `+${ago(atMs - life.createdMs)}`,
    what,
  ])
  return [[{ title: named.join(', '), items: facts }], [{ header: ['TIME', 'AFTER', 'WHAT'], rows: moments }]]
}

/** NodePools for people. */
export function poolsTable(rows: readonly PoolRow[]): Table {
  return {
    header: ['NODEPOOL', 'RUNNING', 'CREATED', 'ENDED', 'NODE-HOURS', 'USD', 'CAME', 'WENT', 'REFUSED'],
    rows: rows.map((row) => [
      row.nodePool,
      row.running,
      row.created,
      row.ended,
      hoursText(row.nodeHours),
      usdText(row.usd, row.unpricedHours),
      countsText(row.came),
      countsText(row.went),
      row.refused,
    ]),
  }
}

function countsText(counts: Readonly<Record<string, number>>): string {
  const parts = Object.entries(counts).map(([word, count]) => `${word} ${count}`)
  return parts.length === 0 ? '-' : parts.join(', ')
}

/** What the history does not contain, for people. `askedMs`: the beginning that was asked for. */
export function coverageNotes(history: History, askedMs: number): readonly string[] {
  const { lives, commands, sinceMs, retentionMs, unreadable, withoutVm = 0 } = history
  return [
    ...(lives.length + commands.length + unreadable > 0
      ? []
      : [
          `note: Temporal knows no lifecycle of this cluster since ${timeText(sinceMs)}; if joiner status counts NodeClaims, its database or the namespace was emptied, and what it knew of nodes before is lost`,
        ]),
    ...(sinceMs <= askedMs || retentionMs === undefined
      ? []
      : [
          `note: Temporal keeps ended lifecycles for ${ago(retentionMs)} in this namespace, so nothing before ${timeText(sinceMs)} is complete; to keep more: temporal operator namespace update --retention 168h --namespace NAME`,
        ]),
    ...(unreadable === 0
      ? []
      : [
          `note: ${unreadable} lifecycles have no readable facts: they were terminated, began under another version, or are encrypted with a key that is missing here (JOINER_TEMPORAL_ENCRYPTION_KEYS)`,
        ]),
    ...(withoutVm === 0
      ? []
      : [
          `note: the VMs of ${withoutVm} lifecycles under way are not known yet: Temporal's list has them once their Nodes have joined; joiner node shows what they wait for`,
        ]),
  ]
}

const lifeColumns: readonly (readonly [string, (row: LifeRow) => CsvCell])[] = [
  ['nodeClaim', ({ life }) => life.nodeClaim],
  ['node', ({ life }) => life.node],
  ['nodePool', ({ life }) => life.nodePool],
  ['created', ({ life }) => iso(life.createdMs)],
  ['registered', ({ life }) => isoOf(life.registeredMs)],
  ['ready', ({ life }) => isoOf(life.readyMs)],
  ['draining', ({ life }) => isoOf(life.drainingMs)],
  ['ended', ({ life }) => isoOf(life.endedMs)],
  ['instanceType', ({ life }) => life.vms.at(-1)?.instanceType],
  ['capacityType', ({ life }) => life.vms.at(-1)?.capacityType],
  ['zone', ({ life }) => life.vms.at(-1)?.zone],
  ['pricePerHour', ({ life }) => life.vms.at(-1)?.pricePerHour],
  ['vms', ({ life }) => life.vms.length],
  ['nodeHours', ({ nodeHours }) => nodeHours],
  ['unpricedHours', ({ unpricedHours }) => unpricedHours],
  ['usd', ({ usd }) => usd],
  ['came', ({ life }) => life.came.kind],
  ['cameText', ({ life }) => birthText(life.came)],
  ['went', ({ life }) => life.went?.kind],
  ['wentText', ({ life }) => life.went && deathText(life.went)],
  ['attempts', ({ life }) => life.attempts],
  ['refused', ({ life }) => life.refused.length],
  ['drainedPods', ({ life }) => life.drainedPods],
  [
    'labels',
    ({ life }) =>
      Object.entries(life.labels)
        .map(([key, value]) => `${key}=${value}`)
        .join(';'),
  ],
  ['uid', ({ life }) => life.uid],
]

export function livesCsv(rows: readonly LifeRow[]): CsvTable {
  return csvOf(lifeColumns, rows)
}

const poolColumns: readonly (readonly [string, (row: PoolRow) => CsvCell])[] = [
  ['nodePool', ({ nodePool }) => nodePool],
  ['running', ({ running }) => running],
  ['created', ({ created }) => created],
  ['ended', ({ ended }) => ended],
  ['nodeHours', ({ nodeHours }) => nodeHours],
  ['unpricedHours', ({ unpricedHours }) => unpricedHours],
  ['usd', ({ usd }) => usd],
  ['came', ({ came }) => countsText(came)],
  ['went', ({ went }) => countsText(went)],
  ['refused', ({ refused }) => refused],
]

export function poolsCsv(rows: readonly PoolRow[]): CsvTable {
  return csvOf(poolColumns, rows)
}

/** The moments of one or several lifecycles of one name. */
export function timelineCsv(rows: readonly LifeRow[], commands: readonly CommandFacts[]): CsvTable {
  return {
    header: ['nodeClaim', 'uid', 'at', 'what'],
    rows: rows.flatMap(({ life }) =>
      timelineOf(life, commands).map(({ atMs, what }) => [life.nodeClaim, life.uid, iso(atMs), what]),
    ),
  }
}

function csvOf<Row>(columns: readonly (readonly [string, (row: Row) => CsvCell])[], rows: readonly Row[]): CsvTable {
  return { header: columns.map(([name]) => name), rows: rows.map((row) => columns.map(([, of]) => of(row))) }
}

function isoOf(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : iso(ms)
}
