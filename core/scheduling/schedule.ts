import { cheapestPrice, orderByPrice, truncate } from '../instance-type.ts'
import { labels } from '../labels.ts'
import { claimLabels, claimRequirements, maxInstanceTypes } from '../node-claim-template.ts'
import type { NodePool, Pod } from '../objects.ts'
import { podRequirements, type Requirements, serializeAll } from '../requirements.ts'
import { refusal } from './eligibility.ts'
import { ExistingNode } from './existing-node.ts'
import { OpenClaim } from './open-claim.ts'
import { PoolTypes, requestsWithDaemons } from './pool-types.ts'
import { inQueueOrder } from './queue.ts'
import { relax } from './relaxation.ts'
import type { PlannedNodeClaim, SchedulingOptions, SchedulingPlan, SchedulingSnapshot } from './snapshot.ts'
import { Topology } from './topology.ts'

/**
 * Places pods: on existing nodes first, then on claims that the pass has opened, then on a new claim of the first NodePool that can
 * have one. The same snapshot gives the same plan (reference/karpenter-core.md 3.2-3.8).
 */
export function schedule(snapshot: SchedulingSnapshot, options: SchedulingOptions = {}): SchedulingPlan {
  return new Pass(snapshot, options).run()
}

class Pass {
  readonly #snapshot: SchedulingSnapshot
  readonly #options: SchedulingOptions
  readonly #nodes: readonly ExistingNode[]
  readonly #pools: readonly PoolTypes[]
  readonly #claims: OpenClaim[] = []
  readonly #topology: Topology
  readonly #poolsPreferNoSchedule: boolean
  /** Pods as they came, by the relaxed forms that were tried. */
  readonly #originals = new Map<Pod, Pod>()
  #hostnames = 0

  constructor(snapshot: SchedulingSnapshot, options: SchedulingOptions) {
    this.#snapshot = snapshot
    this.#options = options
    this.#nodes = [...snapshot.nodes]
      .sort((a, b) => Number(b.initialized) - Number(a.initialized) || compareText(a.name, b.name))
      .map((node) => new ExistingNode(node))
    this.#pools = [...snapshot.nodePools]
      .filter(({ nodePool }) => mayBeExtended(nodePool))
      .sort(
        (a, b) =>
          b.nodePool.weight - a.nodePool.weight || compareText(b.nodePool.metadata.name, a.nodePool.metadata.name),
      )
      .map((option) => new PoolTypes(option, snapshot.daemonSets))
    this.#poolsPreferNoSchedule = this.#pools.some((pool) => pool.prefersNoSchedule)
    this.#topology = new Topology({
      pools: this.#pools.map((pool) => ({
        requirements: pool.requirements,
        taints: pool.taints,
        domains: pool.domains(),
      })),
      nodes: this.#nodes.map(({ node, target }) => ({ ...target, pods: node.pods })),
      pending: snapshot.pods,
      namespaceLabels: snapshot.namespaceLabels,
    })
  }

  run(): SchedulingPlan {
    const messages = new Map<Pod, string>()
    let queue: Pod[] = []
    for (const pod of inQueueOrder(this.#snapshot.pods)) {
      const refused = refusal(pod)
      if (refused === undefined) queue.push(pod)
      else messages.set(pod, refused)
    }
    // A pod that failed is tried again for as long as others find a place: they may have made room in its topology.
    for (;;) {
      const failed: Pod[] = []
      for (const pod of queue) {
        if (this.#options.shouldStop?.() === true) return this.#plan(messages, true)
        const message = this.#place(pod)
        if (message === undefined) messages.delete(pod)
        else {
          failed.push(pod)
          messages.set(pod, message)
        }
      }
      if (failed.length === 0 || failed.length === queue.length) return this.#plan(messages, false)
      queue = failed
    }
  }

  /** Gives up one wish after the other until there is a place. Returns why there is none in the end. */
  #place(original: Pod): string | undefined {
    let pod: Pod | undefined = original
    let refused: (() => string) | undefined
    while (pod !== undefined) {
      refused = this.#attempt(pod)
      if (refused === undefined) return undefined
      pod = relax(pod, this.#poolsPreferNoSchedule)
      if (pod !== undefined) this.#originals.set(pod, original)
    }
    return refused?.()
  }

  #attempt(pod: Pod): (() => string) | undefined {
    const wanted = podRequirements(pod, { strict: false })
    for (const node of this.#nodes) if (node.add(pod, wanted, this.#topology)) return undefined
    // Fewest pods first; the sort keeps the order of equals, so that the plan does not depend on chance.
    this.#claims.sort((a, b) => a.pods.length - b.pods.length)
    for (const claim of this.#claims) if (claim.add(pod, wanted, this.#topology) === undefined) return undefined
    return this.#open(pod, wanted)
  }

  #open(pod: Pod, wanted: Requirements): (() => string) | undefined {
    if (this.#pools.length === 0) return () => 'no dynamic nodepools found'
    const usable = this.#pools.filter(({ types }) => types.length > 0)
    if (usable.length === 0) return () => 'nodepool requirements filtered out all available instance types'
    const errors: (() => string)[] = []
    for (const pool of usable) {
      const limit = pool.limitsError()
      if (limit !== undefined) {
        errors.push(() => limit)
        continue
      }
      const claim = new OpenClaim(
        pool,
        `hostname-placeholder-${this.#hostnames + 1}`,
        pool.types.filter(pool.withinLimits),
      )
      const refused = claim.add(pod, wanted, this.#topology)
      if (refused === undefined) {
        this.#hostnames += 1
        this.#claims.push(claim)
        pool.spend(claim.types)
        return undefined
      }
      errors.push(refused)
    }
    return () => errors.map((explain) => explain()).join('; ')
  }

  #plan(messages: Map<Pod, string>, stopped: boolean): SchedulingPlan {
    const newNodeClaims: PlannedNodeClaim[] = []
    for (const claim of this.#claims) {
      const planned = finished(claim, this.#options.maxInstanceTypes ?? maxInstanceTypes)
      const pods = claim.pods.map(this.#original)
      if (planned.kind === 'claim') newNodeClaims.push({ ...planned.claim, pods })
      else for (const pod of pods) messages.set(pod, planned.message)
    }
    return {
      newNodeClaims,
      existing: this.#nodes
        .filter(({ placed }) => placed.length > 0)
        .map(({ node, placed }) => ({
          node: node.name,
          ...(node.nodeClaim === undefined ? {} : { nodeClaim: node.nodeClaim }),
          pods: placed.map(this.#original),
        })),
      unschedulable: [...messages].map(([pod, message]) => ({ pod, message })),
      stopped,
    }
  }

  readonly #original = (pod: Pod): Pod => this.#originals.get(pod) ?? pod
}

type Finished =
  | { readonly kind: 'claim'; readonly claim: Omit<PlannedNodeClaim, 'pods'> }
  | { readonly kind: 'error'; readonly message: string }

function finished(claim: OpenClaim, max: number): Finished {
  const all = claim.types.map(({ type }) => type)
  const wanted = new Map([...claim.requirements].filter(([key]) => key !== labels.hostname))
  const types = all.length <= max ? orderByPrice(all, wanted) : truncate(all, wanted, max)
  if (types === undefined) {
    const message = `pod didn’t schedule because NodePool couldn’t meet minValues requirements, ${max} instance types are too few (NodePool=${claim.pool.template.nodePool})`
    return { kind: 'error', message }
  }
  const cheapest = types[0]
  return {
    kind: 'claim',
    claim: {
      nodePool: claim.pool.template.nodePool,
      requirements: serializeAll(claimRequirements(wanted, types)),
      labels: claimLabels(claim.pool.template, wanted),
      instanceTypes: types.map(({ name }) => name),
      requests: requestsWithDaemons(claim.types, claim.requests),
      price: (cheapest && cheapestPrice(cheapest, wanted)) ?? 0,
    },
  }
}

/** Static, deleting and unready pools are left alone. A pool without a Ready condition is taken as ready. */
function mayBeExtended({ isStatic, metadata, conditions }: NodePool): boolean {
  const ready = conditions.find(({ type }) => type === 'Ready')
  return !isStatic && metadata.deletionTimestamp === undefined && (ready === undefined || ready.status === 'True')
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
