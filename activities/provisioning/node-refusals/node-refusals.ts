import { Gauge, type Registry } from 'prom-client'
import { realPods } from '../../../core/capacity-buffer/buffer-pods.ts'
import { plannedAnnotations, readyTime } from '../../../core/history/claim-facts.ts'
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
  type MadeNode,
  nodeVerdict,
  podClassesOf,
} from '../../../core/scheduling/node-verdict.ts'
import type { PlannedNodeClaim, SchedulingPlan } from '../../../core/scheduling/snapshot.ts'
import { timeText } from '../../../core/values/time.ts'
import { subject } from '../../kubernetes/event-recorder.ts'
import type { CatalogueOfPools } from '../../node-overlays/pool-types.ts'
import { podClass } from '../../scheduler-thread/pod-fingerprint.ts'
import type { PlannerParts } from '../parts.ts'
import { type LeftoverReason, Leftovers } from './leftovers.ts'
import { MadeNodes } from './made-nodes.ts'
import { madeFor, poolsState, probeOf, refusalText } from './refusal-rules.ts'
import { RefusalStore, type RefusalStoreDeps } from './refusal-store.ts'

type NodeRefusalsDeps = CatalogueOfPools & RefusalStoreDeps & Pick<PlannerParts, 'events' | 'nominations'>

interface WaitReason {
  readonly refusal: NodeRefusal | undefined
  readonly leftover: LeftoverReason | undefined
  readonly awaited: string | undefined
}

export interface RefusingDeps extends NodeRefusalsDeps {
  readonly nodeRefusals: NodeRefusals
}

type Deps = NodeRefusalsDeps

/** Time for which one of several pods of a class is the one that another node is tried with. */
const turnMs = 10_000

/**
 * Classes of pods that kube-scheduler does not bind to the nodes that were made for them. Another node is tried after a back-off, for one pod of the
 * class; a pod whose node may still be accepted waits for kube-scheduler. A ConfigMap keeps the refusals across restarts.
 */
export class NodeRefusals {
  #all: Refusals = new Map()
  /** NodeClaims whose verdict pods wait for, by the pods' UIDs. */
  readonly #awaiting = new Map<string, string>()
  /** Pending pods of refused classes, in order of their names, as last seen. */
  #pending: ReadonlyMap<string, readonly Pod[]> = new Map()
  readonly #leftovers = new Leftovers()
  readonly #store = new RefusalStore()

  constructor(registry: Registry) {
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
    this.#all = await this.#store.read(deps, this.#all)
  }

  /** Looks at what kube-scheduler made of the nodes of pending pods. Never fails. */
  look(deps: Deps, pods: readonly Pod[]): void {
    const made = new MadeNodes(deps)
    const uids = new Set(pods.map(({ metadata }) => metadata.uid))
    for (const uid of this.#awaiting.keys()) if (!uids.has(uid)) this.#awaiting.delete(uid)
    const pending = pods.filter(({ nodeName }) => nodeName === undefined)
    this.#leftovers.keepOnly(uids)
    for (const pod of pending) {
      this.#judge(deps, made, pod)
      if (this.#awaiting.has(pod.metadata.uid)) continue
      this.#leftovers.judge(deps, { made, pod }, () => {
        const claim = this.#claimOf(deps, pod)
        return claim !== undefined && this.#hasRoom(deps, { made, claim }, pod)
      })
    }
    if (this.#all.size > 0) this.#review(deps, made, pending)
    this.#store.save(deps, this.#all)
  }

  /** Returns whether a pod has to wait before another node is planned for it. */
  isWaiting(deps: Deps, pod: Pod, now: number): boolean {
    if (this.#awaiting.has(pod.metadata.uid) || this.#leftovers.isWaiting(pod, now)) return true
    const refusal = this.#refusalOf(deps, pod)
    if (refusal === undefined) return false
    if (nextClaimAt(refusal) > now) return true
    const target = deps.nominations.targetOf(pod.metadata.uid)
    const probe = probeOf(deps.cache, refusal, now)
    if (probe !== undefined) return target !== probe
    const peers = this.#pending.get(refusal.podClass) ?? []
    return peers.length > 0 && peers[Math.floor(now / turnMs) % peers.length]?.metadata.uid !== pod.metadata.uid
  }

  /** Returns why a pod waits: a refusal in force, a node with room that it is not bound to, or the NodeClaim whose verdict it waits for. */
  reasonOf(deps: Deps, pod: Pod): WaitReason {
    return {
      refusal: this.#refusalOf(deps, pod),
      leftover: this.#leftovers.isWaiting(pod, deps.now()) ? this.#leftovers.reasonOf(pod) : undefined,
      awaited: this.#awaiting.get(pod.metadata.uid),
    }
  }

  /**
   * Returns the claims of a plan to create. Those are left out that are planned for a pod for which a node was made that has room for it by its
   * promise: kube-scheduler decides first. The other pods of such a claim are planned again at once.
   */
  admitted(deps: Deps, plan: SchedulingPlan): readonly PlannedNodeClaim[] {
    const open = new OpenNodes(new MadeNodes(deps), plan.existing)
    return plan.newNodeClaims.filter(({ pods }) => {
      const pending = realPods(pods).filter(({ nodeName }) => nodeName === undefined)
      const early = pending.filter((pod) => this.#awaits(deps, open, pod))
      return early.length === 0
    })
  }

  /** Returns the annotations that say what a NodeClaim is planned for: how many pods, and of which classes. */
  annotations({ cache }: Deps, planned: PlannedNodeClaim): Readonly<Record<string, string>> {
    const classes = formatPodClasses(realPods(planned.pods).map((pod) => podClass(cache, pod)))
    return { ...plannedAnnotations(planned), ...(classes === '' ? {} : { [annotations.plannedClasses]: classes }) }
  }

  created(deps: Deps, claim: NodeClaim): void {
    for (const name of podClassesOf(claim)) {
      const after = withClaim(this.#all, { podClass: name, claim: claim.metadata.name }, deps.now())
      if (after !== this.#all) this.#change(after, name)
    }
    this.#store.save(deps, this.#all)
  }

  /** Returns the refusal that a pod backs off for. */
  #refusalOf({ cache }: Deps, pod: Pod): NodeRefusal | undefined {
    const found = this.#all.size === 0 ? undefined : this.#all.get(podClass(cache, pod))
    return found?.count === 0 ? undefined : found
  }

  /** Records a refusal of the node that a pod was planned on, or ends the wait for it. */
  #judge(deps: Deps, made: MadeNodes, pod: Pod): void {
    const { nominations, now } = deps
    const { uid } = pod.metadata
    const isAwaiting = this.#awaiting.has(uid)
    const claim = this.#claimOf(deps, pod)
    const name = claim === undefined ? '' : podClass(deps.cache, pod)
    const verdict = claim && nodeVerdict(pod, claim, { now: now(), before: this.#all.get(name)?.message })
    // Most pods are bound in a moment: only what is refused, or holds a pod back, is worth a closer look.
    if (!isAwaiting && verdict?.kind !== 'refused') return
    if (claim === undefined || !this.#hasRoom(deps, { made, claim }, pod)) {
      if (this.#awaiting.delete(uid)) nominations.forget(uid)
    } else if (verdict?.kind !== 'refused' || made.isComing(name, now()) || made.isChosen(pod, claim.status.nodeName)) {
      // A node that is nominated is not removed as empty.
      if (isAwaiting) nominations.nominate(uid, claim.metadata.name, now())
    } else {
      this.#awaiting.delete(uid)
      const isGood = made.hasBound(name, Date.parse(claim.metadata.creationTimestamp))
      if (!isGood) this.#refused(deps, { made, claim, name }, pod)
      const refusal = this.#refusalOf(deps, pod)
      if (refusal !== undefined && nextClaimAt(refusal) > now()) nominations.forget(uid)
    }
  }

  /** Returns the NodeClaim that a pod is planned on, if it was made for such pods. */
  #claimOf({ cache, nominations }: Deps, pod: Pod): NodeClaim | undefined {
    const { uid } = pod.metadata
    const claim = cache.nodeClaims.get(this.#awaiting.get(uid) ?? nominations.targetOf(uid) ?? '')
    return claim !== undefined && madeFor(cache, pod, claim) ? claim : undefined
  }

  #hasRoom({ nominations }: Deps, { made, claim }: { made: MadeNodes; claim: NodeClaim }, pod: Pod): boolean {
    const { uid } = pod.metadata
    const node = made.nodeOf(claim)
    const plannedMs = this.#awaiting.has(uid) ? undefined : nominations.plannedAt(uid)
    const isPlannedThere = plannedMs !== undefined && plannedMs >= (readyTime(claim).readyMs ?? 0)
    return node !== undefined && hasPromisedRoom(pod, node, isPlannedThere)
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
    for (const [name, one] of this.#all) if (after.get(name) !== one) this.#store.changed(name)
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
  #awaits({ cache, nominations, now }: Deps, open: OpenNodes, pod: Pod): boolean {
    const name = podClass(cache, pod)
    const claim = open.claimFor(pod, name, this.#all.get(name)?.refused ?? [])
    if (claim === undefined) return false
    this.#awaiting.set(pod.metadata.uid, claim.metadata.name)
    nominations.nominate(pod.metadata.uid, claim.metadata.name, now())
    return true
  }

  #change(all: Refusals, name: string): void {
    // The oldest made room.
    for (const one of this.#all.keys()) if (!all.has(one)) this.#store.changed(one)
    this.#all = all
    this.#store.changed(name)
  }
}

interface OpenNode {
  readonly node: MadeNode
  readonly readyMs: number
}

/** Nodes of which no verdict is known, for the pods of one plan: a class may have a thousand of each. */
class OpenNodes {
  readonly #made: MadeNodes
  readonly #planned: ReadonlyMap<string, readonly Pod[]>
  readonly #byClass = new Map<string, OpenNode[]>()

  constructor(made: MadeNodes, existing: SchedulingPlan['existing']) {
    this.#made = made
    this.#planned = new Map(existing.map(({ node, pods }) => [node, pods]))
  }

  /** Returns the NodeClaim of a node that was made for a pod's class after it came, and that has room for it by its promise. `refused`: NodeClaims to leave out. */
  claimFor(pod: Pod, podClass: string, refused: readonly string[]): NodeClaim | undefined {
    const { uid, creationTimestamp } = pod.metadata
    const createdMs = Date.parse(creationTimestamp)
    const nodes = this.#byClass.get(podClass) ?? this.#openFor(podClass, refused)
    this.#byClass.set(podClass, nodes)
    for (let at = 0; at < nodes.length; ) {
      const { node, readyMs } = nodes[at] as OpenNode
      // The others were ready before it came, too.
      if (readyMs < createdMs) return undefined
      if (hasPromisedRoom(pod, node, false)) return node.claim
      // Others of the class find as much, unless it depends on the pod itself.
      const isOwn = pod.persistentVolumeClaims.length > 0 || node.pods.some(({ metadata }) => metadata.uid === uid)
      if (isOwn) at += 1
      else nodes.splice(at, 1)
    }
    return undefined
  }

  /** The last one first. */
  #openFor(podClass: string, refused: readonly string[]): OpenNode[] {
    const open = this.#made.of(podClass).flatMap((claim): readonly OpenNode[] => {
      const { name, creationTimestamp } = claim.metadata
      const { readyMs } = readyTime(claim)
      if (readyMs === undefined || refused.includes(name)) return []
      const node = this.#made.nodeOf(claim)
      if (node === undefined || this.#made.hasBound(podClass, Date.parse(creationTimestamp))) return []
      return [
        { readyMs, node: { ...node, pods: [...node.pods, ...(this.#planned.get(node.node.metadata.name) ?? [])] } },
      ]
    })
    return open.sort((a, b) => b.readyMs - a.readyMs)
  }
}

/** Publishes the classes of pods whose nodes kube-scheduler refuses, each with the number of its pending pods. */
function observeRefusals(
  refusals: () => readonly (NodeRefusal & { readonly pods: number })[],
  registry: Registry,
): Gauge {
  return new Gauge({
    name: 'joiner_node_refusals',
    help: 'Pending pods of classes that kube-scheduler does not bind to the nodes made for them, with what it says.',
    labelNames: ['pod', 'nodepool', 'message'],
    registers: [registry],
    collect() {
      this.reset()
      for (const { pod, nodePool, message, pods } of refusals()) this.set({ pod, nodepool: nodePool, message }, pods)
    },
  })
}
