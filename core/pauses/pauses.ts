import { noReason } from '../values/texts.ts'
import { timeText } from '../values/time.ts'

/** The loops that an operator can pause. */
export type LoopName = 'provisioning' | 'disruption'

/** The disruption reasons that can be paused one by one. */
export const pausableReasons = ['Unhealthy', 'Empty', 'Drifted', 'Underutilized'] as const
export type PausableReason = (typeof pausableReasons)[number]

/** Scope of a pause. `cluster` is the whole loop, and the only scope that stops the loop itself. */
export type PauseScope =
  | { readonly kind: 'cluster' }
  | { readonly kind: 'nodePool'; readonly name: string }
  /** Name of the Node or of its NodeClaim. */
  | { readonly kind: 'node'; readonly name: string }
  | { readonly kind: 'reason'; readonly reason: PausableReason }

/** A pause as an operator requested it. */
export interface Pause {
  readonly reason: string
  /** Epoch ms. */
  readonly sinceMs: number
  /** Epoch ms; unset until resumed. */
  readonly untilMs?: number
  /** Unset when the requester is unknown. */
  readonly by?: string
  /** Unset for the whole loop. */
  readonly scope?: PauseScope
}

/** Objects that a disruption would affect. */
export interface DisruptionTarget {
  readonly nodePool: string
  readonly node?: string
  readonly nodeClaim?: string
  readonly reason: string
}

/** Longest key of a ConfigMap. Every name that Kubernetes allows for a NodePool or Node fits, except for the length. */
const longestKey = 253
const nameSyntax = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/

export const wholeLoop: PauseScope = { kind: 'cluster' }

export function scopeOf(pause: Pause): PauseScope {
  return pause.scope ?? wholeLoop
}

/** Returns the key of a loop's pause of a scope in the ConfigMap of pauses. */
export function pauseKey(loop: LoopName, scope: PauseScope): string {
  if (scope.kind === 'cluster') return loop
  if (scope.kind === 'reason') return `${loop}.reason.${scope.reason}`
  return `${loop}.${scope.kind.toLowerCase()}.${scope.name}`
}

/** Whether a text can be the name in a scope: a DNS name that leaves room for the rest of the key. */
export function isScopeName(name: string): boolean {
  return nameSyntax.test(name) && pauseKey('disruption', { kind: 'nodePool', name }).length <= longestKey
}

/**
 * Returns loop and scope of a key; scope unset when unreadable. A key of neither loop belongs to disruption. A pause is a brake, so an unknown entry
 * pauses the loop that removes nodes, and no pod has to wait for it.
 */
function readKey(key: string): { readonly loop: LoopName; readonly scope?: PauseScope } {
  const [loop = '', kind = '', ...rest] = key.split('.')
  if (loop === 'provisioning') return key === loop ? { loop, scope: wholeLoop } : { loop }
  if (loop !== 'disruption') return { loop: 'disruption' }
  if (key === loop) return { loop, scope: wholeLoop }
  const name = rest.join('.')
  if (kind === 'nodepool' && isScopeName(name)) return { loop, scope: { kind: 'nodePool', name } }
  if (kind === 'node' && isScopeName(name)) return { loop, scope: { kind: 'node', name } }
  const reason = pausableReasons.find((each) => each === name)
  if (kind === 'reason' && reason !== undefined) return { loop, scope: { kind: 'reason', reason } }
  return { loop }
}

/** Returns the ConfigMap's entry of a pause. */
export function formatPause({ reason, sinceMs, untilMs, by }: Pause): string {
  return JSON.stringify({
    reason,
    since: new Date(sinceMs).toISOString(),
    ...(untilMs === undefined ? {} : { until: new Date(untilMs).toISOString() }),
    ...(by === undefined ? {} : { by }),
  })
}

/** An unreadable entry counts as a pause without end, since a pause is a brake. */
function parsePause(text: string): Pause {
  try {
    const value = JSON.parse(text) as Readonly<Record<'reason' | 'since' | 'until' | 'by', unknown>>
    const sinceMs = timeOf(value.since)
    const untilMs = timeOf(value.until)
    return {
      reason: typeof value.reason === 'string' ? value.reason : noReason,
      sinceMs: sinceMs ?? 0,
      ...(untilMs === undefined ? {} : { untilMs }),
      ...(typeof value.by === 'string' ? { by: value.by } : {}),
    }
  } catch {
    return { reason: `the entry cannot be read: ${text.slice(0, 80)}`, sinceMs: 0 }
  }
}

function timeOf(value: unknown): number | undefined {
  const time = typeof value === 'string' ? Date.parse(value) : Number.NaN
  return Number.isNaN(time) ? undefined : time
}

/** The ConfigMap's entries of one loop. */
export interface StoredPauses {
  readonly inForce: readonly Pause[]
  /** Keys of expired entries. */
  readonly over: readonly string[]
  /** All keys of the loop, and the unreadable ones among them: they count as pauses of the whole loop. */
  readonly keys: readonly string[]
  readonly unreadable: readonly string[]
}

/** Reads the entries of the ConfigMap of pauses. `now`: epoch ms. */
export function storedPauses(data: Readonly<Record<string, string>>, loop: LoopName, now: number): StoredPauses {
  const inForce: Pause[] = []
  const over: string[] = []
  const keys: string[] = []
  const unreadable: string[] = []
  for (const [key, text] of Object.entries(data)) {
    const read = readKey(key)
    if (read.loop !== loop) continue
    keys.push(key)
    const pause = parsePause(text)
    if (read.scope === undefined) unreadable.push(key)
    if (pause.untilMs !== undefined && pause.untilMs <= now) over.push(key)
    else if (read.scope === undefined)
      inForce.push({ ...pause, reason: `${pause.reason} (key ${JSON.stringify(key)} is no scope)`, scope: wholeLoop })
    else inForce.push({ ...pause, scope: read.scope })
  }
  return { inForce, over, keys, unreadable }
}

/** Pauses of disruption in force at one moment. `inForce` is plain data, so that another thread can rebuild the object. */
export class Pauses {
  readonly inForce: readonly Pause[]

  constructor(inForce: readonly Pause[]) {
    this.inForce = inForce
  }

  /** Returns the pause of the whole loop, if there is one. */
  get wholeLoop(): Pause | undefined {
    return this.#first((scope) => scope.kind === 'cluster')
  }

  /** Returns the pause that forbids a disruption: the widest one that covers it (cluster, then NodePool, node, reason). */
  covering({ nodePool, node, nodeClaim, reason }: DisruptionTarget): Pause | undefined {
    if (this.inForce.length === 0) return undefined
    return (
      this.wholeLoop ??
      this.#first((scope) => scope.kind === 'nodePool' && scope.name === nodePool) ??
      this.#first((scope) => scope.kind === 'node' && (scope.name === node || scope.name === nodeClaim)) ??
      this.#first((scope) => scope.kind === 'reason' && scope.reason === reason)
    )
  }

  /** Pauses to show on a NodePool: those of the cluster, of the pool, and of one reason. */
  onNodePool(name: string): readonly Pause[] {
    return this.inForce.filter((pause) => {
      const scope = scopeOf(pause)
      return scope.kind === 'cluster' || scope.kind === 'reason' || (scope.kind === 'nodePool' && scope.name === name)
    })
  }

  /** Pauses to show on a NodeClaim: those of its node. Pauses of its pool are shown on the NodePool. */
  onNodeClaim(name: string, node: string | undefined): readonly Pause[] {
    return this.inForce.filter((pause) => {
      const scope = scopeOf(pause)
      return scope.kind === 'node' && (scope.name === name || scope.name === node)
    })
  }

  #first(covers: (scope: PauseScope) => boolean): Pause | undefined {
    return this.inForce.find((pause) => covers(scopeOf(pause)))
  }
}

/** `disruption of NodePool "general"`. */
export function scopeText(loop: LoopName, scope: PauseScope): string {
  if (loop === 'provisioning') return 'provisioning'
  if (scope.kind === 'cluster') return 'all disruption'
  if (scope.kind === 'reason') return `disruption for reason ${scope.reason}`
  return `disruption of ${scope.kind === 'nodePool' ? 'NodePool' : 'node'} "${scope.name}"`
}

/** Returns on one line the scope, requester, reason, start and end of a pause. */
export function pauseText(loop: LoopName, pause: Pause): string {
  const { reason, sinceMs, untilMs, by } = pause
  const who = by === undefined ? '' : ` by ${by}`
  const since = sinceMs === 0 ? '' : ` since ${timeText(sinceMs)}`
  const until = untilMs === undefined ? 'until resumed' : `until ${timeText(untilMs)}`
  const [unsaid, why] = reason === noReason ? [`, ${noReason},`, ''] : ['', `: ${reason}`]
  return `${scopeText(loop, scopeOf(pause))} is paused${who}${unsaid}${since} ${until}${why}`
}

/** The same for a line of a timeline, which shows 120 characters of it: since when is the time of the event. */
export function pauseTitle(loop: LoopName, pause: Pause): string {
  return pauseText(loop, { ...pause, sinceMs: 0 })
}
