// What is known of one node, read with the rights of whoever asks.
import { decodeNode, decodeNodeClaim, decodeNodePool } from '../../activities/kubernetes/cache/decode.ts'
import { decodePod } from '../../activities/kubernetes/cache/decode-pod.ts'
import { type Verdict, verdictShard } from '../../core/disruption/verdicts/verdict.ts'
import { nodeNamePrefix } from '../../core/node-claim/node-names.ts'
import { claimOfNode, isNodeOf } from '../../core/node-claim/node-owner.ts'
import { asClaimed } from '../../core/node-claim/registration.ts'
import type { Node, NodeClaim, NodePool, Pod } from '../../core/objects.ts'
import type { Pauses } from '../../core/pauses/pauses.ts'
import type { VolumeAttachment } from '../../core/pods/related-objects.ts'
import { labels } from '../../core/requirements/labels.ts'
import { defined } from '../../core/values/defined.ts'
import { type EventFacts, eventsOf, evictionsFrom } from './events.ts'
import {
  attachmentsOf,
  type CountedBudget,
  countedBudgets,
  listed,
  nodeClaims,
  nothing,
  object,
} from './from-cluster.ts'
import type { Gaps } from './gaps.ts'
import { disruptionPauses, evaluations } from './kept.ts'
import { needed, readPicture, readWhole, type Scene } from './picture.ts'

/** What is read of a node that is being drained. */
interface DrainFacts {
  /** Pods that were evicted from it, as far as events report, the latest first. */
  readonly evicted: readonly string[]
  /** Volumes that are attached to it; absent: they could not be read. */
  readonly attachments?: readonly VolumeAttachment[]
}

/** A node as it is at one moment; either of node and claim may be missing. */
export interface NodePicture extends Partial<Gaps> {
  /** Epoch ms. */
  readonly now: number
  readonly node?: Node
  readonly claim?: NodeClaim
  readonly pool?: NodePool
  /** All that are bound to it. */
  readonly pods: readonly Pod[]
  readonly budgets: readonly CountedBudget[]
  readonly pauses: Pauses
  readonly events: readonly EventFacts[]
  /** What the last evaluation found; absent: there is none of this node, or it could not be read. */
  readonly verdict?: Verdict
  /** Why the evaluation cannot be read, with the remedy. */
  readonly unread?: string
  /** When the cluster was evaluated last, epoch ms, up to a minute late; absent: it never was. */
  readonly lastPassMs?: number
  /** Absent: its NodeClaim is not being deleted. */
  readonly drain?: DrainFacts
  /** As Temporal knows the cluster; absent: not known here. */
  readonly cluster?: string
}

/** Where a node or a pod is looked for. */
export interface Place extends Scene {
  /** As Temporal knows the cluster. */
  readonly cluster?: string
}

/** Returns the node of that name, or the one of the NodeClaim of that name; undefined: there is neither. Errors: `CommandError`. */
export async function readNode(name: string, place: Place): Promise<NodePicture | undefined> {
  const parts = {
    nodes: object('nodes', decodeNode, { name }),
    claims: object('nodeclaims', decodeNodeClaim, { name }),
  }
  const {
    nodes: [node],
    claims: [claim],
  } = await readWhole(place, parts)
  if (node !== undefined) return nodePicture(place, node, await claimOf(place, node))
  if (claim === undefined) return undefined
  const own = await nodeNamed(place, claim.status.nodeName ?? `${nodeNamePrefix}${claim.metadata.name}`)
  // Before registration a Node may have joined, on which pods already run.
  return nodePicture(place, own && isNodeOf(claim, own) ? own : undefined, claim)
}

/** Returns the node of a name. */
export async function nodeNamed(place: Scene, name: string | undefined): Promise<Node | undefined> {
  if (name === undefined) return undefined
  return (await readWhole(place, { nodes: object('nodes', decodeNode, { name }) })).nodes[0]
}

/** Returns the NodeClaim of a node. */
export async function claimOf(place: Scene, node: Node): Promise<NodeClaim | undefined> {
  return claimOfNode(node, (await readWhole(place, { nodeClaims })).nodeClaims)
}

/** Returns what is known of a node, of its NodeClaim, or of both. */
export async function nodePicture(
  place: Place,
  reported: Node | undefined,
  claim: NodeClaim | undefined,
): Promise<NodePicture> {
  const { now, cluster } = place
  const node = reported && claim ? asClaimed(reported, claim) : reported
  const poolName = (node ?? claim)?.metadata.labels[labels.nodePool]
  const uids = [node, claim].flatMap((one) => (one === undefined ? [] : [one.metadata.uid]))
  const nodeName = node?.metadata.name
  const isLeaving = isDeleted(claim) && nodeName !== undefined
  const parts = {
    pools: poolName === undefined ? nothing<NodePool>() : object('nodepools', decodeNodePool, { name: poolName }),
    pods:
      nodeName === undefined
        ? nothing<Pod>()
        : listed('pods', decodePod, { fieldSelector: `spec.nodeName=${nodeName}` }),
    budgets: countedBudgets(),
    pauses: disruptionPauses,
  }
  const [read, kept] = await Promise.all([
    readPicture(place, {
      ...parts,
      // Events of objects without a namespace stand in this one. Nodes go by their name as UID with the kubelet.
      events: eventsOf(nodeName === undefined ? uids : [...uids, nodeName], 'default'),
      evictions: isLeaving ? evictionsFrom(nodeName) : nothing<string>(),
      attachments: isLeaving ? attachmentsOf(nodeName) : nothing<VolumeAttachment>(),
    }),
    claim === undefined ? undefined : readVerdict(place, claim.metadata.name),
  ])
  const { pools, ...found } = needed(read, parts)
  const { events = [], evictions: evicted = [], attachments } = read
  const drain = { evicted, ...(isLeaving && defined({ attachments })) }
  return {
    now,
    pods: found.pods,
    budgets: found.budgets,
    pauses: found.pauses,
    events,
    ...kept,
    missing: read.missing,
    damaged: read.damaged,
    ...defined({ node, claim, pool: pools[0], cluster, drain: isDeleted(claim) ? drain : undefined }),
  }
}

const isDeleted = (claim: NodeClaim | undefined) => claim?.metadata.deletionTimestamp !== undefined

async function readVerdict(place: Scene, nodeClaim: string): Promise<Partial<NodePicture>> {
  const parts = { own: evaluations(verdictShard(nodeClaim)), first: evaluations(0) }
  const { own, first, damaged } = await readWhole(place, parts)
  const verdict = own.verdicts.get(nodeClaim)
  const isDamaged = own.faults.some(({ key }) => key === nodeClaim)
  const unread = isDamaged ? damaged.find((line) => line.includes(nodeClaim)) : undefined
  return defined({ verdict, unread, lastPassMs: first.lastPass?.atMs })
}
