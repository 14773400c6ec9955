import type { PriceOf } from '../../../core/cost/report.ts'
import { notesOf } from '../../../core/history/headline.ts'
import { holdOf } from '../../../core/node-claim/hold.ts'
import { labels } from '../../../core/requirements/labels.ts'
import { shortened } from '../../../core/values/texts.ts'
import { stateOf } from '../headline.ts'
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
  const state = stateOf({ node, claim }, now)
  const [note] = notesOf(state)
  const boxes = boxesOf(pods, now)
  const view: NodeView = {
    key,
    phase: state.phase,
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
      note: note && shortened(note, longestNote),
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

function texts<K extends string>(given: Readonly<Record<K, string | undefined>>): { readonly [key in K]?: string } {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value)) as { readonly [key in K]?: string }
}
