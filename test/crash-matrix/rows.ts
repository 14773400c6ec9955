import { Random } from '../../bench/workloads/random.ts'
import { isAt, nameOf, type Step } from './steps.ts'

/** What happens to the node of a pool; its writes are recorded once untroubled. */
export const stages = ['launch', 'replace', 'terminate'] as const
export type Stage = (typeof stages)[number]

/** Where the worker is killed. */
export const points = ['before forwarding', 'after the answer', 'after relaying it'] as const
type Point = (typeof points)[number]

export interface Row {
  readonly stage: Stage
  readonly step: Step
  readonly point: Point
}

export interface Recorded {
  readonly stage: Stage
  readonly step: Step
}

/** Why pods wait is written where they wait for seconds, which an untroubled launch may be faster than. Nothing depends on it. */
export const mayBeMissing = /configmaps joiner-waiting-pods$/

/** Every step that was recorded and always comes, with each point. A step that several stages have is in the first of them. */
export function rowsOf(recorded: readonly Recorded[]): readonly Row[] {
  const found: Recorded[] = []
  for (const one of recorded)
    if (!mayBeMissing.test(one.step.kind) && !found.some(({ step }) => isSame(step, one.step))) found.push(one)
  // Writes that change no condition come at will; they are a step where the kind has no other.
  const steady = found.filter(
    ({ step }) =>
      !isOfMessages(step) || !found.some((other) => other.step.kind === step.kind && !isOfMessages(other.step)),
  )
  return steady.flatMap(({ stage, step }) => points.map((point) => ({ stage, step, point })))
}

export function describe({ stage, step, point }: Row): string {
  return `${stage}: ${nameOf(step)}: ${point}`
}

/** What a process writes when it begins to lead after another. An untroubled life has one process, which makes the Lease. */
const ofNextLeader = /^PATCH leases joiner-\w+-fence$/

/** Kinds of writes that were seen and that no row is about. */
export function withoutRow(rows: readonly Row[], seen: readonly Step[]): readonly string[] {
  const kinds = new Set(rows.map(({ step }) => step.kind))
  return [
    ...new Set(seen.map(({ kind }) => kind).filter((kind) => !kinds.has(kind) && !ofNextLeader.test(kind))),
  ].sort()
}

/** Steps that were seen and are none of a row's, although rows are about writes of their kind. */
export function onlyInRecovery(rows: readonly Row[], seen: readonly Step[]): readonly string[] {
  const unknown = seen.filter(
    (step) =>
      !isOfMessages(step) &&
      rows.some((row) => row.step.kind === step.kind) &&
      !rows.some((row) => isAt(row.step, step)),
  )
  return [...new Set(unknown.map(nameOf))].sort()
}

/**
 * Writes that come one after another: while one of them is kept back, the others of its lane do not come. A batch has one of each lane, and lanes
 * take their turns in this order, after all writes of lifecycles.
 */
export const lanes = ['provisioning', 'disruption', 'status', 'others'] as const
type Lane = (typeof lanes)[number]

const lanesOf: readonly (readonly [Lane, RegExp])[] = [
  ['provisioning', /^POST nodeclaims$|joiner-planner-fence/],
  ['status', / (nodepools|aksnodeclasses)|joiner-image-versions/],
  [
    'disruption',
    /joiner-disruption-fence|joiner-evaluations|^POST nodeclaims replacement|DisruptionReason|Drifted|disruption-command|lastPodEventTime|^PATCH nodes taint [^,]*$/,
  ],
  ['others', / (events|leases|configmaps|secrets joiner)/],
]

/** Undefined: writes of lifecycles, which wait for nobody. */
export function laneOf(step: Step): Lane | undefined {
  return lanesOf.find(([, pattern]) => pattern.test(nameOf(step)))?.[0]
}

/** How many slots have no node, and how many have one. */
export interface Room {
  readonly gone: number
  readonly whole: number
}

/** The rows of the next kill: as many as there is room for, one of each lane. */
export function nextBatch(pending: readonly Row[], room: Room): readonly Row[] {
  const left = { gone: room.gone, whole: room.whole }
  const taken = new Set<Lane>()
  const batch: Row[] = []
  // What has a lane first: there are most batches of it. Nodes go last, since it takes a launch to have them again.
  const order = [...pending].sort((one, other) => rank(one) - rank(other))
  for (const row of order) {
    const lane = laneOf(row.step)
    const needed = stateBefore(row.stage)
    if (left[needed] === 0 || (lane !== undefined && taken.has(lane))) continue
    left[needed] -= 1
    if (lane !== undefined) taken.add(lane)
    batch.push(row)
  }
  return batch
}

/** Whether a write comes by a clock of its own: quota is counted a minute after the last count where a launch changed it (`capacity/quota.ts`). */
export function isTimed({ kind }: Step): boolean {
  return kind.endsWith('configmaps joiner-quota')
}

/** Whether a write tells of an event of a pod. In the first 10 s of a node none is written (`provisioning/pod-events.ts`). */
export function isPodEvent(step: Step): boolean {
  return nameOf(step).includes('lastPodEventTime')
}

export function stateBefore(stage: Stage): keyof Room {
  return stage === 'launch' ? 'gone' : 'whole'
}

function rank({ stage, step }: Row): number {
  return (laneOf(step) === undefined ? 10 : 0) + stages.indexOf(stage)
}

/**
 * A part of the rows that is always the same: of each kind one row, the points in turn, so that creates and deletes of all resources are in it.
 * More rows follow from the seed.
 */
export function sample(rows: readonly Row[], count: number, seed: number): readonly Row[] {
  const kinds = [...new Set(rows.map(({ step }) => step.kind))]
  const first = kinds.flatMap((kind, index) => {
    const own = rows.filter((row) => row.step.kind === kind)
    return own.filter(({ point }) => point === points[index % points.length]).slice(0, 1)
  })
  const creates = [...first].sort((one, other) => weight(one) - weight(other)).slice(0, count)
  const others = shuffled(
    rows.filter((row) => !creates.includes(row)),
    seed,
  )
  return [...creates, ...others].slice(0, count)
}

/** Creates and deletes before changes, and what lifecycles need before what is only remembered. */
function weight({ step }: Row): number {
  if (/ (configmaps|leases|events)/.test(step.kind)) return 2
  return step.kind.startsWith('PATCH') ? 1 : 0
}

function shuffled<T>(items: readonly T[], seed: number): readonly T[] {
  const random = new Random(seed)
  const keyed = items.map((item) => ({ item, key: random.below(2 ** 31) }))
  return keyed.sort((one, other) => one.key - other.key).map(({ item }) => item)
}

function isSame(one: Step, other: Step): boolean {
  return nameOf(one) === nameOf(other)
}

function isOfMessages({ changes }: Step): boolean {
  return changes.join() === 'messages of conditions'
}
