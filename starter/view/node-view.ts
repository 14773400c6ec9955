import { conditionOf, whyUnowned } from '../../core/conditions.ts'
import type { PriceOf } from '../../core/cost/report.ts'
import { holdOf, holdText } from '../../core/node-claim/hold.ts'
import { phaseOf } from '../../core/node-claim/phase.ts'
import { annotations, labels } from '../../core/requirements/labels.ts'
import { shortened } from '../../core/values/shortened.ts'
import type { NodeView, PodBox } from './cluster-view.ts'
import { type ClaimFact, type NodeFact, type PodFact, timeOf } from './facts.ts'

/** What a view of a node is made of; one of `node` and `claim` is there. */
export interface NodeParts {
  readonly key: string
  readonly node: NodeFact | undefined
  readonly claim: ClaimFact | undefined
  readonly pods: Iterable<PodFact>
}

/** What all nodes have in common at one moment. `now`: epoch ms. */
export interface ViewContext {
  readonly now: number
  readonly priceOf: PriceOf | undefined
}

/** A view, and when it changes by itself (epoch ms). */
export interface TimedNodeView {
  readonly view: NodeView
  readonly untilMs: number
}

const longestNote = 160
/** How AKS marks nodes of spot pools, which have no label of Karpenter's. */
const scaleSetPriority = 'kubernetes.azure.com/scalesetpriority'

/** Returns the view of a node at `now`. */
export function nodeView({ key, node, claim, pods }: NodeParts, { now, priceOf }: ViewContext): TimedNodeView {
  const hold = claim === undefined ? undefined : holdOf(claim, now)
  const boxes = boxesOf(pods, now)
  const view: NodeView = {
    key,
    phase: claim === undefined ? 'Unmanaged' : phaseOf(claim).phase,
    createdMs: timeOf((claim ?? node)?.metadata ?? { creationTimestamp: '' }),
    isReady: node !== undefined && node.notReady === undefined,
    isCordoned: node?.unschedulable === true,
    allocatable: allocatableOf(node, claim),
    requested: boxes.requested,
    pods: boxes.pods,
    ...offeringOf(node, claim, priceOf),
    ...texts({
      node: node?.metadata.name,
      nodeClaim: claim?.metadata.name,
      note: noteOf(node, claim, hold && holdText(hold)),
    }),
  }
  return { view, untilMs: Math.min(boxes.untilMs, hold?.untilMs ?? Number.POSITIVE_INFINITY) }
}

/** Returns what is paid for. A NodeClaim without a capacity type has not launched. */
function offeringOf(
  node: NodeFact | undefined,
  claim: ClaimFact | undefined,
  priceOf: PriceOf | undefined,
): Partial<NodeView> {
  // A kubelet may change labels of its Node.
  const all = (claim ?? node)?.metadata.labels ?? {}
  const instanceType = all[labels.instanceType]
  const ofAks = all[scaleSetPriority] === 'spot' ? 'spot' : 'on-demand'
  const capacityType = all[labels.capacityType] ?? (node === undefined ? undefined : ofAks)
  const pricePerHour = instanceType && capacityType ? priceOf?.(instanceType, capacityType) : undefined
  return {
    ...texts({ nodePool: all[labels.nodePool], instanceType, zone: all[labels.zone], capacityType }),
    ...(pricePerHour === undefined ? {} : { pricePerHour }),
  }
}

/** Before its Node reports, a NodeClaim says what it will have. */
function allocatableOf(node: NodeFact | undefined, claim: ClaimFact | undefined): NodeView['allocatable'] {
  if (node !== undefined && node.allocatable.cpu > 0) return node.allocatable
  return claim?.allocatable ?? node?.allocatable ?? { cpu: 0, memory: 0, pods: 0 }
}

function boxesOf(facts: Iterable<PodFact>, now: number) {
  const pods: PodBox[] = []
  let [cpu, memory, untilMs] = [0, 0, Number.POSITIVE_INFINITY]
  for (const { box, markUntilMs } of facts) {
    cpu += box[1]
    memory += box[2]
    if (markUntilMs !== undefined && markUntilMs > now) untilMs = Math.min(untilMs, markUntilMs)
    pods.push(markUntilMs === undefined || markUntilMs > now ? box : [box[0], box[1], box[2]])
  }
  pods.sort(([a], [b]) => (a < b ? -1 : 1))
  return { pods, requested: { cpu, memory }, untilMs }
}

/** Returns the first thing worth saying of a node, cut. */
function noteOf(
  node: NodeFact | undefined,
  claim: ClaimFact | undefined,
  hold: string | undefined,
): string | undefined {
  const ofClaim = claim === undefined ? [] : claimNotes(claim)
  const ofNode = node === undefined ? [] : nodeNotes(node)
  const note = [...ofClaim, ...(hold === undefined ? [] : [hold]), ...ofNode].find(Boolean)
  return note === undefined ? undefined : shortened(note, longestNote)
}

function claimNotes(claim: ClaimFact): readonly (string | undefined)[] {
  const interrupted = claim.metadata.annotations[annotations.interrupted]
  const unowned = whyUnowned(claim.status.conditions)
  return [interrupted && `interrupted: ${interrupted}`, leaving(claim), unowned, phaseOf(claim).because]
}

function nodeNotes({ metadata, notReady, isDisrupted, isProtected }: NodeFact): readonly (string | undefined)[] {
  return [
    metadata.deletionTimestamp && 'being deleted',
    notReady && `not ready: ${notReady}`,
    isDisrupted ? 'tainted for disruption' : undefined,
    isProtected ? 'do-not-disrupt' : undefined,
  ]
}

/** Returns why a claim leaves, and what its drain waits for. */
function leaving({ metadata, status }: ClaimFact): string | undefined {
  const reason = conditionOf(status.conditions, 'DisruptionReason')?.reason
  if (metadata.deletionTimestamp === undefined) return reason === undefined ? undefined : `${reason}: about to leave`
  const { because } = phaseOf({ metadata, status })
  return [reason ?? 'deleted', ...(because === undefined ? [] : [because])].join(': ')
}

function texts<K extends string>(given: Readonly<Record<K, string | undefined>>): { readonly [key in K]?: string } {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value)) as { readonly [key in K]?: string }
}
