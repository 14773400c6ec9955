import { timeText } from '../values/time.ts'

/** The loops that an operator can pause. */
export type LoopName = 'provisioning' | 'disruption'

/** The disruption reasons that can be paused one by one. */
export const pausableReasons = ['Empty', 'Drifted', 'Underutilized'] as const
export type PausableReason = (typeof pausableReasons)[number]

/** What a pause holds still. `cluster` is the whole loop, and the only scope that stops the loop itself. */
export type PauseScope =
  | { readonly kind: 'cluster' }
  | { readonly kind: 'nodePool'; readonly name: string }
  /** By the name of the Node or of its NodeClaim. */
  | { readonly kind: 'node'; readonly name: string }
  | { readonly kind: 'reason'; readonly reason: PausableReason }

/** A pause as an operator asked for it. */
export interface Pause {
  readonly reason: string
  /** Epoch ms. */
  readonly sinceMs: number
  /** Epoch ms; absent: until resumed. */
  readonly untilMs?: number
  /** Who asked for it; absent: nobody said. */
  readonly by?: string
  /** Absent: the whole loop. */
  readonly scope?: PauseScope
}

/** What a disruption would touch. */
export interface DisruptionTarget {
  readonly nodePool: string
  readonly node?: string
  readonly nodeClaim?: string
  readonly reason: string
}

/** What a ConfigMap's key may hold. Every name that Kubernetes gives a NodePool or Node fits, but for the length. */
const longestKey = 253
const nameSyntax = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/

export const wholeLoop: PauseScope = { kind: 'cluster' }

export function scopeOf(pause: Pause): PauseScope {
  return pause.scope ?? wholeLoop
}

/** The key under which a loop's pause of a scope stands in the ConfigMap of pauses. */
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
 * Loop and scope of a key; scope absent: it cannot be read. A key of neither loop belongs to disruption: a pause is a brake, so what somebody
 * wrote there and nobody understands holds the loop that takes nodes away, and no pod has to wait for it.
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

/** The ConfigMap's entry of a pause. */
export function formatPause({ reason, sinceMs, untilMs, by }: Pause): string {
  return JSON.stringify({
    reason,
    since: new Date(sinceMs).toISOString(),
    ...(untilMs === undefined ? {} : { until: new Date(untilMs).toISOString() }),
    ...(by === undefined ? {} : { by }),
  })
}

/** An entry that cannot be read counts as a pause without end, since a pause is a brake. */
function parsePause(text: string): Pause {
  try {
    const value = JSON.parse(text) as Readonly<Record<'reason' | 'since' | 'until' | 'by', unknown>>
    const sinceMs = timeOf(value.since)
    const untilMs = timeOf(value.until)
    return {
      reason: typeof value.reason === 'string' ? value.reason : 'no reason given',
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

/** What the ConfigMap says about one loop. */
export interface StoredPauses {
  readonly inForce: readonly Pause[]
  /** Keys of entries whose time is over. */
  readonly over: readonly string[]
  /** All keys of the loop, and those among them that cannot be read: they count as pauses of the whole loop. */
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

/** The pauses of disruption that are in force at one moment. Plain data in `inForce`, so that another thread can make its own of it. */
export class Pauses {
  readonly inForce: readonly Pause[]

  constructor(inForce: readonly Pause[]) {
    this.inForce = inForce
  }

  /** The pause of the whole loop, if there is one. */
  get wholeLoop(): Pause | undefined {
    return this.#first((scope) => scope.kind === 'cluster')
  }

  /** What forbids a disruption: the widest pause that covers it (cluster, then NodePool, node, reason). */
  covering({ nodePool, node, nodeClaim, reason }: DisruptionTarget): Pause | undefined {
    if (this.inForce.length === 0) return undefined
    return (
      this.wholeLoop ??
      this.#first((scope) => scope.kind === 'nodePool' && scope.name === nodePool) ??
      this.#first((scope) => scope.kind === 'node' && (scope.name === node || scope.name === nodeClaim)) ??
      this.#first((scope) => scope.kind === 'reason' && scope.reason === reason)
    )
  }

  /** What an operator is to see on a NodePool: pauses of the cluster, of the pool, and of one reason. */
  onNodePool(name: string): readonly Pause[] {
    return this.inForce.filter((pause) => {
      const scope = scopeOf(pause)
      return scope.kind === 'cluster' || scope.kind === 'reason' || (scope.kind === 'nodePool' && scope.name === name)
    })
  }

  /** What an operator is to see on a NodeClaim: pauses of this very node. Those that cover its pool stand on the NodePool. */
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

/** Who paused what, why, since when and until when, on one line. */
export function pauseText(loop: LoopName, pause: Pause): string {
  const { reason, sinceMs, untilMs, by } = pause
  const who = by === undefined ? '' : ` by ${by}`
  const since = sinceMs === 0 ? '' : ` since ${timeText(sinceMs)}`
  const until = untilMs === undefined ? 'until resumed' : `until ${timeText(untilMs)}`
  return `${scopeText(loop, scopeOf(pause))} is paused${who}${since} ${until}: ${reason}`
}
