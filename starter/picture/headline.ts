import { conditionOf, whyUnowned } from '../../core/conditions.ts'
import { holdOf, holdText } from '../../core/node-claim/hold.ts'
import { type Phase, phaseOf } from '../../core/node-claim/phase.ts'
import type { Node, NodeClaim } from '../../core/objects.ts'
import { annotations, taintKeys } from '../../core/requirements/labels.ts'
import { timeText } from '../../core/values/time.ts'

/** As much of a NodeClaim as its headline follows from. */
export interface HeadlineClaim extends Pick<NodeClaim, 'metadata'> {
  readonly status: Pick<NodeClaim['status'], 'conditions'>
}

/** As much of a Node. */
export interface NodeStanding {
  readonly metadata: Pick<Node['metadata'], 'creationTimestamp' | 'deletionTimestamp'>
  readonly isDisrupted: boolean
  readonly isProtected: boolean
  /** Why it is not ready; absent: it is. */
  readonly notReady?: string
}

/** What is said first of a node, wherever it is shown. */
export interface Headline {
  /** `Unmanaged`: it has no NodeClaim. */
  readonly phase: Exclude<Phase, 'Gone'> | 'Unmanaged'
  /** Epoch ms. */
  readonly sinceMs: number
  /** Why it leaves, what it waits for, who holds it, what is odd about it: what matters most first. None: nothing. */
  readonly notes: readonly string[]
}

/** Returns what a headline needs of a Node. */
export function standingOf({ metadata, taints, conditions }: Node): NodeStanding {
  const ready = conditionOf(conditions, 'Ready')
  return {
    metadata,
    isDisrupted: taints.some(({ key }) => key === taintKeys.disrupted),
    isProtected: metadata.annotations[annotations.doNotDisrupt] === 'true',
    ...(ready?.status === 'True' ? {} : { notReady: ready?.reason || ready?.message || 'no condition Ready' }),
  }
}

/** Returns the headline of a node; one of `node` and `claim` is there. `now`: epoch ms. */
export function headlineOf(
  { node, claim }: { readonly node?: NodeStanding | undefined; readonly claim?: HeadlineClaim | undefined },
  now: number,
): Headline {
  const { phase, sinceMs } =
    claim === undefined
      ? ({ phase: 'Unmanaged', sinceMs: Date.parse(node?.metadata.creationTimestamp ?? '') } as const)
      : phaseOf(claim)
  const notes = [...(claim === undefined ? [] : claimNotes(claim, now)), ...(node === undefined ? [] : nodeNotes(node))]
  return { phase, sinceMs, notes: notes.flatMap((note) => note || []) }
}

/** `Draining since 2026-11-29T12:00:00Z: Underutilized: 2 pods leave`. */
export function headlineText({
  phase,
  sinceMs,
  notes: [first],
}: Omit<Headline, 'phase'> & { readonly phase: string }): string {
  const since = Number.isNaN(sinceMs) ? '' : ` since ${timeText(sinceMs)}`
  return `${phase}${since}${first === undefined ? '' : `: ${first}`}`
}

function claimNotes(claim: HeadlineClaim, now: number): readonly (string | undefined)[] {
  const interrupted = claim.metadata.annotations[annotations.interrupted]
  const hold = holdOf(claim, now)
  return [
    interrupted && `interrupted: ${interrupted}`,
    leaving(claim),
    whyUnowned(claim.status.conditions),
    phaseOf(claim).because,
    hold && holdText(hold),
  ]
}

/** Returns why a claim leaves, and what its drain waits for. */
function leaving(claim: HeadlineClaim): string | undefined {
  const reason = conditionOf(claim.status.conditions, 'DisruptionReason')?.reason
  if (claim.metadata.deletionTimestamp === undefined)
    return reason === undefined ? undefined : `${reason}: about to leave`
  const { because } = phaseOf(claim)
  return [reason ?? 'deleted', ...(because === undefined ? [] : [because])].join(': ')
}

function nodeNotes({ metadata, notReady, isDisrupted, isProtected }: NodeStanding): readonly (string | undefined)[] {
  return [
    metadata.deletionTimestamp && 'being deleted',
    notReady && `not ready: ${notReady}`,
    isDisrupted ? 'tainted for disruption' : undefined,
    isProtected ? 'do-not-disrupt' : undefined,
  ]
}
