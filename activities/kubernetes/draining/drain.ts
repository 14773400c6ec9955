import { type ConditionChange, conditionOf, isTrue } from '../../../core/conditions.ts'
import { deathOf } from '../../../core/history/claim-facts.ts'
import type { Leaving } from '../../../core/history/life.ts'
import {
  blockingVolumeAttachments,
  type DrainPlan,
  drainPlan,
  staysOnDrainedNode,
} from '../../../core/node-claim/drain.ts'
import { type DrainReported, nothingReported, podHold, volumeHold } from '../../../core/node-claim/drain-waits.ts'
import { terminationDeadline } from '../../../core/node-claim/lifecycle.ts'
import type { Node, NodeClaim, Pod } from '../../../core/objects.ts'
import type { VolumeAttachment } from '../../../core/pods/related-objects.ts'
import { annotations } from '../../../core/requirements/labels.ts'
import { timeText } from '../../../core/values/time.ts'
import { untilDeadline, whenAborted } from '../../abortable-wait.ts'
import { activityScope } from '../../activity-context.ts'
import { budgetsTopic, type ClusterChange, claimTopic, nodeTopic } from '../cache/change-feed.ts'
import { getIfAny } from '../client/answers.ts'
import { cachedClaim, claimBeingDeleted, setClaimConditions } from '../client/object-writes.ts'
import { resourcePath } from '../client/resources.ts'
import type { ClaimRef, DrainOutcome } from '../contract.ts'
import { claimNodes, liveNodes } from '../lifecycle/claim-nodes.ts'
import { lastLookAt, livePodsOn } from '../lifecycle/live-pods.ts'
import { applyInterruption, type NodeHealthDeps } from '../lifecycle/node-health.ts'
import type { Parts } from '../parts.ts'
import { leavingReason, nodeDrained } from './drain-record.ts'
import { DrainReport, type DrainReportDeps, type ReportedAs } from './drain-report.ts'
import { Evictions, type EvictionsDeps } from './evictions.ts'
import { bindingMs } from './late-binding.ts'
import { beginNodeDeletion, type NodeDeletionDeps } from './node-deletion.ts'
import { publishDeadline, stampTermination } from './termination-stamp.ts'

export interface DrainDeps extends DrainReportDeps, EvictionsDeps, NodeDeletionDeps, VolumesDeps, NodeHealthDeps {}

/** Time before the end of an interrupted node's VM at which its last pods are deleted at the latest: two polls. */
const beforeVmEndsMs = 2000
/** Interval of polling what a budget, a grace period or a disk holds back; changes end the wait early. */
const pollMs = 1000

/**
 * Takes the Nodes of a claim out of service: taint, eviction tier by tier through the eviction API, then the volumes. Waits are reported in the
 * claim's conditions and in events. Run again, it goes on from the cluster's state. `reported`: what the lifecycle knows; only changes are returned.
 */
export async function drain(
  deps: DrainDeps,
  { claim: ref, reported }: { readonly claim: ClaimRef; readonly reported: DrainReported },
  signal: AbortSignal,
): Promise<DrainOutcome> {
  const claim = await stampTermination(deps, ref)
  const nodes = claim === undefined ? [] : await liveNodes(deps, claim)
  if (claim === undefined || nodes.length === 0) return { kind: 'noNode' }
  const work = new Drain(deps, { claim, nodes, report: new DrainReport(deps, ref, reported) }, signal)
  return work.run()
}

const detached: ConditionChange = { type: 'VolumesDetached', status: 'True' }

const hasBegun = ({ status }: NodeClaim) => conditionOf(status.conditions, 'Drained') !== undefined

const asPods = (count: number): ReportedAs => ({
  condition: 'Drained',
  reason: 'Draining',
  event: 'FailedDraining',
  text: (named) => `${count} pods are waiting to be evicted: ${named}`,
})

const asVolumes: ReportedAs = {
  condition: 'VolumesDetached',
  reason: 'AwaitingVolumeDetachment',
  event: 'AwaitingVolumeDetachment',
  text: (named) => `Awaiting deletion of bound volumeattachments (${named})`,
}

/** One run of the activity. */
class Drain {
  readonly #deps: DrainDeps
  readonly #nodes: readonly Node[]
  readonly #names: readonly string[]
  readonly #report: DrainReport
  readonly #signal: AbortSignal
  readonly #evictions: Evictions
  /** The claim as last seen: its deadline may move during the drain. */
  #claim: NodeClaim

  constructor(
    deps: DrainDeps,
    {
      claim,
      nodes,
      report,
    }: { readonly claim: NodeClaim; readonly nodes: readonly Node[]; readonly report: DrainReport },
    signal: AbortSignal,
  ) {
    this.#deps = deps
    this.#claim = claim
    this.#nodes = nodes
    this.#names = nodes.map(({ metadata }) => metadata.name)
    this.#report = report
    this.#signal = signal
    this.#evictions = new Evictions(deps)
  }

  async run(): Promise<DrainOutcome> {
    if (this.#report.isVmInDoubt(this.#nodes)) return { kind: 'notReady' }
    await this.#begin()
    const deadline = this.#deadline()
    if (deadline !== undefined && this.#disruptionReason() !== 'Unhealthy')
      for (const node of this.#nodes) publishDeadline(this.#deps, node, timeText(deadline))
    const early = (await this.#untilEmpty()) ?? (await this.#untilDetached())
    const pods = this.#evictions.count
    if (early === undefined) return { kind: 'drained', pods }
    return pods === 0 || early.kind === 'noNode' ? early : { ...early, pods }
  }

  /** Returns how long pods that were bound at the last moment may still come. */
  #bindingMs(): number {
    return bindingMs(this.#latestClaim(), this.#nodes, this.#deps.now())
  }

  /** Marks the Nodes and the claim, what of that is not done. */
  async #begin(): Promise<void> {
    await Promise.all(this.#nodes.map((node) => beginNodeDeletion(this.#deps, node)))
    // The first condition of one that is empty says that it is drained.
    if (this.#plan().done && this.#bindingMs() <= 0) return
    const begun: ConditionChange = { type: 'Drained', status: 'Unknown', reason: 'Draining', message: 'Draining' }
    await this.#set((claim) => (hasBegun(claim) ? [] : [begun]))
  }

  /** The end of the drain is taken back as well, and pods must not be deleted at a time that nobody can read. */
  async #beginAgain(): Promise<void> {
    await stampTermination(this.#deps, this.#claim.metadata)
    await this.#begin()
  }

  async #untilEmpty(): Promise<DrainOutcome | undefined> {
    for (;;) {
      if (await this.#isClaimGone()) return { kind: 'noNode' }
      await applyInterruption(this.#deps, this.#latestClaim(), this.#presentNodes())
      const plan = this.#plan()
      const leftMs = this.#bindingMs()
      if (plan.done && leftMs <= 0 && (await this.#isEmpty())) return this.#drained()
      // A restore of etcd took it back, and not the deletion, or the claim was deleted again: late pods are waited for from the beginning on.
      if (!hasBegun(this.#latestClaim())) await this.#beginAgain()
      const nodes = this.#presentNodes()
      // Somebody removed their finalizers, and nothing is left to drain.
      if (nodes.length === 0 && (await liveNodes(this.#deps, this.#latestClaim())).length === 0)
        return { kind: 'drained', pods: this.#evictions.count }
      if (this.#report.isVmInDoubt(nodes)) return { kind: 'notReady' }
      if (!plan.done) {
        await this.#evictions.carryOut(plan, this.#disruptionReason(), this.#deadline())
        if (this.#isVmOver()) return { kind: 'drained', pods: this.#evictions.count }
        const holds = plan.heldBy.flatMap((held) => podHold(held, this.#evictions.refusalOf(held.pod)) ?? [])
        const news = await this.#report.waitingFor(holds, nodes, asPods(plan.heldBy.length))
        if (news !== undefined) return news
      }
      await this.#changeWithin(plan.done && leftMs > 0 ? leftMs : pollMs)
    }
  }

  async #untilDetached(): Promise<DrainOutcome | undefined> {
    for (;;) {
      if (await this.#isClaimGone()) return { kind: 'noNode' }
      const attachments = await attachmentsInTheWay(this.#deps, this.#names)
      if (attachments.length === 0) return this.#detached(true)
      const deadline = this.#deadline()
      if (deadline !== undefined && this.#deps.now() >= deadline) return this.#detached(false)
      const nodes = this.#presentNodes()
      await applyInterruption(this.#deps, this.#latestClaim(), nodes)
      if (this.#report.isVmInDoubt(nodes)) return { kind: 'notReady' }
      const news = await this.#report.waitingFor(attachments.map(volumeHold), nodes, asVolumes)
      if (news !== undefined) return news
      await this.#changeWithin(pollMs)
    }
  }

  /** Returns whether the time of an interrupted VM is over: then its kubelet reports nothing more of terminating pods. */
  #isVmOver(): boolean {
    const deadline = this.#isInterrupted() ? this.#deadline() : undefined
    return deadline !== undefined && this.#deps.now() >= deadline
  }

  #isInterrupted(): boolean {
    return annotations.interrupted in this.#latestClaim().metadata.annotations
  }

  /** Returns the deadline of pods. An interrupted VM is gone at its deadline, so pods have to be deleted a little before. */
  #podDeadline(): number | undefined {
    const deadline = this.#deadline()
    return deadline !== undefined && this.#isInterrupted() ? deadline - beforeVmEndsMs : deadline
  }

  #plan(): DrainPlan {
    const pods = this.#names.flatMap((name): readonly Pod[] => this.#deps.cache.pods.by('byNode', name))
    const terminationDeadline = this.#podDeadline()
    return drainPlan({
      pods,
      now: this.#deps.now(),
      ...(terminationDeadline === undefined ? {} : { terminationDeadline }),
    })
  }

  /** Returns whether the API server has nothing left to wait for: read past the cache, unless that was done after the last pod could be bound. */
  async #isEmpty(): Promise<boolean> {
    const inDoubt = this.#names.filter((name) => {
      const at = lastLookAt(this.#deps, name)
      return at === undefined || bindingMs(this.#latestClaim(), this.#nodes, at) > 0
    })
    await Promise.all(inDoubt.map((name) => livePodsOn(this.#deps, name)))
    return this.#plan().done
  }

  #presentNodes(): readonly Node[] {
    return this.#names.flatMap((name) => this.#deps.cache.nodes.get(name) ?? [])
  }

  /**
   * Returns whether somebody removed the claim's finalizers: its deadline is no longer that of the Node, which garbage collection keeps if pods run there.
   * Errors: the claim is not being deleted any more, since a restore of etcd took its deletion back.
   */
  async #isClaimGone(): Promise<boolean> {
    return (await claimBeingDeleted(this.#deps, this.#claim.metadata)) === undefined
  }

  #latestClaim(): NodeClaim {
    this.#claim = cachedClaim(this.#deps, this.#claim.metadata) ?? this.#claim
    return this.#claim
  }

  #deadline(): number | undefined {
    return terminationDeadline(this.#latestClaim())
  }

  #disruptionReason(): string {
    return leavingReason(this.#latestClaim())
  }

  /** Writes the end of the drain, once. Mostly no volume is attached any more, and one write reports both. */
  async #drained(): Promise<undefined> {
    if (isTrue(this.#latestClaim().status.conditions, 'Drained')) return
    const isDetached = (await attachmentsInTheWay(this.#deps, this.#names)).length === 0
    let isFirst = false
    await this.#set((claim) => {
      isFirst = !isTrue(claim.status.conditions, 'Drained')
      return [{ type: 'Drained', status: 'True' }, ...(isDetached ? [detached] : [])]
    })
    // `drainEmpty` leaves one behind that goes on while the next begins: both come here.
    if (isFirst) nodeDrained(this.#deps, this.#latestClaim())
  }

  /** Writes the end of the wait for volumes. After the claim's deadline its VM goes with what is attached to it. */
  async #detached(isDetached: boolean): Promise<undefined> {
    await this.#set(() => [
      isDetached ? detached : { type: 'VolumesDetached', status: 'False', reason: 'TerminationGracePeriodElapsed' },
    ])
  }

  /** A claim whose deletion was taken back gets no condition that its next drain would go by. */
  async #set(conditions: (claim: NodeClaim) => readonly ConditionChange[]): Promise<void> {
    await setClaimConditions(this.#deps, this.#claim.metadata, (claim) =>
      claim.metadata.deletionTimestamp === undefined ? undefined : { conditions: conditions(claim) },
    )
  }

  async #changeWithin(ms: number): Promise<void> {
    const topics = [
      claimTopic(this.#claim.metadata.name),
      ...this.#names.map(nodeTopic),
      ...this.#evictions.refusingNamespaces().map(budgetsTopic),
    ]
    const concerns = ({ kind, before, after }: ClusterChange) =>
      kind !== 'PodDisruptionBudget' || this.#evictions.budgetChanged((after ?? before)?.metadata.namespace)
    await this.#deps.cache.changeOf(topics, { ms, concerns }, this.#signal)
  }
}

/** Time in which it is done where the API server is quick. */
const atOnceMs = 1000

/**
 * Drains the Nodes of a claim that were tainted long enough ago and have no pods left, as after most disruption commands: that needs no step of its own.
 * Returns whether it did so; otherwise, and where the API server is slow or busy, `drain` goes on from the cluster's state.
 */
export async function drainEmpty(deps: DrainDeps, ref: ClaimRef): Promise<boolean> {
  const claim = cachedClaim(deps, ref)
  const nodes = claim === undefined ? [] : claimNodes(deps, claim)
  if (claim === undefined || nodes.length === 0 || deps.client.isBusy) return false
  if (!areEmptied(deps, claim, nodes)) return false
  const outcome = await untilDeadline(atOnceMs, activityScope().signal, (late) => {
    const drained = drain(deps, { claim: ref, reported: nothingReported }, late).catch(() => undefined)
    return Promise.race([drained, whenAborted(late)])
  })
  return typeof outcome === 'object' && outcome.kind === 'drained'
}

/** Whether the Nodes of a claim were tainted long enough ago and have no pods left, as the cache has it. */
function areEmptied({ cache, now }: Pick<Parts, 'cache' | 'now'>, claim: NodeClaim, nodes: readonly Node[]): boolean {
  const pods = nodes.flatMap(({ metadata }) => [...cache.pods.by('byNode', metadata.name)])
  return drainPlan({ pods, now: now() }).done && bindingMs(claim, nodes, now()) <= 0
}

/**
 * Returns why a claim is being deleted whose Nodes `drain` has yet to take out of service, as the cache has it. Undefined: it is not being deleted, has no
 * Node, or `drainEmpty` may do it.
 */
export function drainDue(deps: Pick<Parts, 'cache' | 'now' | 'nodeRules'>, claim: NodeClaim): Leaving | undefined {
  const nodes = claimNodes(deps, claim)
  const went = deathOf(claim, nodes[0], deps.nodeRules)
  if (went === undefined || nodes.length === 0 || areEmptied(deps, claim, nodes)) return undefined
  return { went, drainingMs: Date.parse(claim.metadata.deletionTimestamp ?? '') }
}

type VolumesDeps = Pick<Parts, 'client' | 'cache' | 'now'>

/** Returns the attachments that the VM of drained Nodes waits for. Those of pods that stay on the Nodes go with the VM. */
async function attachmentsInTheWay(
  deps: VolumesDeps,
  nodeNames: readonly string[],
): Promise<readonly VolumeAttachment[]> {
  const attachments = nodeNames.flatMap((name) => [...deps.cache.volumeAttachments.by('byNode', name)])
  if (attachments.length === 0) return []
  const staying = nodeNames
    .flatMap((name) => [...deps.cache.pods.by('byNode', name)])
    .filter((pod) => staysOnDrainedNode(pod, deps.now()))
  const volumes = await Promise.all(staying.map((pod) => volumesOf(deps, pod)))
  return blockingVolumeAttachments(attachments, new Set(nodeNames), new Set(volumes.flat()))
}

/** Returns the persistent volumes that a pod uses. */
async function volumesOf(deps: VolumesDeps, pod: Pod): Promise<readonly string[]> {
  const names = await Promise.all(
    pod.persistentVolumeClaims.map(async (name) => {
      const claim = await getIfAny(deps.client, resourcePath('persistentvolumeclaims', name, pod.metadata.namespace))
      return (claim?.['spec'] as { volumeName?: string } | undefined)?.volumeName ?? []
    }),
  )
  return names.flat()
}
