import type { DisruptionMethod } from '../command.ts'
import type { Cause } from './cause.ts'

/**
 * Outcome of considering a node. `blocked`: it may not be disrupted at all now. `hindered`: its pods, or prices, do not allow it. `budget`,
 * `rejected`: it could go, but budgets or its policy forbid it. `unsuitable`: the method does not apply to such a node. `not-looked-at`: the method
 * did not reach it, or only together with others.
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

/** One possible disruption of a node, for all methods with the same result. */
export interface Move {
  readonly methods: readonly DisruptionMethod[]
  readonly outcome: MoveOutcome
  readonly cause: Cause
  /** Upper bound of the savings lost, in USD an hour: the node's price. Unset when none are lost or their amount is unknown. */
  readonly savingsForgone?: number
}

/** The last evaluation's findings about a node. */
export interface Verdict {
  readonly nodeClaim: string
  readonly node?: string
  readonly nodePool: string
  /** RFC 3339 time since which it has been unchanged. */
  readonly since: string
  /** USD an hour; unset when unknown. */
  readonly price?: number
  readonly moves: readonly Move[]
}

/** Limits on a verdict's text lengths and list items, from generous to small. */
const cuts = [
  { text: 300, items: 5 },
  { text: 150, items: 5 },
  { text: 150, items: 2 },
  { text: 80, items: 1 },
  { text: 40, items: 0 },
] as const

/** Fields that are never cut: a part of a name names nothing. */
const names: ReadonlySet<string> = new Set(['kind', 'name', 'pod', 'nodePool', 'label', 'instanceType'])

/** Returns the verdict, cut until its text has at most `most` characters. */
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

/** Returns plain data with shorter texts and lists. */
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

/** Whether two verdicts differ only in their time. A large cluster compares them for each node in every pass. */
export function sameVerdict(a: Verdict, b: Verdict): boolean {
  return (
    a.nodeClaim === b.nodeClaim &&
    a.node === b.node &&
    a.nodePool === b.nodePool &&
    a.price === b.price &&
    sameList(a.moves, b.moves, (one, other) => sameMove(one, other) && sameList(one.methods, other.methods, isSame))
  )
}

/** Whether moves are equal apart from their methods. */
export function sameMove(a: Move, b: Move): boolean {
  return a.outcome === b.outcome && a.savingsForgone === b.savingsForgone && isSameData(a.cause, b.cause)
}

function sameList<T>(a: readonly T[] = [], b: readonly T[] = [], same: (one: T, other: T) => boolean): boolean {
  return a.length === b.length && a.every((one, at) => same(one, b[at] as T))
}

const isSame = <T>(a: T, b: T) => a === b

/** Whether plain data is equal; an undefined field equals a missing one. */
function isSameData(a: unknown, b: unknown): boolean {
  if (a === b) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
  const [one, other] = [a, b] as [Readonly<Record<string, unknown>>, Readonly<Record<string, unknown>>]
  for (const key in one) if (!isSameData(one[key], other[key])) return false
  for (const key in other) if (other[key] !== undefined && one[key] === undefined) return false
  return true
}

/** Returns the verdict as it is stored under the name of its NodeClaim. */
export function formatVerdict({ node, nodePool, since, price, moves }: Verdict): string {
  return JSON.stringify({ node, nodePool, since, price, moves })
}

/** Number of ConfigMaps for verdicts: one holds no more than a megabyte. */
export const verdictShards = 16

/** Key of the last evaluation, in the first ConfigMap; no NodeClaim can have such a name. */
export const lastPassKey = 'LastPass'

/** The last evaluation that was recorded. */
export interface LastPass {
  /** Epoch ms. */
  readonly atMs: number
  /** How many commands it found. */
  readonly commands: number
}

export function formatLastPass({ atMs, commands }: LastPass): string {
  return JSON.stringify({ at: new Date(atMs).toISOString(), commands })
}

export function verdictMapName(shard: number): string {
  return `joiner-evaluations-${shard}`
}

/** Returns the ConfigMap of a NodeClaim, by its name (FNV-1a). */
export function verdictShard(nodeClaim: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < nodeClaim.length; at++) hash = Math.imul(hash ^ nodeClaim.charCodeAt(at), 0x01000193)
  return (hash >>> 0) % verdictShards
}
