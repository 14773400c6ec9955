import type { DisruptionMethod } from '../command.ts'
import type { Cause } from './cause.ts'

/**
 * What came of looking at a node in one way. `blocked`: it may not be disrupted at all now; `hindered`: its pods, or prices, do not allow it;
 * `budget`, `rejected`: it could go, but budgets or its policy say no; `unsuitable`: the method is not about such a node; `not-looked-at`: the
 * method has not come to it, or only together with others.
 */
export const moveOutcomes = [
  'chosen',
  'hindered',
  'budget',
  'rejected',
  'blocked',
  'unsuitable',
  'not-looked-at',
] as const
export type MoveOutcome = (typeof moveOutcomes)[number]

/** One thing that could have been done with a node, for all methods to which it looked the same. */
export interface Move {
  readonly methods: readonly DisruptionMethod[]
  readonly outcome: MoveOutcome
  readonly cause: Cause
  /** At most so much is not saved, in USD an hour: what the node costs. Absent: nothing is forgone, or nobody knows. */
  readonly savingsForgone?: number
}

/** What the last evaluation found about a node. */
export interface Verdict {
  readonly nodeClaim: string
  readonly node?: string
  readonly nodePool: string
  /** Since when it has been just so, RFC 3339. */
  readonly since: string
  /** USD an hour; absent: not known. */
  readonly price?: number
  readonly moves: readonly Move[]
}

/** How long texts of a verdict may be, and how many items its lists have, from generous to scant. */
const cuts = [
  { text: 300, items: 5 },
  { text: 150, items: 5 },
  { text: 150, items: 2 },
  { text: 80, items: 1 },
  { text: 40, items: 0 },
] as const

/** What a cut leaves whole: a part of a name names nothing. */
const names: ReadonlySet<string> = new Set(['kind', 'name', 'pod', 'nodePool', 'label', 'instanceType'])

/** The verdict, cut until its text has at most so many characters. */
export function boundedVerdict(verdict: Verdict, most: number): Verdict {
  let bounded = verdict
  for (const cut of cuts) {
    bounded = { ...verdict, moves: verdict.moves.map((move) => cutMove(move, cut)) }
    if (formatVerdict(bounded).length <= most) return bounded
  }
  return { ...bounded, moves: bounded.moves.slice(0, 1) }
}

function cutMove(move: Move, cut: (typeof cuts)[number]): Move {
  return { ...move, cause: cutData(move.cause, cut) }
}

/** Plain data with shorter texts and lists. */
function cutData<T>(value: T, { text, items }: (typeof cuts)[number]): T {
  const cut = (one: unknown, key: string): unknown => {
    if (typeof one === 'string') return names.has(key) ? one : shortened(one, text)
    if (Array.isArray(one)) return one.slice(0, items).map((each) => cut(each, 'name'))
    if (typeof one !== 'object' || one === null) return one
    return Object.fromEntries(Object.entries(one).map(([own, each]) => [own, cut(each, own)]))
  }
  return cut(value, '') as T
}

function shortened(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 3)}...`
}

/** Whether two verdicts differ in nothing but their time. A large cluster asks for each node in every pass. */
export function sameVerdict(a: Verdict, b: Verdict): boolean {
  return (
    a.nodeClaim === b.nodeClaim &&
    a.node === b.node &&
    a.nodePool === b.nodePool &&
    a.price === b.price &&
    sameList(a.moves, b.moves, (one, other) => sameMove(one, other) && sameList(one.methods, other.methods, isSame))
  )
}

/** Whether moves say the same, whatever their methods. */
export function sameMove(a: Move, b: Move): boolean {
  return a.outcome === b.outcome && a.savingsForgone === b.savingsForgone && isSameData(a.cause, b.cause)
}

function sameList<T>(a: readonly T[] = [], b: readonly T[] = [], same: (one: T, other: T) => boolean): boolean {
  return a.length === b.length && a.every((one, at) => same(one, b[at] as T))
}

const isSame = <T>(a: T, b: T) => a === b

/** Whether plain data is equal; a field that is undefined is one that is absent. */
function isSameData(a: unknown, b: unknown): boolean {
  if (a === b) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
  const [one, other] = [a, b] as [Readonly<Record<string, unknown>>, Readonly<Record<string, unknown>>]
  for (const key in one) if (!isSameData(one[key], other[key])) return false
  for (const key in other) if (other[key] !== undefined && one[key] === undefined) return false
  return true
}

/** The verdict as it is stored under the name of its NodeClaim. */
export function formatVerdict({ node, nodePool, since, price, moves }: Verdict): string {
  return JSON.stringify({ node, nodePool, since, price, moves })
}

/** Verdicts are spread over so many ConfigMaps, since one holds no more than a megabyte. */
export const verdictShards = 16

/** Key of the time of the last evaluation, in the first ConfigMap; no NodeClaim can have such a name. */
export const lastPassKey = 'LastPass'

export function verdictMapName(shard: number): string {
  return `joiner-evaluations-${shard}`
}

/** The ConfigMap of a NodeClaim, by its name (FNV-1a). */
export function verdictShard(nodeClaim: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < nodeClaim.length; at++) hash = Math.imul(hash ^ nodeClaim.charCodeAt(at), 0x01000193)
  return (hash >>> 0) % verdictShards
}
