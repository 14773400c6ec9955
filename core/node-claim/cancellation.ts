import { allowedDisruptions } from '../disruption/budgets/budgets.ts'
import { budgetUses, poolCounts } from '../disruption/candidates.ts'
import type { NodeClaim, NodePool } from '../objects.ts'
import { type Pauses, pauseText } from '../pauses/pauses.ts'
import { labels } from '../requirements/labels.ts'
import type { StateNode } from '../scheduling/state-nodes.ts'
import { timeText } from '../values/time.ts'
import { holdOf, holdText } from './hold.ts'

/** Most lifecycles whose cancellation is applied within `windowMs`. More are an accident: somebody selected all rows of a list. */
const mostCancelled = 3
const windowMs = 60_000
/** How long a refusal is kept, for `joiner status` and `joiner doctor`, and how many at most. */
const refusedMs = 3_600_000
const mostRefused = 500
/** Refusals of one accident follow each other within this time. */
const accidentMs = 120_000

/** Budgets with reasons limit what Joiner does for these. A cancellation is an operator's, so only those without reasons apply. */
const budgetReason = 'Cancelled'

/** Name of the ConfigMap of Joiner's namespace with the cancellations of late. */
export const cancellationsMap = 'joiner-cancellations'

export interface Accepted {
  /** Epoch ms. */
  readonly atMs: number
  readonly nodeClaim: string
  readonly nodePool: string
}

/** The entries of the ConfigMap, by the UIDs of NodeClaims. */
export interface Cancellations {
  readonly accepted: ReadonlyMap<string, Accepted>
  /** When each was refused, in epoch ms. */
  readonly refused: ReadonlyMap<string, number>
  /** Keys of entries that cannot be read. */
  readonly damaged: readonly string[]
}

export const noCancellations: Cancellations = { accepted: new Map(), refused: new Map(), damaged: [] }

export const acceptedKey = (uid: string) => `accepted.${uid}`
export const refusedKey = (uid: string) => `refused.${uid}`

/** Returns the entry of the ConfigMap for a cancellation that is applied, and removes those that are over. */
export function acceptedEntries(
  claim: NodeClaim,
  all: Cancellations,
  now: number,
): Readonly<Record<string, string | null>> {
  const { name, uid } = claim.metadata
  const entry = {
    at: new Date(now).toISOString(),
    nodeClaim: name,
    nodePool: claim.metadata.labels[labels.nodePool] ?? '',
  }
  return { ...overEntries(all, now), [acceptedKey(uid)]: JSON.stringify(entry) }
}

/** Returns the entry of a refusal; none where there are so many that one more says nothing. */
export function refusedEntries(uid: string, all: Cancellations, now: number): Readonly<Record<string, string | null>> {
  return { ...overEntries(all, now), ...(all.refused.size >= mostRefused ? {} : { [refusedKey(uid)]: timeText(now) }) }
}

function overEntries({ accepted, refused, damaged }: Cancellations, now: number): Readonly<Record<string, null>> {
  const over = [
    ...damaged,
    ...[...accepted].filter(([, { atMs }]) => now - atMs >= windowMs).map(([uid]) => acceptedKey(uid)),
    ...[...refused].filter(([, atMs]) => now - atMs >= refusedMs).map(([uid]) => refusedKey(uid)),
  ]
  return Object.fromEntries(over.map((key) => [key, null]))
}

export interface CancellationView {
  readonly pauses: Pauses
  /** The NodePool of the claim; undefined when there is none. */
  readonly nodePool: NodePool | undefined
  readonly nodes: readonly StateNode[]
  readonly cancellations: Cancellations
  /** Epoch ms. */
  readonly now: number
}

/**
 * Returns why the cancellation of a NodeClaim's lifecycle is refused; undefined when the NodeClaim is to be deleted. A cancellation that was accepted
 * before, by an attempt that was cut off, is not counted again.
 */
export function cancellationRefusal(claim: NodeClaim, view: CancellationView): string | undefined {
  const { pauses, cancellations, now } = view
  const { name, uid } = claim.metadata
  const hold = holdOf(claim, now)
  if (hold !== undefined) return `the NodeClaim is ${holdText(hold)}`
  const pause = pauses.covering({
    nodePool: claim.metadata.labels[labels.nodePool] ?? '',
    ...(claim.status.nodeName === undefined ? {} : { node: claim.status.nodeName }),
    nodeClaim: name,
    reason: budgetReason,
  })
  if (pause !== undefined) return pauseText('disruption', pause)
  const recent = [...cancellations.accepted].filter(([, { atMs }]) => now - atMs < windowMs)
  if (recent.some(([each]) => each === uid)) return undefined
  const accepted = recent.map(([, each]) => each)
  if (accepted.length >= mostCancelled)
    return `${accepted.length} lifecycles were cancelled within a minute, and more are taken for an accident`
  return budgetRefusal(claim, view, accepted)
}

/** A node that is not initialized serves nothing yet, so that no budget counts it. */
function budgetRefusal(
  { metadata }: NodeClaim,
  { nodePool, nodes, now }: CancellationView,
  accepted: readonly Accepted[],
): string | undefined {
  const use = [...budgetUses(nodes, {})].find(([{ claim }]) => claim?.metadata.uid === metadata.uid)?.[1]
  if (nodePool === undefined || use === undefined || use === 'none') return undefined
  const { name } = nodePool.metadata
  const count = poolCounts({ nodes }).get(name) ?? { nodes: 0, disrupted: [] }
  const { allowed } = allowedDisruptions({
    budgets: nodePool.disruption.budgets,
    nodes: count.nodes,
    reason: budgetReason,
    now,
  })
  const others = accepted.filter((each) => each.nodePool === name).map(({ nodeClaim }) => nodeClaim)
  // One that is not ready counts already, and may go itself.
  const leaving = new Set([...count.disrupted, ...others])
  leaving.delete(metadata.name)
  if (leaving.size < allowed) return undefined
  return `spec.disruption.budgets of NodePool ${name} allow ${allowed} of its ${count.nodes} nodes to be disrupted at once, and ${leaving.size} are`
}

/** Returns what `joiner status` and `joiner doctor` say of refusals within the last hour, the latest accident; undefined when there was none. */
export function refusedCancellations({ refused }: Cancellations, now: number): string | undefined {
  const times = [...refused.values()].filter((ms) => now - ms < refusedMs)
  if (times.length === 0) return undefined
  const last = Math.max(...times)
  const count = times.filter((ms) => last - ms < accidentMs).length
  const many = count >= mostRefused ? `${mostRefused} or more` : String(count)
  return `${many} cancellation${count === 1 ? '' : 's'} of lifecycles in Temporal ${count === 1 ? 'was' : 'were'} refused at ${timeText(last)}: their nodes stay. Events CancellationRefused say why; to delete a node: kubectl delete nodeclaim NAME`
}
