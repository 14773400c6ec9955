// What a view keeps of objects: names and amounts. Objects that cannot be decoded keep their names.
import { decodeNode, decodeNodeClaim } from '../../../activities/kubernetes/cache/decode.ts'
import { decodePod } from '../../../activities/kubernetes/cache/decode-pod.ts'
import { keyOf } from '../../../activities/kubernetes/cache/object-key.ts'
import type { Json } from '../../../activities/kubernetes/client/answers.ts'
import { conditionOf } from '../../../core/conditions.ts'
import type { Node, NodeClaim, ObjectMeta, Pod } from '../../../core/objects.ts'
import { protectionOf } from '../../../core/pods/do-not-disrupt.ts'
import { isDaemonPod, isMirrorPod, isTerminating } from '../../../core/pods/pod-rules.ts'
import type { Resources } from '../../../core/resources.ts'
import { defined } from '../../../core/values/defined.ts'
import { shortened } from '../../../core/values/texts.ts'
import { type NodeStanding, standingOf } from '../headline.ts'
import type { Amounts, PodBox } from './cluster-view.ts'

/** A pod that has not ended. */
export interface PodFact {
  readonly key: string
  readonly box: PodBox
  /** The Node that it is bound to. */
  readonly node?: string
  /** Epoch ms: when its mark `h` ends. */
  readonly markUntilMs?: number
  /** Set for pods that no Node is found for yet. */
  readonly wait?: { readonly sinceMs: number; readonly reason: string; readonly message: string }
}

/** A Node without the lists that a view does not show. */
export interface NodeFact extends Pick<Node, 'unschedulable' | 'taints'>, NodeStanding {
  readonly metadata: Pick<
    ObjectMeta,
    'name' | 'uid' | 'labels' | 'annotations' | 'ownerReferences' | 'creationTimestamp' | 'deletionTimestamp'
  >
  readonly providerId?: string
  readonly allocatable: Amounts & { readonly pods: number }
}

export type ClaimFact = Pick<NodeClaim, 'metadata'> & {
  readonly nodeName?: string
  readonly providerId?: string
  readonly allocatable: Amounts & { readonly pods: number }
  readonly spec: Pick<NodeClaim['spec'], 'expireAfter'>
  readonly status: Pick<NodeClaim['status'], 'conditions'>
}

/** Longest text of the cluster's that is kept. */
const longestText = 300

/** Returns the fact of a pod; undefined for one that has ended. */
export function podFact(json: Json): PodFact | undefined {
  const pod = podIn(json)
  if (pod.phase === 'Succeeded' || pod.phase === 'Failed') return undefined
  const key = keyOf(pod.metadata)
  const protection = protectionOf(pod)
  const isHeld = protection.kind === 'always' || protection.kind === 'timed'
  const mark = markOf(pod, isHeld)
  const { cpu, memory } = amountsOf(pod.requests)
  const box: PodBox = mark === undefined ? [key, cpu, memory] : [key, cpu, memory, mark]
  return {
    key,
    box,
    ...(pod.nodeName === undefined ? {} : { node: pod.nodeName }),
    ...(mark === 'h' && protection.kind === 'timed' && protection.endsAt !== undefined
      ? { markUntilMs: protection.endsAt }
      : {}),
    ...(pod.nodeName === undefined && mark !== 't' ? { wait: waitOf(json, pod) } : {}),
  }
}

function podIn(json: Json): Pod {
  try {
    return decodePod(json)
  } catch {
    // Its amounts are no quantities: it is shown without any.
    const { nodeName } = (json['spec'] ?? {}) as { nodeName?: string }
    return decodePod({ metadata: json['metadata'], spec: { nodeName }, status: plainStatus(json) })
  }
}

function plainStatus(json: Json): Json {
  const { phase, conditions } = (json['status'] ?? {}) as Json
  return { phase, conditions }
}

function markOf(pod: Pod, isHeld: boolean): PodBox[3] {
  if (isTerminating(pod)) return 't'
  if (isMirrorPod(pod)) return 'm'
  if (isDaemonPod(pod)) return 'd'
  return isHeld ? 'h' : undefined
}

function waitOf(json: Json, { metadata }: Pod): NonNullable<PodFact['wait']> {
  const { conditions = [] } = (json['status'] ?? {}) as { conditions?: Node['conditions'] }
  const { reason = '', message = '' } = conditionOf(conditions, 'PodScheduled') ?? {}
  return { sinceMs: timeOf(metadata), reason, message: shortened(message, longestText) }
}

export function nodeFact(json: Json): NodeFact {
  const node = decodedOr(json, decodeNode)
  const { name, uid, labels, ownerReferences, creationTimestamp, deletionTimestamp } = node.metadata
  const { notReady, ...standing } = standingOf(node)
  return {
    ...standing,
    metadata: {
      name,
      uid,
      labels,
      annotations: ownAnnotations(node.metadata.annotations),
      ownerReferences,
      creationTimestamp,
      ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
    },
    unschedulable: node.unschedulable,
    taints: node.taints,
    allocatable: allocatableOf(node.allocatable),
    ...(node.providerId === undefined ? {} : { providerId: node.providerId.toLowerCase() }),
    ...(notReady === undefined ? {} : { notReady: shortened(notReady, longestText) }),
  }
}

export function claimFact(json: Json): ClaimFact {
  return factOfClaim(decodedOr(json, decodeNodeClaim))
}

export function factOfClaim({ metadata, spec, status }: NodeClaim): ClaimFact {
  return {
    metadata: { ...metadata, annotations: ownAnnotations(metadata.annotations) },
    allocatable: allocatableOf(status.allocatable),
    spec: defined({ expireAfter: spec.expireAfter }),
    status: {
      conditions: status.conditions.map((condition) => ({
        ...condition,
        message: shortened(condition.message ?? '', longestText),
      })),
    },
    ...(status.nodeName === undefined ? {} : { nodeName: status.nodeName }),
    ...(status.providerId === undefined ? {} : { providerId: status.providerId.toLowerCase() }),
  }
}

/** Decodes an object, without its amounts where one is no quantity. */
function decodedOr<T>(json: Json, decode: (json: Json) => T): T {
  try {
    return decode(json)
  } catch {
    const without = (part: unknown) => ({ ...(part as Json), allocatable: {}, capacity: {}, resources: {} })
    return decode({ ...json, spec: without(json['spec']), status: without(json['status']) })
  }
}

/** Returns annotations of Joiner and Karpenter, cut; others can be large. */
function ownAnnotations(all: ObjectMeta['annotations']): ObjectMeta['annotations'] {
  return Object.fromEntries(
    Object.entries(all).flatMap(([key, value]) =>
      /^(joiner|karpenter)\.sh\//.test(key) ? [[key, shortened(value, longestText)]] : [],
    ),
  )
}

/** Returns when an object was created in epoch ms; 0: it does not say. */
export function timeOf({ creationTimestamp }: Pick<ObjectMeta, 'creationTimestamp'>): number {
  const ms = Date.parse(creationTimestamp)
  return Number.isNaN(ms) ? 0 : ms
}

function allocatableOf(resources: Resources): NodeFact['allocatable'] {
  return { ...amountsOf(resources), pods: amountIn(resources, 'pods') }
}

function amountsOf(resources: Resources): Amounts {
  return { cpu: amountIn(resources, 'cpu'), memory: amountIn(resources, 'memory') }
}

function amountIn(resources: Resources, name: string): number {
  return Number(resources[name]?.nano ?? 0n) / 1e9
}
