import { type BilledSpan, billedSpans, billOf } from '../../../core/cost/bill.ts'
import type { CommandFacts, History, Life, VmSpan } from '../../../core/history/life.ts'
import { birthText, deathText, deathWord, offeringText, priceText } from '../../../core/history/texts.ts'
import { timelineOf } from '../../../core/history/timeline.ts'
import { timeText } from '../../../core/values/time.ts'
import type { CsvCell, CsvTable } from '../../document/csv.ts'
import type { Document, Table } from '../../document/document.ts'
import { ago, hoursText, present, usd } from '../../document/words.ts'

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
  return present(
    lives.length + commands.length + unreadable === 0 &&
      `note: Temporal knows no lifecycle of this cluster since ${timeText(sinceMs)}; if joiner status counts NodeClaims, its database or the namespace was emptied, and what it knew of nodes before is lost`,
    sinceMs > askedMs &&
      retentionMs !== undefined &&
      `note: Temporal keeps ended lifecycles for ${ago(retentionMs)} in this namespace, so nothing before ${timeText(sinceMs)} is complete; to keep more: temporal operator namespace update --retention 168h --namespace NAME`,
    unreadable !== 0 &&
      `note: ${unreadable} lifecycles have no readable facts: they were terminated, began under another version, or are encrypted with a key that is missing here (JOINER_TEMPORAL_ENCRYPTION_KEYS)`,
    withoutVm !== 0 &&
      `note: the VMs of ${withoutVm} lifecycles under way are not known yet: Temporal's list has them once their Nodes have joined; joiner node shows what they wait for`,
  )
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

const noPool = '(none)'

/** A lifecycle with what its VMs cost within the history's time. */
interface LifeRow {
  readonly life: Life
  readonly nodeHours: number
  readonly usd: number
  /** Node-hours without a price, which add nothing to `usd`. */
  readonly unpricedHours: number
}

/** The nodes of one NodePool within the history's time. */
interface PoolRow {
  readonly nodePool: string
  readonly running: number
  readonly created: number
  readonly ended: number
  readonly nodeHours: number
  readonly usd: number
  readonly unpricedHours: number
  /** How many came and went for which cause, by its word. */
  readonly came: Readonly<Record<string, number>>
  readonly went: Readonly<Record<string, number>>
  /** How often Azure refused capacity, as far as lifecycles keep it. */
  readonly refused: number
}

/** Returns a row for each lifecycle, the oldest first. */
export function lifeRows(history: History): readonly LifeRow[] {
  const spans = Map.groupBy(spansOf(history), ({ life }) => life)
  return history.lives.map((life) => ({ life, ...sumOf(spans.get(life) ?? []) }))
}

/** Returns a row for each NodePool, by name. */
export function poolRows(history: History): readonly PoolRow[] {
  const rows = Map.groupBy(lifeRows(history), ({ life }) => life.nodePool ?? noPool)
  return [...rows]
    .map(([nodePool, own]): PoolRow => {
      const lives = own.map(({ life }) => life)
      const created = lives.filter(({ createdMs }) => createdMs >= history.sinceMs)
      const ended = lives.filter(({ endedMs }) => endedMs !== undefined)
      return {
        nodePool,
        running: lives.filter(({ isRunning }) => isRunning).length,
        created: created.length,
        ended: ended.length,
        nodeHours: total(own, ({ nodeHours }) => nodeHours),
        usd: total(own, ({ usd }) => usd),
        unpricedHours: total(own, ({ unpricedHours }) => unpricedHours),
        came: counted(created.map(({ came }) => came.kind)),
        went: counted(ended.map(({ went }) => (went === undefined ? 'unknown' : deathWord(went)))),
        refused: total(lives, ({ refused }) => refused.length),
      }
    })
    .sort((a, b) => (a.nodePool < b.nodePool ? -1 : 1))
}

/** Keeps the lifecycles of a Node or NodeClaim, or of a NodePool. Commands stay, since a timeline names those that matter to it. */
export function ofNode(history: History, name: string): History {
  return { ...history, lives: history.lives.filter(({ nodeClaim, node }) => nodeClaim === name || node === name) }
}

export function ofPool(history: History, name: string): History {
  return { ...history, lives: history.lives.filter(({ nodePool }) => (nodePool ?? noPool) === name) }
}

function spansOf({ lives, sinceMs, untilMs }: History): readonly BilledSpan[] {
  return billedSpans(lives, { fromMs: sinceMs, toMs: untilMs })
}

function sumOf(spans: readonly BilledSpan[]): Omit<LifeRow, 'life'> {
  const { nodeHours, usd, unpricedHours } = billOf(
    spans,
    () => '',
    () => undefined,
  )
  return { nodeHours, usd, unpricedHours }
}

function total<T>(rows: readonly T[], of: (row: T) => number): number {
  return rows.reduce((sum, row) => sum + of(row), 0)
}

function counted(words: readonly string[]): Readonly<Record<string, number>> {
  const groups = [...Map.groupBy(words, (word) => word)].toSorted(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(groups.map(([word, all]) => [word, all.length]))
}

/** What the answer covers, for programs. */
export function coverageJson({ sinceMs, untilMs, retentionMs, unreadable, withoutVm = 0 }: History) {
  return {
    since: iso(sinceMs),
    until: iso(untilMs),
    // Null: Temporal does not say.
    retentionHours: retentionMs === undefined ? null : retentionMs / 3_600_000,
    unreadable,
    withoutVm,
  }
}

/** A lifecycle for programs. Money is in USD. */
export function lifeJson({ life, nodeHours, usd, unpricedHours }: LifeRow) {
  const { createdMs, registeredMs, readyMs, drainingMs, endedMs, vms, ...facts } = life
  return {
    ...facts,
    created: iso(createdMs),
    ...times({ registered: registeredMs, ready: readyMs, draining: drainingMs, ended: endedMs }),
    vms: vms.map(vmJson),
    nodeHours,
    usd,
    unpricedHours,
  }
}

function vmJson({ fromMs, toMs, ...vm }: VmSpan) {
  return { ...vm, from: iso(fromMs), ...times({ to: toMs }) }
}

export function commandJson({ startedMs, endedMs, ...command }: CommandFacts) {
  return { ...command, started: iso(startedMs), ...times({ ended: endedMs }) }
}

/** A lifecycle with its timeline, for programs. */
export function timelineJson(row: LifeRow, commands: readonly CommandFacts[]) {
  return {
    ...lifeJson(row),
    timeline: timelineOf(row.life, commands).map(({ atMs, what }) => ({ at: iso(atMs), what })),
  }
}

function times<K extends string>(all: Readonly<Record<K, number | undefined>>): { readonly [key in K]?: string } {
  const known = Object.entries<number | undefined>(all).flatMap(([key, ms]) =>
    ms === undefined ? [] : [[key, iso(ms)]],
  )
  return Object.fromEntries(known) as { readonly [key in K]?: string }
}

export function iso(ms: number): string {
  return new Date(ms).toISOString()
}
