// Describes what a drain waits for and since when, and decides when to report it.
import type { Pod } from '../objects.ts'
import { podName } from '../pods/pod-rules.ts'
import type { VolumeAttachment } from '../pods/related-objects.ts'
import { annotations } from '../requirements/labels.ts'
import { timeText } from '../values/time.ts'
import type { HeldBy } from './drain.ts'

/** One obstacle to a node's drain, for histories, conditions and events. */
export interface DrainWait {
  /** The object and the reason, such as `pod default/web-1 has the annotation karpenter.sh/do-not-disrupt`. */
  readonly what: string
  /** Epoch ms. */
  readonly sinceMs: number
}

/** Some obstacles to a node's drain, and how many others there are. */
export interface DrainWaits {
  readonly on: readonly DrainWait[]
  readonly more: number
}

/** What the caller of `drain` already knows, so that only changes are reported. */
export interface DrainReported {
  readonly waits: DrainWaits
  readonly reports: number
  /** Number of checks whether the VM of an unready Node still exists. */
  readonly vmLooks: number
}

/** State of a caller that has just begun to drain. */
export const nothingReported: DrainReported = { waits: { on: [], more: 0 }, reports: 0, vmLooks: 0 }

/** An obstacle observed at one poll. */
export interface Hold {
  readonly what: string
  /** Nothing progresses by itself: a budget, an annotation, a refusal. Every other obstacle ends in time. */
  readonly isBlocked: boolean
  /** Epoch ms after which it should have ended by itself, when known. */
  readonly dueMs?: number
}

export type SeenHold = Hold & DrainWait

/** The API server's answer to an eviction that it refused. */
export interface Refusal {
  readonly kind: 'budget' | 'manyBudgets' | 'other'
  readonly message: string
  /** The PodDisruptionBudgets that select the pod, as `namespace/name`. */
  readonly budgets: readonly string[]
}

const mostNamed = 5
/** Names of Kubernetes objects have up to 253 characters. Five of these with the earlier report stay far below 4 KiB. */
const mostChars = 300
/** Minimum age at which a blocked obstacle is reported. */
const blockedForMs = 10_000
/** Minimum age at which an obstacle that ends by itself is reported; one that is overdue is reported earlier. */
const slowAfterMs = 60_000
const overdueAfterMs = 10_000
const longestDistanceMs = 15 * 60_000

/** Returns why a pod keeps its node, with the result of the last eviction attempt; undefined for a pod that only waits for its turn. */
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

const budgetsIn =
  /^evict[^(]*\(Pod=[a-z0-9./-]+, PodDisruptionBudget(?:\(s\))?=\[([a-z0-9.-]+\/[a-z0-9.-]+(?: [a-z0-9.-]+\/[a-z0-9.-]+)*)\]\)$/

/** What an obstacle is about: a pod, as `namespace/name`, and what keeps it, or a VolumeAttachment. */
export interface DrainSubject {
  readonly cause: HeldBy['cause'] | 'attached'
  readonly name: string
}

const subjects: readonly (readonly [DrainSubject['cause'], RegExp])[] = [
  ['forced', /^pod ([a-z0-9.-]+\/[a-z0-9.-]+) is deleted by force/],
  ['terminating', /^pod ([a-z0-9.-]+\/[a-z0-9.-]+) is terminating/],
  ['doNotDisrupt', /^pod ([a-z0-9.-]+\/[a-z0-9.-]+) has the annotation/],
  ['eviction', /^pod ([a-z0-9.-]+\/[a-z0-9.-]+) is to be evicted/],
  ['eviction', /^evict[^(]*\(Pod=([a-z0-9.-]+\/[a-z0-9.-]+)[,)]/],
  ['attached', /^VolumeAttachment ([a-z0-9.-]+) of/],
]

/** Returns what an obstacle is about; undefined for a name that was cut off. Histories keep no more of it than its text. */
export function subjectOf({ what }: Pick<DrainWait, 'what'>): DrainSubject | undefined {
  for (const [cause, text] of subjects) {
    const [, name] = text.exec(what) ?? []
    if (name !== undefined) return { cause, name }
  }
  return undefined
}

/**
 * Returns the command that ends an obstacle, or that says why it does not end; undefined: there is none.
 * A text that ends with words of others, as webhooks refuse an eviction, gives none: people paste commands into a shell.
 */
export function remedyFor({ what }: Pick<DrainWait, 'what'>): string | undefined {
  const [, budgets] = budgetsIn.exec(what) ?? []
  if (budgets !== undefined) return budgetCommand(budgets.split(' '))
  const { cause, name = '' } = subjectOf({ what }) ?? {}
  if (cause === 'doNotDisrupt') return unprotectCommand(name)
  return cause === 'attached' ? volumeCommand(name) : undefined
}

/** Returns the command that edits PodDisruptionBudgets of one namespace, each as `namespace/name`. */
export function budgetCommand(budgets: readonly string[]): string {
  const [namespace = ''] = budgets[0]?.split('/') ?? []
  return `kubectl edit pdb --namespace ${namespace} ${budgets.map((budget) => budget.split('/')[1]).join(' ')}`
}

/** Returns the command that ends the protection of a pod, as `namespace/name`, by its annotation. */
export function unprotectCommand(pod: string): string {
  const [namespace = '', name = ''] = pod.split('/')
  return `kubectl annotate pod --namespace ${namespace} ${name} ${annotations.doNotDisrupt}-`
}

/** Returns the command that says why a volume is not detached. */
export function volumeCommand(attachment: string): string {
  return `kubectl describe volumeattachment ${attachment}`
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

/** Returns holds with their start times: a known hold keeps its time. Blocked ones come first. */
export function sinceWhen(holds: readonly Hold[], before: readonly DrainWait[], now: number): readonly SeenHold[] {
  const known = new Map(before.map(({ what, sinceMs }) => [what, sinceMs]))
  const seen = holds.map((hold) => ({ ...hold, sinceMs: known.get(hold.what) ?? now }))
  return seen.sort((a, b) => Number(b.isBlocked) - Number(a.isBlocked) || (a.what < b.what ? -1 : 1))
}

/** Returns the first few, without fields that only decide about reports. */
export function firstOf(seen: readonly SeenHold[]): DrainWaits {
  const on = seen.slice(0, mostNamed).map(({ what, sinceMs }) => ({ what, sinceMs }))
  return { on, more: seen.length - on.length }
}

/** Returns obstacles old enough that an operator should see them without a query to the cluster. */
function lasting(seen: readonly SeenHold[], now: number): DrainWaits {
  return firstOf(
    seen.filter(({ isBlocked, sinceMs, dueMs = Number.POSITIVE_INFINITY }) =>
      isBlocked ? now >= sinceMs + blockedForMs : now >= Math.min(sinceMs + slowAfterMs, dueMs + overdueAfterMs),
    ),
  )
}

/**
 * Returns the report for the caller of a drain; undefined when nothing is new. The time between two reports doubles, so history events grow with the
 * logarithm of a drain's time. A drain without obstacles has none. `askedMs`: the time of the call.
 */
export function newsFor(
  reported: DrainReported,
  { seen, askedMs, now }: { readonly seen: readonly SeenHold[]; readonly askedMs: number; readonly now: number },
): DrainWaits | undefined {
  if (now < askedMs + reportDistanceMs(reported.reports)) return undefined
  const waits = lasting(seen, now)
  const names = ({ on }: DrainWaits) => on.map(({ what }) => what).join('\n')
  return names(waits) === names(reported.waits) ? undefined : waits
}

/** Returns the minimum time between a report and the next one. */
export function reportDistanceMs(reports: number): number {
  return Math.min(blockedForMs * 2 ** reports, longestDistanceMs)
}

/** Whether to check now for the VM of an unready Node: at once, and then at the intervals of reports. */
export function isVmLookDue(reported: DrainReported, askedMs: number, now: number): boolean {
  return reported.vmLooks === 0 || now >= askedMs + reportDistanceMs(reported.vmLooks - 1)
}

/** Returns the text for conditions, events and the status of a lifecycle; empty when nothing is waited for. */
export function waitsText({ on, more }: DrainWaits): string {
  const named = on.map(({ what, sinceMs }) => `${what}, since ${timeText(sinceMs)}`)
  return [...named, ...(more > 0 ? [`and ${more} more`] : [])].join('; ')
}
