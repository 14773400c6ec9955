import type { DisruptionMethod } from './command.ts'

/**
 * What came of looking at a node in one way. `blocked`: it may not be disrupted at all now; `hindered`: its pods, or prices, do not allow it;
 * `budget`, `rejected`: it could go, but budgets or its policy say no; `unsuitable`: the method is not about such a node; `not-looked-at`: the
 * method has not come to it, or only together with others.
 */
const moveOutcomes = ['chosen', 'hindered', 'budget', 'rejected', 'blocked', 'unsuitable', 'not-looked-at'] as const
export type MoveOutcome = (typeof moveOutcomes)[number]

/** A pod that keeps its node, as `namespace/name`, and why it would not find another place. */
export interface BlockingPod {
  readonly name: string
  readonly constraint?: string
}

/** One thing that could have been done with a node, for all methods to which it looked the same. */
export interface Move {
  readonly methods: readonly DisruptionMethod[]
  readonly outcome: MoveOutcome
  readonly message: string
  /** The first few. */
  readonly pods?: readonly BlockingPod[]
  /** How many pods there are beyond those. */
  readonly morePods?: number
  /** PodDisruptionBudgets that forbid an eviction, as `namespace/name`. */
  readonly podDisruptionBudgets?: readonly string[]
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

/** How long texts of a verdict may be, and how many pods it names, from generous to scant. */
const cuts = [
  { text: 300, pods: 5 },
  { text: 150, pods: 5 },
  { text: 150, pods: 2 },
  { text: 80, pods: 1 },
  { text: 40, pods: 0 },
] as const

/** The verdict, cut until its text has at most so many characters. */
export function boundedVerdict(verdict: Verdict, most: number): Verdict {
  let bounded = verdict
  for (const cut of cuts) {
    bounded = { ...verdict, moves: verdict.moves.map((move) => cutMove(move, cut)) }
    if (formatVerdict(bounded).length <= most) return bounded
  }
  return { ...bounded, moves: bounded.moves.slice(0, 1) }
}

function cutMove(move: Move, { text, pods: most }: (typeof cuts)[number]): Move {
  const { pods = [], morePods = 0, podDisruptionBudgets = [], ...rest } = move
  const shown = pods.slice(0, most).map(({ name, constraint }) => ({
    name,
    ...(constraint === undefined ? {} : { constraint: shortened(constraint, text) }),
  }))
  const more = morePods + pods.length - shown.length
  return {
    ...rest,
    message: shortened(move.message, text),
    ...(shown.length === 0 ? {} : { pods: shown }),
    ...(more === 0 ? {} : { morePods: more }),
    ...(podDisruptionBudgets.length === 0 ? {} : { podDisruptionBudgets: podDisruptionBudgets.slice(0, most) }),
  }
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
  return (
    a.outcome === b.outcome &&
    a.message === b.message &&
    a.morePods === b.morePods &&
    a.savingsForgone === b.savingsForgone &&
    sameList(a.pods, b.pods, (one, other) => one.name === other.name && one.constraint === other.constraint) &&
    sameList(a.podDisruptionBudgets, b.podDisruptionBudgets, isSame)
  )
}

function sameList<T>(a: readonly T[] = [], b: readonly T[] = [], same: (one: T, other: T) => boolean): boolean {
  return a.length === b.length && a.every((one, at) => same(one, b[at] as T))
}

const isSame = <T>(a: T, b: T) => a === b

/** The verdict as it is stored under the name of its NodeClaim. */
export function formatVerdict({ node, nodePool, since, price, moves }: Verdict): string {
  return JSON.stringify({ node, nodePool, since, price, moves })
}

/** Reads a stored verdict; undefined: it is none, or of another version. */
export function parseVerdict(nodeClaim: string, text: string): Verdict | undefined {
  try {
    const { node, nodePool, since, price, moves } = JSON.parse(text) as Readonly<Record<string, unknown>>
    if (typeof nodePool !== 'string' || typeof since !== 'string' || !Array.isArray(moves) || !moves.every(isMove))
      return undefined
    return {
      nodeClaim,
      nodePool,
      since,
      moves,
      ...(typeof node === 'string' ? { node } : {}),
      ...(typeof price === 'number' ? { price } : {}),
    }
  } catch {
    return undefined
  }
}

const isTextOrNone = (value: unknown) => value === undefined || typeof value === 'string'
const isNumberOrNone = (value: unknown) => value === undefined || typeof value === 'number'
const isTexts = (value: unknown) => Array.isArray(value) && value.every((one) => typeof one === 'string')

function isMove(value: unknown): value is Move {
  if (typeof value !== 'object' || value === null) return false
  const { methods, outcome, message, pods, morePods, podDisruptionBudgets, savingsForgone } = value as Record<
    keyof Move,
    unknown
  >
  return (
    isTexts(methods) &&
    moveOutcomes.some((one) => one === outcome) &&
    typeof message === 'string' &&
    (pods === undefined || (Array.isArray(pods) && pods.every(isBlockingPod))) &&
    isNumberOrNone(morePods) &&
    (podDisruptionBudgets === undefined || isTexts(podDisruptionBudgets)) &&
    isNumberOrNone(savingsForgone)
  )
}

function isBlockingPod(value: unknown): value is BlockingPod {
  if (typeof value !== 'object' || value === null) return false
  const { name, constraint } = value as Record<keyof BlockingPod, unknown>
  return typeof name === 'string' && isTextOrNone(constraint)
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
