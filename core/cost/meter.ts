import { hourMs } from './bill.ts'
import type { CostSlice, PoolCost } from './slice.ts'

export interface MeteredNode {
  /** Absent: it has not joined, and no pod can be on it. */
  readonly nodeName?: string
  readonly nodePool: string
  readonly capacityType: string
  /** USD an hour; absent: no list names it. */
  readonly pricePerHour?: number
  /** `weightOf` what it has for pods. */
  readonly weight: number
}

export interface MeteredPod {
  readonly nodeName: string
  /** `namespace/Kind/name`. */
  readonly workload: string
  /** `weightOf` what it requests. */
  readonly weight: number
}

/** What nodes cost an hour at one moment. */
export interface CostRate {
  readonly pools: readonly {
    readonly nodePool: string
    readonly capacityType: string
    readonly usd: number
    readonly idle: number
  }[]
  readonly workloads: ReadonlyMap<string, number>
}

interface NodeState {
  readonly facts: MeteredNode
  /** Epoch ms: since when it costs. */
  readonly beganMs: number
  /** Epoch ms: up to when its cost is in slices. */
  sinceMs: number
  /** By workload; unset after a change of its pods. */
  shares?: ReadonlyMap<string, number>
}

interface OpenSlice {
  readonly fromMs: number
  readonly pools: Map<string, PoolCost>
  readonly workloads: Map<string, number>
}

/**
 * Adds up what nodes and their pods cost, from changes with their times. A pod has the share of its node's price that its weight is of the node's weight;
 * shares that add up to more than one are reduced in proportion. The rest of the price is idle. What is added up is cut into slices at multiples of
 * `sliceMs`, which divides an hour. Times are epoch ms and should not go back; an earlier time counts as that of the last change.
 */
export class CostMeter {
  readonly #sliceMs: number
  readonly #startMs: number
  readonly #nodes = new Map<string, NodeState>()
  readonly #idByName = new Map<string, string>()
  readonly #pods = new Map<string, MeteredPod>()
  readonly #podsByNode = new Map<string, Map<string, MeteredPod>>()
  #clock: number
  #open: OpenSlice
  #closed: CostSlice[] = []

  constructor(startMs: number, sliceMs: number) {
    this.#sliceMs = sliceMs
    this.#startMs = startMs
    this.#clock = startMs
    this.#open = newSlice(startMs)
  }

  /** Enters a node or a change of it. `fromMs`: since when a new one costs, which may be before now. */
  node(
    id: string,
    facts: MeteredNode,
    { atMs, fromMs = atMs }: { readonly atMs: number; readonly fromMs?: number },
  ): void {
    this.advance(atMs)
    const before = this.#nodes.get(id)
    if (before !== undefined && isSameNode(before.facts, facts)) return
    if (before !== undefined) this.#settle(before, this.#clock)
    if (before?.facts.nodeName !== undefined) this.#idByName.delete(before.facts.nodeName)
    const beganMs = before?.beganMs ?? Math.min(this.#clock, Math.max(fromMs, this.#startMs))
    // What was before now is idle: it had no pods that were seen.
    if (before === undefined) this.#addIdle(facts, this.#clock - beganMs)
    this.#nodes.set(id, { facts, beganMs, sinceMs: this.#clock })
    if (facts.nodeName !== undefined) this.#idByName.set(facts.nodeName, id)
  }

  /** Ends a node. `toMs`: when it ended, which may be before now: what was counted since then was idle. */
  endNode(id: string, { atMs, toMs = atMs }: { readonly atMs: number; readonly toMs?: number }): void {
    const state = this.#nodes.get(id)
    if (state === undefined) return
    this.advance(atMs)
    this.#settle(state, this.#clock)
    this.#addIdle(state.facts, Math.max(state.beganMs, Math.min(toMs, this.#clock)) - this.#clock)
    this.#nodes.delete(id)
    if (state.facts.nodeName !== undefined) this.#idByName.delete(state.facts.nodeName)
  }

  /** Enters a pod or a change of it; undefined: it holds nothing any more. */
  pod(uid: string, pod: MeteredPod | undefined, atMs: number): void {
    const before = this.#pods.get(uid)
    if (before === pod || isSame(before, pod)) return
    this.advance(atMs)
    for (const name of new Set([before?.nodeName, pod?.nodeName])) this.#podsChange(name)
    if (before !== undefined) {
      const others = this.#podsByNode.get(before.nodeName)
      others?.delete(uid)
      if (others?.size === 0) this.#podsByNode.delete(before.nodeName)
      this.#pods.delete(uid)
    }
    if (pod === undefined) return
    this.#pods.set(uid, pod)
    const own = this.#podsByNode.get(pod.nodeName) ?? new Map<string, MeteredPod>()
    this.#podsByNode.set(pod.nodeName, own.set(uid, pod))
  }

  /** Lets time pass. */
  advance(toMs: number): void {
    for (;;) {
      const endMs = (Math.floor(this.#open.fromMs / this.#sliceMs) + 1) * this.#sliceMs
      if (endMs > toMs) break
      this.#settleAll(endMs)
      const { fromMs, pools, workloads } = this.#open
      this.#closed.push({ fromMs, toMs: endMs, pools, workloads })
      this.#open = newSlice(endMs)
    }
    this.#clock = Math.max(this.#clock, toMs)
  }

  /** Closed slices that are kept, the oldest first. */
  get slices(): readonly CostSlice[] {
    return this.#closed
  }

  /** Forgets slices that begin before a time. */
  forget(beforeMs: number): void {
    this.#closed = this.#closed.filter(({ fromMs }) => fromMs >= beforeMs)
  }

  get nodes(): Iterable<readonly [id: string, facts: MeteredNode]> {
    return this.#nodes.entries().map(([id, { facts }]) => [id, facts] as const)
  }

  /** Returns what everything costs an hour now. */
  rate(): CostRate {
    const pools = new Map<string, CostRate['pools'][number]>()
    const workloads = new Map<string, number>()
    for (const state of this.#nodes.values()) {
      const { nodePool, capacityType, pricePerHour = 0 } = state.facts
      const key = `${nodePool}/${capacityType}`
      let used = 0
      for (const [workload, share] of this.#sharesOf(state)) {
        used += share
        workloads.set(workload, (workloads.get(workload) ?? 0) + share * pricePerHour)
      }
      const { usd = 0, idle = 0 } = pools.get(key) ?? {}
      pools.set(key, { nodePool, capacityType, usd: usd + pricePerHour, idle: idle + pricePerHour * (1 - used) })
    }
    return { pools: [...pools.values()], workloads }
  }

  #podsChange(nodeName: string | undefined): void {
    const state = this.#nodes.get(this.#idByName.get(nodeName ?? '') ?? '')
    if (state === undefined) return
    this.#settle(state, this.#clock)
    delete state.shares
  }

  #settleAll(toMs: number): void {
    for (const state of this.#nodes.values()) this.#settle(state, toMs)
  }

  #settle(state: NodeState, toMs: number): void {
    const hours = (toMs - state.sinceMs) / hourMs
    if (hours <= 0) return
    state.sinceMs = toMs
    const usd = (state.facts.pricePerHour ?? 0) * hours
    let used = 0
    if (usd > 0)
      for (const [workload, share] of this.#sharesOf(state)) {
        used += share
        this.#open.workloads.set(workload, (this.#open.workloads.get(workload) ?? 0) + share * usd)
      }
    this.#addPool(state.facts, hours, used)
  }

  #addIdle(facts: MeteredNode, ms: number): void {
    if (ms !== 0) this.#addPool(facts, ms / hourMs, 0)
  }

  /** Adds hours of a node, of which pods used a part. */
  #addPool({ nodePool, pricePerHour }: MeteredNode, hours: number, used: number): void {
    const usd = (pricePerHour ?? 0) * hours
    const before = this.#open.pools.get(nodePool)
    this.#open.pools.set(nodePool, {
      usd: (before?.usd ?? 0) + usd,
      idle: (before?.idle ?? 0) + usd * (1 - used),
      nodeHours: (before?.nodeHours ?? 0) + hours,
      unpricedHours: (before?.unpricedHours ?? 0) + (pricePerHour === undefined ? hours : 0),
    })
  }

  #sharesOf(state: NodeState): ReadonlyMap<string, number> {
    state.shares ??= sharesOf(state.facts, this.#podsByNode.get(state.facts.nodeName ?? ''))
    return state.shares
  }
}

function newSlice(fromMs: number): OpenSlice {
  return { fromMs, pools: new Map(), workloads: new Map() }
}

/** The share of each workload in a node; together at most 1. */
function sharesOf(
  { weight }: MeteredNode,
  pods: ReadonlyMap<string, MeteredPod> | undefined,
): ReadonlyMap<string, number> {
  const weights = new Map<string, number>()
  let total = 0
  for (const pod of pods?.values() ?? []) {
    total += pod.weight
    weights.set(pod.workload, (weights.get(pod.workload) ?? 0) + pod.weight)
  }
  const whole = Math.max(weight, total)
  const shares = new Map<string, number>()
  for (const [workload, own] of weights) if (own > 0) shares.set(workload, own / whole)
  return shares
}

function isSameNode(a: MeteredNode, b: MeteredNode): boolean {
  return (
    a.nodeName === b.nodeName &&
    a.nodePool === b.nodePool &&
    a.capacityType === b.capacityType &&
    a.pricePerHour === b.pricePerHour &&
    a.weight === b.weight
  )
}

function isSame(a: MeteredPod | undefined, b: MeteredPod | undefined): boolean {
  return a?.nodeName === b?.nodeName && a?.workload === b?.workload && a?.weight === b?.weight
}
