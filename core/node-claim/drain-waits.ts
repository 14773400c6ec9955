// What a drain waits for, in words and since when, and when that is news to whom.
import type { Pod } from '../objects.ts'
import { podName } from '../pods/pod-rules.ts'
import type { VolumeAttachment } from '../pods/related-objects.ts'
import { timeText } from '../values/time.ts'
import type { HeldBy } from './drain.ts'

/** One thing that keeps a node, as histories, conditions and events have it. */
export interface DrainWait {
  /** The object and why, such as `pod default/web-1 has the annotation karpenter.sh/do-not-disrupt`. */
  readonly what: string
  /** Epoch ms. */
  readonly sinceMs: number
}

/** Some of what keeps a node, and how many things do so beside. */
export interface DrainWaits {
  readonly on: readonly DrainWait[]
  readonly more: number
}

/** What a caller of `drain` knows, so that it is told news only. */
export interface DrainTold {
  readonly waits: DrainWaits
  /** How often it was told. */
  readonly reports: number
  /** How often it looked whether the VM of a Node that is not ready still exists. */
  readonly vmLooks: number
}

/** What a caller knows who has just begun to drain. */
export const nothingTold: DrainTold = { waits: { on: [], more: 0 }, reports: 0, vmLooks: 0 }

/** Something that keeps a node at one look. */
export interface Hold {
  readonly what: string
  /** Nothing moves by itself: a budget, an annotation, a refusal. Everything else takes its time and then ends. */
  readonly isBlocked: boolean
  /** Epoch ms from which on it should have ended by itself, where that is known. */
  readonly dueMs?: number
}

export type SeenHold = Hold & DrainWait

/** What the API server has answered to an eviction that it did not take. */
export interface Refusal {
  readonly kind: 'budget' | 'manyBudgets' | 'other'
  /** What it said. */
  readonly message: string
  /** The PodDisruptionBudgets that select the pod, as `namespace/name`. */
  readonly budgets: readonly string[]
}

const mostNamed = 5
/** Names of Kubernetes objects have up to 253 characters; five of these, with what was told before, stay far below 4 KiB. */
const mostChars = 300
/** What is blocked is told its caller when it has lasted for this long. */
const blockedForMs = 10_000
/** What ends by itself is told its caller when it lasts for this long, or for longer than it should. */
const slowAfterMs = 60_000
const overdueAfterMs = 10_000
const longestDistanceMs = 15 * 60_000

/** Why a pod keeps its node, with what came of the last attempt to evict it; undefined for one that only waits for its turn. */
export function podHold({ pod, cause }: HeldBy, refusal: Refusal | undefined): Hold | undefined {
  const name = podName(pod)
  const pending = (why: string) => ({ what: bounded(`pod ${name} ${why}`), isBlocked: false })
  switch (cause) {
    case 'forced':
      return pending('is deleted by force, as the time of its NodeClaim ends')
    case 'terminating':
      return { ...pending('is terminating'), dueMs: terminationEnd(pod) }
    case 'doNotDisrupt':
      return { ...pending('has the annotation karpenter.sh/do-not-disrupt'), isBlocked: true }
    case 'laterTier':
      return undefined
    case 'eviction':
      return refusal === undefined
        ? pending('is to be evicted')
        : { what: bounded(refusalText(name, refusal)), isBlocked: true }
  }
}

function refusalText(pod: string, { kind, message, budgets }: Refusal): string {
  const names = `[${budgets.join(' ')}]`
  switch (kind) {
    case 'budget':
      return `evicting pod violates a PDB (Pod=${pod}, PodDisruptionBudget=${names})`
    case 'manyBudgets':
      return `eviction does not support multiple PDBs (Pod=${pod}, PodDisruptionBudget(s)=${names})`
    case 'other':
      return `evicting pod fails (Pod=${pod}): ${message}`
  }
}

/** The API server sets the deletion time to the end of the grace period. */
function terminationEnd({ metadata }: Pod): number {
  return Date.parse(metadata.deletionTimestamp ?? '')
}

/** A volume that is still attached. */
export function volumeHold({ metadata, persistentVolumeName }: VolumeAttachment): Hold {
  return {
    what: bounded(`VolumeAttachment ${metadata.name} of PersistentVolume ${persistentVolumeName} is not detached`),
    isBlocked: false,
  }
}

const bounded = (text: string) => (text.length > mostChars ? `${text.slice(0, mostChars - 3)}...` : text)

/** Holds with the time since when each has been there: what was seen before keeps its time. Those that are blocked come first. */
export function sinceWhen(holds: readonly Hold[], before: readonly DrainWait[], now: number): readonly SeenHold[] {
  const known = new Map(before.map(({ what, sinceMs }) => [what, sinceMs]))
  const seen = holds.map((hold) => ({ ...hold, sinceMs: known.get(hold.what) ?? now }))
  return seen.sort((a, b) => Number(b.isBlocked) - Number(a.isBlocked) || (a.what < b.what ? -1 : 1))
}

/** The first few, without what only decides about telling. */
export function firstOf(seen: readonly SeenHold[]): DrainWaits {
  const on = seen.slice(0, mostNamed).map(({ what, sinceMs }) => ({ what, sinceMs }))
  return { on, more: seen.length - on.length }
}

/** What lasts for so long that an operator should see it without asking the cluster. */
function lasting(seen: readonly SeenHold[], now: number): DrainWaits {
  return firstOf(
    seen.filter(({ isBlocked, sinceMs, dueMs = Number.POSITIVE_INFINITY }) =>
      isBlocked ? now >= sinceMs + blockedForMs : now >= Math.min(sinceMs + slowAfterMs, dueMs + overdueAfterMs),
    ),
  )
}

/**
 * What the caller of a drain should be told now; undefined: nothing new. The distance between two reports doubles, so a drain costs a number of
 * history events that grows with the logarithm of its time, and an untroubled one none. `askedMs`: when the caller asked.
 */
export function newsFor(
  told: DrainTold,
  { seen, askedMs, now }: { readonly seen: readonly SeenHold[]; readonly askedMs: number; readonly now: number },
): DrainWaits | undefined {
  if (now < askedMs + reportDistanceMs(told.reports)) return undefined
  const waits = lasting(seen, now)
  const names = ({ on }: DrainWaits) => on.map(({ what }) => what).join('\n')
  return names(waits) === names(told.waits) ? undefined : waits
}

/** How long after a report the next one may come. */
export function reportDistanceMs(reports: number): number {
  return Math.min(blockedForMs * 2 ** reports, longestDistanceMs)
}

/** Whether the VM of a Node that is not ready should be looked for now: at once, and then as reports are told. */
export function isVmLookDue(told: DrainTold, askedMs: number, now: number): boolean {
  return told.vmLooks === 0 || now >= askedMs + reportDistanceMs(told.vmLooks - 1)
}

/** As conditions, events and the status of a lifecycle have it; empty where nothing is waited for. */
export function waitsText({ on, more }: DrainWaits): string {
  const named = on.map(({ what, sinceMs }) => `${what}, since ${timeText(sinceMs)}`)
  return [...named, ...(more > 0 ? [`and ${more} more`] : [])].join('; ')
}
