import { annotations, labels, taintKeys, terminationFinalizer } from '../../core/labels.ts'
import { blockingVolumeAttachments, type DrainPlan, drainPlan } from '../../core/node-claim/drain.ts'
import { terminationDeadline } from '../../core/node-claim/lifecycle.ts'
import type { Node, NodeClaim, Pod, Taint } from '../../core/objects.ts'
import { sameTaint } from '../../core/taints.ts'
import { pauseFor } from '../activity-context.ts'
import type { ClaimRef } from '../azure/contract.ts'
import { ApiError, isConflict, isNotFound, isTooManyRequests } from './client.ts'
import { keyOf } from './cluster-cache.ts'
import type { DrainOutcome } from './contract.ts'
import type { KubernetesDeps } from './dependencies.ts'
import { subject } from './event-recorder.ts'
import { liveClaim, setClaimConditions, updateClaim, updateNode } from './object-writes.ts'
import { liveNode } from './observe.ts'
import { resourcePath } from './resources.ts'

const disrupted: Taint = { key: taintKeys.disrupted, effect: 'NoSchedule' }
/** How long a drained node is watched for pods that were bound at the last moment (reference/karpenter-core.md 5.5). */
const lateBindingMs = 5000
/** Between two looks at pods that a budget or a grace period holds back; changes of pods end the wait early. */
const lookAgainMs = 1000

/**
 * Takes a node out of service: taint, eviction tier by tier through the eviction API, then the volumes. What is waited for stands in the claim's
 * conditions and in events. Run again, it goes on where the cluster stands.
 */
export async function drain(deps: KubernetesDeps, ref: ClaimRef, signal: AbortSignal): Promise<DrainOutcome> {
  const claim = await stampTermination(deps, ref)
  const node = claim && (await liveNode(deps, claim))
  if (claim === undefined || node === undefined) return { kind: 'noNode' }
  const nodeName = node.metadata.name
  await beginNodeDeletion(deps, node)
  const deadline = terminationDeadline(claim)
  await setClaimConditions(deps, ref, (current) =>
    current.status.conditions.some((c) => c.type === 'Drained')
      ? undefined
      : { conditions: [{ type: 'Drained', status: 'Unknown', reason: 'Draining', message: 'Draining' }] },
  )
  const drained = await evictAll(deps, { claim, nodeName, deadline, signal })
  await setClaimConditions(deps, ref, () => ({ conditions: [{ type: 'Drained', status: 'True' }] }))
  deps.lifecycleMetrics.nodeDrained(claim)
  await awaitVolumes(deps, ref, nodeName, deadline, signal)
  await setClaimConditions(deps, ref, () => ({ conditions: [{ type: 'InstanceTerminating', status: 'True' }] }))
  return { kind: 'drained', pods: drained }
}

/** With a terminationGracePeriod the end of the drain is fixed once, in an annotation that everybody can read. */
async function stampTermination(deps: KubernetesDeps, ref: ClaimRef): Promise<NodeClaim | undefined> {
  const claim = await liveClaim(deps, ref)
  const deadline = claim && terminationDeadline(claim)
  if (
    claim === undefined ||
    deadline === undefined ||
    claim.metadata.annotations[annotations.terminationTimestamp] !== undefined
  )
    return claim
  const text = new Date(deadline).toISOString()
  deps.events.record({
    about: subject(claim),
    reason: 'TerminationGracePeriodExpiring',
    message: `All pods will be deleted by ${text}`,
  })
  return updateClaim(deps, ref, () => ({ metadata: { annotations: { [annotations.terminationTimestamp]: text } } }))
}

/** Taints the Node before anything is evicted, and asks for its deletion; its finalizer holds it until the VM is gone. */
async function beginNodeDeletion(deps: KubernetesDeps, node: Node): Promise<void> {
  const { name } = node.metadata
  await updateNode(deps, name, (current) => {
    const tainted = current.taints.some((taint) => sameTaint(taint, disrupted))
    if (tainted && current.metadata.finalizers.includes(terminationFinalizer)) return undefined
    const finalizers =
      current.metadata.deletionTimestamp === undefined && !current.metadata.finalizers.includes(terminationFinalizer)
        ? [...current.metadata.finalizers, terminationFinalizer]
        : current.metadata.finalizers
    return {
      metadata: { labels: { [labels.excludeFromBalancers]: 'karpenter' }, finalizers },
      spec: { taints: [...current.taints.filter((taint) => taint.key !== taintKeys.disrupted), disrupted] },
    }
  })
  if (deps.cache.nodes.get(name)?.metadata.deletionTimestamp !== undefined) return
  try {
    await deps.client.delete(resourcePath('nodes', name), { uid: node.metadata.uid })
  } catch (error) {
    if (!isNotFound(error) && !isConflict(error)) throw error
  }
}

interface DrainContext {
  readonly claim: NodeClaim
  readonly nodeName: string
  readonly deadline: number | undefined
  readonly signal: AbortSignal
}

async function evictAll(deps: KubernetesDeps, context: DrainContext): Promise<number> {
  const evicted = new Set<string>()
  let emptySinceMs: number | undefined
  let told = ''
  for (;;) {
    const pods = podsOf(deps, context.nodeName)
    const plan = drainPlan({
      pods,
      now: deps.now(),
      ...(context.deadline === undefined ? {} : { terminationDeadline: context.deadline }),
    })
    if (plan.done) {
      // Nothing was ever there and nothing can land any more: the taint stood before the first look.
      if (evicted.size === 0 && emptySinceMs === undefined && (await settled(deps, context))) return 0
      emptySinceMs ??= deps.now()
      if (deps.now() - emptySinceMs >= lateBindingMs) return evicted.size
    } else {
      emptySinceMs = undefined
      const blocked = await evictOnce(deps, context, plan, evicted)
      const text = describeWait(plan, blocked)
      if (text !== told) {
        told = text
        await tellWait(deps, context, text)
      }
    }
    await deps.cache.changeWithin(
      plan.done ? lateBindingMs : lookAgainMs,
      (kind, _key, before, after) => kind === 'Pod' && ((after ?? before) as Pod).nodeName === context.nodeName,
      context.signal,
    )
  }
}

/** Whether the API server, asked past the cache, knows no pod on the node. */
async function settled(deps: KubernetesDeps, { nodeName }: DrainContext): Promise<boolean> {
  const { items } = await deps.client.list('/api/v1/pods', { fieldSelector: `spec.nodeName=${nodeName}` })
  for (const item of items) deps.cache.upsert('Pod', item)
  return drainPlan({ pods: podsOf(deps, nodeName), now: deps.now() }).done
}

function podsOf(deps: KubernetesDeps, nodeName: string): readonly Pod[] {
  return deps.cache.pods.by('byNode', nodeName)
}

/** Evicts what the plan says. Returns the pods that a budget holds back, with its words. */
async function evictOnce(
  deps: KubernetesDeps,
  context: DrainContext,
  plan: DrainPlan,
  evicted: Set<string>,
): Promise<ReadonlyMap<string, string>> {
  const blocked = new Map<string, string>()
  const reason =
    context.claim.status.conditions.find((c) => c.type === 'DisruptionReason')?.reason ?? 'Forceful Termination'
  await Promise.all([
    ...plan.forceDelete.map(async ({ pod, gracePeriodSeconds }) => {
      await ignoringGone(
        deps.client.delete(resourcePath('pods', pod.metadata.name, pod.metadata.namespace), {
          uid: pod.metadata.uid,
          gracePeriodSeconds,
        }),
      )
      evicted.add(pod.metadata.uid)
      deps.events.record({
        about: subject(pod),
        reason: 'Disrupted',
        message: 'Deleting the pod: the terminationGracePeriod of its NodeClaim is over',
      })
    }),
    ...plan.evict
      .filter((pod) => pod.metadata.deletionTimestamp === undefined)
      .map(async (pod) => {
        const answer = await evict(deps, pod)
        if (answer !== undefined) blocked.set(keyOf(pod.metadata), answer)
        else if (!evicted.has(pod.metadata.uid)) {
          evicted.add(pod.metadata.uid)
          deps.lifecycleMetrics.podDrained(reason)
          deps.events.record({
            about: subject(pod),
            reason: 'Evicted',
            message: `Evicted pod: ${reason}`,
          })
        }
      }),
  ])
  return blocked
}

/** Undefined: evicted, or gone already. A text: why not now. */
async function evict(deps: KubernetesDeps, pod: Pod): Promise<string | undefined> {
  try {
    await deps.client.evict(pod.metadata.namespace ?? 'default', pod.metadata.name, pod.metadata.uid)
    deps.lifecycleMetrics.evictionAnswered(200)
    return undefined
  } catch (error) {
    if (error instanceof ApiError) deps.lifecycleMetrics.evictionAnswered(error.code)
    if (isNotFound(error) || isConflict(error)) return undefined
    if (isTooManyRequests(error)) return `evicting pod violates a PDB (Pod=${keyOf(pod.metadata)})`
    if (error instanceof ApiError && error.code === 500)
      return `eviction does not support multiple PDBs (Pod=${keyOf(pod.metadata)})`
    throw error
  }
}

function describeWait(plan: DrainPlan, blocked: ReadonlyMap<string, string>): string {
  const shown = plan.waitingFor
    .slice(0, 5)
    .map(({ pod, reason }) => `${keyOf(pod.metadata)}: ${blocked.get(keyOf(pod.metadata)) ?? reason}`)
  const more = plan.waitingFor.length - shown.length
  return `${plan.waitingFor.length} pods are waiting to be evicted: ${shown.join('; ')}${more > 0 ? ` and ${more} more` : ''}`
}

async function tellWait(deps: KubernetesDeps, { claim }: DrainContext, text: string): Promise<void> {
  deps.events.record({ about: subject(claim), reason: 'FailedDraining', message: text })
  await setClaimConditions(deps, { name: claim.metadata.name, uid: claim.metadata.uid }, () => ({
    conditions: [{ type: 'Drained', status: 'Unknown', reason: 'Draining', message: text.slice(0, 1024) }],
  }))
}

async function ignoringGone(request: Promise<unknown>): Promise<void> {
  try {
    await request
  } catch (error) {
    if (!isNotFound(error) && !isConflict(error)) throw error
  }
}

async function awaitVolumes(
  deps: KubernetesDeps,
  ref: ClaimRef,
  nodeName: string,
  deadline: number | undefined,
  signal: AbortSignal,
): Promise<void> {
  let told = false
  for (;;) {
    const attachments = [...deps.cache.volumeAttachments.by('byNode', nodeName)]
    const pods = podsOf(deps, nodeName)
    const volumes = attachments.length === 0 ? new Map<Pod, string[]>() : await boundVolumes(deps, pods)
    const blocking = blockingVolumeAttachments({
      attachments,
      nodeName,
      pods,
      volumesOf: (pod) => volumes.get(pod) ?? [],
      now: deps.now(),
      ...(deadline === undefined ? {} : { terminationDeadline: deadline }),
    })
    if (blocking.length === 0) break
    if (!told) {
      told = true
      const message = `Awaiting deletion of bound volumeattachments (${firstNames(blocking.map((a) => a.metadata.name))})`
      const node = deps.cache.nodes.get(nodeName)
      if (node !== undefined)
        deps.events.record({ about: subject(node), reason: 'AwaitingVolumeDetachment', message, values: [nodeName] })
      await setClaimConditions(deps, ref, () => ({
        conditions: [{ type: 'VolumesDetached', status: 'Unknown', reason: 'AwaitingVolumeDetachment', message }],
      }))
    }
    await pauseFor(lookAgainMs, signal)
  }
  const overdue = deadline !== undefined && deps.now() >= deadline
  await setClaimConditions(deps, ref, () => ({
    conditions: [
      overdue
        ? { type: 'VolumesDetached', status: 'False', reason: 'TerminationGracePeriodElapsed' }
        : { type: 'VolumesDetached', status: 'True' },
    ],
  }))
}

function firstNames(names: readonly string[]): string {
  const others = names.length - 5
  return `${names.slice(0, 5).join(', ')}${others > 0 ? ` and ${others} other(s)` : ''}`
}

/** The persistent volumes that pods use, by pod. */
async function boundVolumes(deps: KubernetesDeps, pods: readonly Pod[]): Promise<ReadonlyMap<Pod, readonly string[]>> {
  const volumes = new Map<Pod, string[]>()
  for (const pod of pods) {
    for (const name of pod.persistentVolumeClaims) {
      try {
        const claim = await deps.client.get(resourcePath('persistentvolumeclaims', name, pod.metadata.namespace))
        const { volumeName } = claim['spec'] as { volumeName?: string }
        if (volumeName !== undefined) volumes.set(pod, [...(volumes.get(pod) ?? []), volumeName])
      } catch (error) {
        if (!isNotFound(error)) throw error
      }
    }
  }
  return volumes
}

/** The last step of a life: the Node's finalizer and the claim's are removed. Gone already is success. */
export async function finalize(deps: KubernetesDeps, ref: ClaimRef): Promise<void> {
  const claim = await liveClaim(deps, ref)
  const node = claim && (await liveNode(deps, claim))
  if (node !== undefined) {
    await updateNode(deps, node.metadata.name, (current) =>
      current.metadata.finalizers.includes(terminationFinalizer)
        ? { metadata: { finalizers: current.metadata.finalizers.filter((f) => f !== terminationFinalizer) } }
        : undefined,
    )
    tellFinalized(deps, node)
    if (claim !== undefined) deps.lifecycleMetrics.nodeTerminated(node, claim)
    await ignoringGone(deps.client.delete(resourcePath('nodes', node.metadata.name), { uid: node.metadata.uid }))
  }
  await updateClaim(deps, ref, (current) =>
    current.metadata.finalizers.includes(terminationFinalizer)
      ? { metadata: { finalizers: current.metadata.finalizers.filter((f) => f !== terminationFinalizer) } }
      : undefined,
  )
  if (claim === undefined) return
  tellFinalized(deps, claim)
  deps.lifecycleMetrics.nodeClaimTerminated(claim)
}

function tellFinalized(deps: KubernetesDeps, object: Node | NodeClaim): void {
  if (!object.metadata.finalizers.includes(terminationFinalizer)) return
  deps.events.record({ about: subject(object), reason: 'Finalized', message: `Finalized ${terminationFinalizer}` })
}
