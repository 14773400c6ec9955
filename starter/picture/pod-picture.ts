// What is known of one pod, read with the rights of whoever asks.
import { decodeNodeClaim } from '../../activities/kubernetes/cache/decode.ts'
import { decodePod } from '../../activities/kubernetes/cache/decode-pod.ts'
import type { Json } from '../../activities/kubernetes/client/answers.ts'
import { podFingerprint } from '../../activities/scheduler-thread/pod-fingerprint.ts'
import type { Condition, NodeClaim, Pod } from '../../core/objects.ts'
import { type Pause, Pauses } from '../../core/pauses/pauses.ts'
import { podName } from '../../core/pods/pod-rules.ts'
import { type WaitingClass, waitingKey } from '../../core/scheduling/explain/waiting-classes.ts'
import { defined } from '../../core/values/defined.ts'
import { type EventFacts, eventsOf } from './events.ts'
import { type CountedBudget, countedBudgets, nothing, object } from './from-cluster.ts'
import type { Gaps, Missing } from './gaps.ts'
import { provisioningPauses, waiting } from './kept.ts'
import { claimOf, type NodePicture, nodeNamed, nodePicture, type Place } from './node-picture.ts'
import { needed, readPicture, readWhole, type Scene } from './picture.ts'

/** What is known about a pod that waits. */
export interface WaitingFacts {
  /** What the planner found about such pods; unset when it has found nothing yet. */
  readonly found?: WaitingClass
  /** Why it cannot be said what the planner found; unset: it was read. */
  readonly unread?: Missing
  /** When the planner wrote that last, epoch ms. */
  readonly atMs?: number
  /** The pause of provisioning as a whole, if there is one. */
  readonly pause?: Pause
  /** The NodeClaim that the pod is planned on, as it is now. */
  readonly claim?: NodeClaim
}

/** A pod, and the node that it runs on. */
export interface PodPicture extends Partial<Gaps> {
  readonly now: number
  readonly pod: Pod
  readonly budgets: readonly CountedBudget[]
  readonly events: readonly EventFacts[]
  /** Absent: it runs nowhere, or its node is gone. */
  readonly node?: NodePicture
  /** Absent: it waits for no node. */
  readonly waiting?: WaitingFacts
}

/** Undefined: there is no such pod. Errors: `CommandError`. */
export async function readPod(namespace: string, name: string, place: Place): Promise<PodPicture | undefined> {
  const own = { pods: object('pods', (json) => withMessages(decodePod(json), json), { name, namespace }) }
  const [pod] = (await readWhole(place, own)).pods
  if (pod === undefined) return undefined
  const parts = { budgets: countedBudgets(namespace), events: eventsOf([pod.metadata.uid], namespace) }
  const read = await readPicture(place, parts)
  const { budgets } = needed(read, { budgets: parts.budgets })
  const { events = [], missing, damaged } = read
  const picture = { now: place.now, pod, budgets, events, missing, damaged }
  if (pod.nodeName === undefined) return withWaiting(place, picture)
  const node = await nodeNamed(place, pod.nodeName)
  return node === undefined ? picture : { ...picture, node: await nodePicture(place, node, await claimOf(place, node)) }
}

const states = ['unschedulable', 'held', 'planned'] as const

async function withWaiting(place: Scene, picture: PodPicture): Promise<PodPicture> {
  const { pod, events } = picture
  const read = await readPicture(place, { waiting, pauses: provisioningPauses })
  const unread = read.missing.find(({ what }) => what === waiting.what)
  const fingerprint = podFingerprint(pod)
  const alike = states.flatMap((state) => read.waiting?.classes.get(waitingKey(fingerprint, state)) ?? [])
  const found = classOf(pod, alike, events)
  const name = plannedClaim(found, events)
  const parts = { claims: name === undefined ? nothing<NodeClaim>() : object('nodeclaims', decodeNodeClaim, { name }) }
  // The name may be that of a Node.
  const [claim] = (await readWhole(place, parts)).claims
  const pause = read.pauses && new Pauses(read.pauses).wholeLoop
  return {
    ...picture,
    missing: [...(picture.missing ?? []), ...read.missing],
    damaged: [...(picture.damaged ?? []), ...read.damaged],
    waiting: defined({ found, unread, atMs: read.waiting?.atMs, pause, claim }),
  }
}

/** Returns the class of a pod among those of pods like it: the one that names it, else by whether a node was meant for it. */
export function classOf(
  pod: Pod,
  alike: readonly WaitingClass[],
  events: readonly EventFacts[],
): WaitingClass | undefined {
  const name = podName(pod)
  const isNominated = events.find(({ reason }) => reason === 'Nominated' || reason === 'FailedScheduling')
  const expected = isNominated?.reason === 'Nominated' ? 'planned' : 'unschedulable'
  return alike.find(({ pods }) => pods.includes(name)) ?? alike.find(({ state }) => state === expected) ?? alike[0]
}

/** Returns the NodeClaim that a pod is planned on: by the planner's last word about it. */
export function plannedClaim(found: WaitingClass | undefined, events: readonly EventFacts[]): string | undefined {
  if (found?.state === 'unschedulable' || found?.state === 'held') return undefined
  const message = events.find(({ reason }) => reason === 'Nominated')?.message
  const named = /nodeclaim\/([^\s,]+)/.exec(message ?? '')?.[1]
  if (named !== undefined && (found === undefined || found.plannedOn.length !== 1)) return named
  return found?.plannedOn[0]
}

/** The watch cache leaves out the messages of conditions, which are kube-scheduler's words here. */
function withMessages(pod: Pod, { status }: Json): Pod {
  const { conditions = [] } = (status ?? {}) as { readonly conditions?: readonly Condition[] }
  const messages = new Map(conditions.map(({ type, message }) => [type, message]))
  return {
    ...pod,
    conditions: pod.conditions.map((condition) => {
      const message = messages.get(condition.type)
      return message === undefined ? condition : { ...condition, message }
    }),
  }
}
