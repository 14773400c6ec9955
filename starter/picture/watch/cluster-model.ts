import { isDeepStrictEqual } from 'node:util'
import type { PriceOf } from '../../../core/cost/report.ts'
import type { WaitingClass } from '../../../core/scheduling/explain/waiting-classes.ts'
import type { Gaps } from '../gaps.ts'
import { poolsOf, totalsOf } from '../pools.ts'
import type { ClusterChange, ClusterView, NodeView } from './cluster-view.ts'
import type { ClaimFact, NodeFact, PodFact } from './facts.ts'
import { nodeView, type TimedNodeView } from './node-view.ts'
import { Pairs, put } from './pairs.ts'

/** The view of a cluster, kept up to date by changes of single objects: a change costs what its node costs. */
export class ClusterModel {
  readonly #pairs = new Pairs()
  readonly #pods = new Map<string, PodFact>()
  readonly #podsOf = new Map<string, Map<string, PodFact>>()
  readonly #waiting = new Map<string, PodFact>()
  readonly #nodePools = new Set<string>()
  readonly #views = new Map<string, TimedNodeView>()
  readonly #keyOfNode = new Map<string, string>()
  readonly #dirtyNodes = new Set<string>()
  readonly #dirtyClaims = new Set<string>()
  #isDirty = false
  #priceOf: PriceOf | undefined
  #found: readonly WaitingClass[] = []
  #gaps: Gaps = { missing: [], damaged: [] }

  /** Whether something changed since the last `takeChange`, or a mark or hold ends by `now`. */
  isDirty(now: number): boolean {
    return this.#isDirty || [...this.#views.values()].some(({ untilMs }) => untilMs <= now)
  }

  /** Names of what is known of a kind, for comparison with a list. */
  podKeys(): Iterable<string> {
    return this.#pods.keys()
  }

  nodeNames(): Iterable<string> {
    return this.#pairs.nodes.keys()
  }

  claimNames(): Iterable<string> {
    return this.#pairs.claims.keys()
  }

  nodePoolNames(): Iterable<string> {
    return this.#nodePools
  }

  /** Enters a pod; undefined: it is gone or has ended. */
  setPod(key: string, pod: PodFact | undefined): void {
    const before = this.#pods.get(key)
    if (isDeepStrictEqual(before, pod)) return
    this.#isDirty = true
    if (before?.node !== undefined && before.node !== pod?.node) {
      this.#podsOf.get(before.node)?.delete(key)
      if (this.#podsOf.get(before.node)?.size === 0) this.#podsOf.delete(before.node)
      this.#dirtyNodes.add(before.node)
    }
    if (pod?.node !== undefined) {
      const own = this.#podsOf.get(pod.node) ?? new Map<string, PodFact>()
      this.#podsOf.set(pod.node, own.set(key, pod))
      this.#dirtyNodes.add(pod.node)
    }
    put(this.#pods, key, pod)
    put(this.#waiting, key, pod?.wait === undefined ? undefined : pod)
  }

  setNode(name: string, node: NodeFact | undefined): void {
    if (isDeepStrictEqual(this.#pairs.nodes.get(name), node)) return
    this.#markNode(name)
    this.#pairs.setNode(name, node)
    this.#markNode(name)
  }

  setClaim(name: string, claim: ClaimFact | undefined): void {
    if (isDeepStrictEqual(this.#pairs.claims.get(name), claim)) return
    this.#markClaim(name)
    this.#pairs.setClaim(name, claim)
    this.#markClaim(name)
  }

  setNodePool(name: string, exists: boolean): void {
    if (this.#nodePools.has(name) === exists) return
    this.#isDirty = true
    if (exists) this.#nodePools.add(name)
    else this.#nodePools.delete(name)
  }

  setPrices(priceOf: PriceOf | undefined): void {
    this.#isDirty = true
    this.#priceOf = priceOf
    for (const name of this.#pairs.nodes.keys()) this.#dirtyNodes.add(name)
    for (const name of this.#pairs.claims.keys()) this.#dirtyClaims.add(name)
  }

  /** Sets what the planner found of pods that wait. */
  setWaiting(found: readonly WaitingClass[]): void {
    this.#isDirty = true
    this.#found = found
  }

  setGaps(gaps: Gaps): void {
    if (isDeepStrictEqual(gaps, this.#gaps)) return
    this.#isDirty = true
    this.#gaps = gaps
  }

  /** Returns the view as of the last `takeChange`. */
  view(now: number): ClusterView {
    return { ...this.#small(now), nodes: this.#nodes() }
  }

  /** Brings the view up to date, and returns what changed since the last time. */
  takeChange(now: number): ClusterChange {
    for (const [key, { untilMs }] of this.#views) if (untilMs <= now) this.#markKey(key)
    const nodes: NodeView[] = []
    const gone: string[] = []
    for (const key of this.#dirtyKeys()) {
      const made = this.#make(key, now)
      const before = this.#views.get(key)
      const nodeBefore = before?.view.node
      if (nodeBefore !== undefined && this.#keyOfNode.get(nodeBefore) === key) this.#keyOfNode.delete(nodeBefore)
      put(this.#views, key, made)
      if (made === undefined) {
        if (before !== undefined) gone.push(key)
        continue
      }
      nodes.push(made.view)
      if (made.view.node !== undefined) this.#keyOfNode.set(made.view.node, key)
    }
    this.#dirtyNodes.clear()
    this.#dirtyClaims.clear()
    this.#isDirty = false
    return { ...this.#small(now), nodes, gone }
  }

  /** By key, so that sums do not depend on the order of changes. */
  #nodes(): readonly NodeView[] {
    return [...this.#views.values()].map(({ view }) => view).sort((a, b) => (a.key < b.key ? -1 : 1))
  }

  #small(now: number): Omit<ClusterView, 'nodes'> {
    const nodes = this.#nodes()
    return {
      atMs: now,
      totals: totalsOf(nodes, this.#waiting.size),
      pools: poolsOf(nodes, this.#nodePools),
      pending: pendingClasses(this.#waiting, this.#found),
      ...this.#gaps,
      unlisted: this.#gaps.missing.flatMap(({ what, asOfMs }) => (asOfMs === undefined ? [what] : [])),
    }
  }

  #make(key: string, now: number): TimedNodeView | undefined {
    const claim = this.#pairs.claims.get(key)
    const node = claim === undefined ? this.#pairs.nodes.get(nodeNameIn(key)) : this.#pairs.nodeOf(claim)
    if (claim === undefined && (node === undefined || this.#pairs.claimOf(node) !== undefined)) return undefined
    if (claim === undefined && node !== undefined && this.#keyFor(node) !== key) return undefined
    const pods = this.#podsOf.get(node?.metadata.name ?? '')?.values() ?? []
    return nodeView({ key, node, claim, pods }, { now, priceOf: this.#priceOf })
  }

  /** A Node without a claim is named after itself, unless a claim of another node has its name. */
  #keyFor({ metadata }: NodeFact): string {
    return this.#pairs.claims.has(metadata.name) ? `${nodePrefix}${metadata.name}` : metadata.name
  }

  #dirtyKeys(): ReadonlySet<string> {
    const keys = new Set(this.#dirtyClaims)
    for (const name of this.#dirtyNodes) {
      const before = this.#keyOfNode.get(name)
      if (before !== undefined) keys.add(before)
      const node = this.#pairs.nodes.get(name)
      if (node === undefined) continue
      keys.add(this.#pairs.claimOf(node)?.metadata.name ?? this.#keyFor(node))
    }
    return keys
  }

  /** What a change of a Node may concern: it, its claims, and other Nodes of their VMs. */
  #markNode(name: string): void {
    this.#isDirty = true
    this.#dirtyNodes.add(name)
    const node = this.#pairs.nodes.get(name)
    if (node === undefined) return
    for (const claim of this.#pairs.claimsNear(node)) this.#markClaim(claim)
  }

  #markClaim(name: string): void {
    this.#isDirty = true
    this.#dirtyClaims.add(name)
    const claim = this.#pairs.claims.get(name)
    for (const near of claim === undefined ? [name] : this.#pairs.nodesNear(claim)) {
      this.#dirtyNodes.add(near)
      const node = this.#pairs.nodes.get(near)
      // Another claim may name the same Node.
      if (node !== undefined) for (const other of this.#pairs.claimsNear(node)) this.#dirtyClaims.add(other)
    }
  }

  #markKey(key: string): void {
    if (this.#pairs.claims.has(key)) this.#markClaim(key)
    else this.#markNode(nodeNameIn(key))
  }
}

/** No object's name contains a slash. */
const nodePrefix = 'node/'

const nodeNameIn = (key: string) => (key.startsWith(nodePrefix) ? key.slice(nodePrefix.length) : key)

/** Most classes, and most names of a class. */
const mostClasses = 50
const mostNames = 5

/**
 * Returns why pods wait, the largest classes first: what the planner found, for pods that still wait; else what kube-scheduler said of them.
 */
export function pendingClasses(
  waiting: ReadonlyMap<string, PodFact>,
  found: readonly WaitingClass[] = [],
): readonly WaitingClass[] {
  const planned = found.filter(({ pods }) => pods.some((pod) => waiting.has(pod)))
  if (planned.length > 0) return bySize(planned)
  const groups = Map.groupBy(
    [...waiting.values()].flatMap(({ key, wait }) => (wait === undefined ? [] : [{ key, ...wait }])),
    ({ reason, message }) => `${reason}\n${message}`,
  )
  return bySize([...groups.values()].map((pods) => schedulerClass(pods)))
}

function schedulerClass(
  pods: readonly {
    readonly key: string
    readonly sinceMs: number
    readonly reason: string
    readonly message: string
  }[],
): WaitingClass {
  const { reason = '', message = '' } = pods[0] ?? {}
  return {
    state: reason === 'Unschedulable' ? 'unschedulable' : 'held',
    pods: pods
      .map(({ key }) => key)
      .sort()
      .slice(0, mostNames),
    count: pods.length,
    sinceMs: pods.reduce((first, { sinceMs }) => Math.min(first, sinceMs), Number.POSITIVE_INFINITY),
    plannedOn: [],
    finding: message || reason || 'kube-scheduler has not tried it yet',
    funnel: [],
    remedies: [],
  }
}

function bySize(classes: readonly WaitingClass[]): readonly WaitingClass[] {
  return classes
    .toSorted((a, b) => b.count - a.count || ((a.pods[0] ?? '') < (b.pods[0] ?? '') ? -1 : 1))
    .slice(0, mostClasses)
}
