import { createHash } from 'node:crypto'
import type { Logger } from 'pino'
import { type Registry, register } from 'prom-client'
import { realPods } from '../../../core/capacity-buffer/buffer-pods.ts'
import { readyTime } from '../../../core/history/claim-facts.ts'
import {
  type NodeRefusal,
  nextClaimAt,
  type NodeRefusals as Refusals,
  reviewed,
  withClaim,
  withRefusal,
} from '../../../core/node-refusals.ts'
import type { NodeClaim, Pod } from '../../../core/objects.ts'
import { podName } from '../../../core/pods/pod-rules.ts'
import { annotations, labels } from '../../../core/requirements/labels.ts'
import {
  formatPodClasses,
  hasPromisedRoom,
  nodeVerdict,
  podClassesOf,
  settleMs,
} from '../../../core/scheduling/node-verdict.ts'
import type { PlannedNodeClaim, SchedulingPlan } from '../../../core/scheduling/snapshot.ts'
import { timeText } from '../../../core/values/time.ts'
import type { ClusterCache } from '../../kubernetes/cache/cluster-cache.ts'
import { type EventRecorder, subject } from '../../kubernetes/event-recorder.ts'
import type { CatalogueOfPools } from '../../node-overlays/pool-types.ts'
import { podClass } from '../../scheduler-thread/pod-fingerprint.ts'
import type { Nominations } from '../nominations.ts'
import { poolState } from '../refused-claims.ts'
import { MadeNodes } from './made-nodes.ts'
import { observeRefusals } from './refusal-metrics.ts'
import { type RefusalStoreDeps, readRefusals, writeRefusals } from './refusal-store.ts'

export interface NodeRefusalsDeps extends CatalogueOfPools, RefusalStoreDeps {
  readonly events: EventRecorder
  readonly log: Logger
  readonly nominations: Nominations
  /** Epoch milliseconds. */
  readonly now: () => number
}

type Deps = NodeRefusalsDeps

/** Time for which one of several pods of a class is the one that another node is tried with. */
const turnMs = 10_000
/** Time after which a failed write is tried again. */
const retryMs = 5000

/**
 * Classes of pods that kube-scheduler does not bind to the nodes that were made for them. Another node is tried after a back-off, for one pod of the
 * class; a pod whose node may still be accepted waits for kube-scheduler. A ConfigMap keeps the refusals across restarts.
 */
export class NodeRefusals {
  #all: Refusals = new Map()
  /** NodeClaims whose verdict pods wait for, by the pods' UIDs. */
  readonly #awaiting = new Map<string, string>()
  /** Number of pending pods by class, as last seen. */
  #pending: ReadonlyMap<string, readonly Pod[]> = new Map()
  readonly #unsaved = new Set<string>()
  #saving: Promise<void> | undefined
  #retryAt = 0

  constructor(registry: Registry = register) {
    observeRefusals(
      () =>
        [...this.#all.values()]
          .filter(({ count }) => count > 0)
          .map((one) => ({ ...one, pods: this.#pending.get(one.podClass)?.length ?? 0 })),
      registry,
    )
  }

  /** Reads what an earlier planner wrote. Never fails. */
  async read(deps: Deps): Promise<void> {
    await this.#saving
    try {
      const stored = await readRefusals(deps)
      const own = [...this.#all].filter(([name]) => this.#unsaved.has(name))
      this.#all = new Map([...stored, ...own])
    } catch (error) {
      deps.log.warn({ err: error }, 'failed to read refusals of nodes')
    }
  }

  /** Looks at what kube-scheduler made of the nodes of pending pods. Never fails. */
  look(deps: Deps, pods: readonly Pod[]): void {
    const made = new MadeNodes(deps)
    const uids = new Set(pods.map(({ metadata }) => metadata.uid))
    for (const uid of this.#awaiting.keys()) if (!uids.has(uid)) this.#awaiting.delete(uid)
    const pending = pods.filter(({ nodeName }) => nodeName === undefined)
    for (const pod of pending) this.#judge(deps, made, pod)
    if (this.#all.size > 0) this.#review(deps, made, pending)
    if (this.#unsaved.size > 0) this.#save(deps)
  }

  /** Returns whether a pod has to wait before another node is planned for it. */
  isWaiting(deps: Deps, pod: Pod, now: number): boolean {
    if (this.#awaiting.has(pod.metadata.uid)) return true
    const refusal = this.#refusalOf(deps, pod)
    if (refusal === undefined) return false
    if (nextClaimAt(refusal) > now) return true
    const target = deps.nominations.targetOf(pod.metadata.uid)
    const probe = probeOf(deps.cache, refusal, now)
    if (probe !== undefined) return target !== probe
    const peers = this.#pending.get(refusal.podClass) ?? []
    return peers.length > 0 && peers[Math.floor(now / turnMs) % peers.length]?.metadata.uid !== pod.metadata.uid
  }

  /** Returns why a pod waits: a refusal in force, or the NodeClaim whose verdict it waits for. */
  reasonOf(deps: Deps, pod: Pod): { readonly refusal?: NodeRefusal; readonly awaited?: string } {
    const awaited = this.#awaiting.get(pod.metadata.uid)
    const refusal = this.#refusalOf(deps, pod)
    return { ...(awaited === undefined ? {} : { awaited }), ...(refusal === undefined ? {} : { refusal }) }
  }

  /**
   * Returns the claims of a plan to create. Those are left out that are planned for a pod for which a node was made that has room for it by its
   * promise: kube-scheduler decides first. The other pods of such a claim are planned again at once.
   */
  admitted(deps: Deps, plan: SchedulingPlan): readonly PlannedNodeClaim[] {
    const made = new MadeNodes(deps)
    const planned = new Map(plan.existing.map(({ node, pods }) => [node, pods]))
    return plan.newNodeClaims.filter(({ pods }) => {
      const pending = realPods(pods).filter(({ nodeName }) => nodeName === undefined)
      const early = pending.filter((pod) => this.#awaits(deps, { made, planned }, pod))
      return early.length === 0
    })
  }

  /** Returns the annotation that says which classes of pods a NodeClaim is planned for. */
  annotations({ cache }: Deps, { pods }: PlannedNodeClaim): Readonly<Record<string, string>> {
    const classes = formatPodClasses(realPods(pods).map((pod) => podClass(cache, pod)))
    return classes === '' ? {} : { [annotations.plannedClasses]: classes }
  }

  /** Records that a NodeClaim was created. */
  created(deps: Deps, claim: NodeClaim): void {
    for (const name of podClassesOf(claim)) {
      const after = withClaim(this.#all, { podClass: name, claim: claim.metadata.name }, deps.now())
      if (after !== this.#all) this.#change(after, name)
    }
    if (this.#unsaved.size > 0) this.#save(deps)
  }

  /** Returns the refusal that a pod backs off for. */
  #refusalOf({ cache }: Deps, pod: Pod): NodeRefusal | undefined {
    const found = this.#all.size === 0 ? undefined : this.#all.get(podClass(cache, pod))
    return found?.count === 0 ? undefined : found
  }

  /** Records a refusal of the node that a pod was planned on, or ends the wait for it. */
  #judge(deps: Deps, made: MadeNodes, pod: Pod): void {
    const { cache, nominations, now } = deps
    const { uid } = pod.metadata
    const isAwaiting = this.#awaiting.has(uid)
    const claim = cache.nodeClaims.get(this.#awaiting.get(uid) ?? nominations.targetOf(uid) ?? '')
    const isMadeFor = claim !== undefined && madeFor(cache, pod, claim)
    const name = isMadeFor ? podClass(cache, pod) : ''
    const verdict = isMadeFor
      ? nodeVerdict(pod, claim, { now: now(), before: this.#all.get(name)?.message })
      : undefined
    // Most pods are bound in a moment: only what is refused, or holds a pod back, is worth a closer look.
    if (!isAwaiting && verdict?.kind !== 'refused') return
    const found = claim && isMadeFor ? made.nodeOf(claim) : undefined
    const plannedMs = nominations.plannedAt(uid) ?? 0
    const isPlannedThere = !isAwaiting && claim !== undefined && plannedMs >= (readyTime(claim).readyMs ?? 0)
    if (claim === undefined || found === undefined || !hasPromisedRoom(pod, found, isPlannedThere)) {
      if (this.#awaiting.delete(uid)) nominations.forget(uid)
    } else if (verdict?.kind === 'awaited' || made.isComing(name, now()) || made.isChosen(pod, found)) {
      // A node that is nominated is not removed as empty.
      if (isAwaiting) nominations.nominate(uid, claim.metadata.name, now())
    } else {
      this.#awaiting.delete(uid)
      const isGood = made.hasBound(name, Date.parse(claim.metadata.creationTimestamp))
      if (!isGood) this.#refused(deps, { made, claim, name }, pod)
    }
  }

  #refused(
    deps: Deps,
    { made, claim, name }: { readonly made: MadeNodes; readonly claim: NodeClaim; readonly name: string },
    pod: Pod,
  ): void {
    const { cache, log, now } = deps
    const { name: claimName, labels: own } = claim.metadata
    const nodePool = own[labels.nodePool] ?? ''
    const { message = '' } = pod.unschedulable ?? {}
    const found = { podClass: name, pod: podName(pod), nodePool, state: poolsState(cache), message }
    const after = withRefusal(this.#all, { ...found, claim: claimName, claims: made.createdFor(name) }, now())
    if (after === this.#all) return
    this.#change(after, name)
    const refusal = after.get(name)
    const until = refusal && timeText(nextClaimAt(refusal))
    const fields = { pod: podName(pod), nodeClaim: claimName, node: claim.status.nodeName, why: message, until }
    log.warn(fields, 'kube-scheduler did not bind pod to the node made for it, backing off')
  }

  /** Ends refusals that do not count any more, and reports the others. */
  #review(deps: Deps, made: MadeNodes, pods: readonly Pod[]): void {
    const { cache, now } = deps
    const current = reviewed(this.#all, poolsState(cache), now())
    const good = [...current].filter(([name, { sinceMs }]) => made.hasBound(name, sinceMs)).map(([name]) => name)
    const after = new Map([...current].filter(([name]) => !good.includes(name)))
    for (const [name, one] of this.#all) if (after.get(name) !== one) this.#unsaved.add(name)
    this.#all = after
    const concerned = pods.filter((pod) => this.#refusalOf(deps, pod) !== undefined)
    concerned.sort((a, b) => (podName(a) < podName(b) ? -1 : 1))
    this.#pending = Map.groupBy(concerned, (pod) => podClass(cache, pod))
    for (const pod of concerned) this.#report(deps, pod)
  }

  #report(deps: Deps, pod: Pod): void {
    const refusal = this.#refusalOf(deps, pod)
    if (refusal !== undefined)
      deps.events.record({ about: subject(pod), reason: 'NodeRefused', message: refusalText(refusal) })
  }

  /** Whether a pod that is planned on a new claim waits for the verdict on a node that was made for it. */
  #awaits(
    deps: Deps,
    { made, planned }: { readonly made: MadeNodes; readonly planned: ReadonlyMap<string, readonly Pod[]> },
    pod: Pod,
  ): boolean {
    const name = podClass(deps.cache, pod)
    const before = this.#all.get(name)
    for (const claim of made.of(name)) {
      if (before?.refused.includes(claim.metadata.name) || !madeFor(deps.cache, pod, claim)) continue
      const found = made.nodeOf(claim)
      if (found === undefined) continue
      const pods = [...found.pods, ...(planned.get(found.node.metadata.name) ?? [])]
      if (!hasPromisedRoom(pod, { ...found, pods }, false)) continue
      if (made.hasBound(name, Date.parse(claim.metadata.creationTimestamp))) continue
      this.#awaiting.set(pod.metadata.uid, claim.metadata.name)
      deps.nominations.nominate(pod.metadata.uid, claim.metadata.name, deps.now())
      return true
    }
    return false
  }

  #change(all: Refusals, name: string): void {
    this.#all = all
    this.#unsaved.add(name)
  }

  #save(deps: Deps): void {
    if (deps.now() < this.#retryAt) return
    this.#saving ??= this.#write(deps).finally(() => {
      this.#saving = undefined
    })
  }

  async #write(deps: Deps): Promise<void> {
    const names = [...this.#unsaved]
    this.#unsaved.clear()
    try {
      await writeRefusals(deps, this.#all, names)
    } catch (error) {
      for (const name of names) this.#unsaved.add(name)
      this.#retryAt = deps.now() + retryMs
      deps.log.warn({ err: error }, 'failed to write refusals of nodes, retrying')
    }
  }
}

/** Returns what is to be known of a refusal, in one sentence. */
export function refusalText(refusal: NodeRefusal): string {
  const { refused, message } = refusal
  return `kube-scheduler did not bind such pods to ${refused.length} ${refused.length === 1 ? 'node that was' : 'nodes that were'} made for them and had room, the last of NodeClaim ${refused.at(-1)}; the next is tried from ${timeText(nextClaimAt(refusal))} on, or when pod, NodePool or AKSNodeClass change; kube-scheduler says: ${message}`
}

/** Whether a NodeClaim was made for pods like this one, which was there before its node was initialized. */
function madeFor(cache: ClusterCache, pod: Pod, claim: NodeClaim): boolean {
  const { readyMs } = readyTime(claim)
  return (
    readyMs !== undefined &&
    Date.parse(pod.metadata.creationTimestamp) <= readyMs &&
    podClassesOf(claim).has(podClass(cache, pod))
  )
}

/** Returns the NodeClaim that was created last, until kube-scheduler has had time to accept its node. */
function probeOf(cache: ClusterCache, { claims, refused }: NodeRefusal, now: number): string | undefined {
  const [last = ''] = Object.entries(claims).sort(([, a], [, b]) => b - a)[0] ?? []
  const claim = cache.nodeClaims.get(last)
  if (claim === undefined || refused.includes(last) || claim.metadata.deletionTimestamp !== undefined) return undefined
  const { readyMs = now } = readyTime(claim)
  return now - readyMs < settleMs ? last : undefined
}

/** Returns the state of all NodePools that may get a node for pods, and of their classes. */
function poolsState(cache: ClusterCache): string {
  const names = [...cache.nodePools.values()].filter(({ isStatic }) => !isStatic).map(({ metadata }) => metadata.name)
  const states = names.sort().map((name) => poolState(cache, name))
  return createHash('sha256').update(states.join('\n')).digest('hex').slice(0, 16)
}
