import type { InstanceType } from '../../core/instance-type.ts'
import { maxInstanceTypes } from '../../core/node-pool/node-claim-template.ts'
import type { Pod } from '../../core/objects.ts'
import { podName } from '../../core/pods/pod-rules.ts'
import { labels, wellKnownLabels } from '../../core/requirements/labels.ts'
import type { Refusal } from '../../core/scheduling/open-claim.ts'
import { relax } from '../../core/scheduling/relaxation.ts'
import { Reservations } from '../../core/scheduling/reservations.ts'
import type {
  PlannedNodeClaim,
  SchedulingOptions,
  SchedulingPlan,
  SchedulingSnapshot,
  UnschedulablePod,
} from '../../core/scheduling/snapshot.ts'
import { type Trial, trialOf } from '../../core/scheduling/trial.ts'
import type { UnschedulableCause } from '../../core/scheduling/unschedulable.ts'
import { ExistingNode } from './existing-node.ts'
import { finished } from './finished-claim.ts'
import { type PassSettings, PlainClaim } from './open-claim.ts'
import { PoolTemplate } from './pool-template.ts'
import { compareText, PodQueue } from './queue.ts'
import { Topology, type TopologyInput } from './topology.ts'

/**
 * Places pods: on existing nodes first, then on claims that the pass has opened, then on a new claim of the first NodePool that can
 * have one. The same snapshot gives the same plan (reference/karpenter-core.md 3.2-3.8).
 */
export function schedulePlainly(snapshot: SchedulingSnapshot, options: SchedulingOptions = {}): SchedulingPlan {
  const ignored = [...(snapshot.ignored ?? [])].map(([pod, cause]) => ({ pod, cause }))
  const plan = snapshot.nodePools.length === 0 ? withoutPools(snapshot) : new Pass(snapshot, options).run()
  return { ...plan, unschedulable: [...ignored, ...plan.unschedulable] }
}

function withoutPools({ pods }: SchedulingSnapshot): SchedulingPlan {
  const cause = { kind: 'no-node-pools' } as const
  return { newNodeClaims: [], existing: [], unschedulable: pods.map((pod) => ({ pod, cause })), stopped: false }
}

/** Why a pod has no place now; the cause is made when the pass is over. */
interface Failure {
  readonly cause: () => UnschedulableCause
  readonly isDeferred?: boolean
}

const noneUsable: Failure = { cause: () => ({ kind: 'no-instance-types' }) }

class Pass {
  readonly #snapshot: SchedulingSnapshot
  readonly #options: SchedulingOptions
  readonly #nodes: readonly ExistingNode[]
  /** Those with instance types, in the order in which they are tried. */
  readonly #pools: readonly PoolTemplate[]
  readonly #claims: PlainClaim[] = []
  /** The group that the pods of a claim must be of. */
  readonly #apart = new Map<PlainClaim, string>()
  readonly #settings: PassSettings
  readonly #prefersNoSchedule: boolean
  readonly #relaxMinValues: boolean
  /** Pods as they came, by the relaxed forms that were placed. */
  readonly #originals = new Map<Pod, Pod>()
  readonly #refusals = new Map<Pod, Failure>()
  #hostnames = 0

  constructor(snapshot: SchedulingSnapshot, options: SchedulingOptions) {
    this.#snapshot = snapshot
    this.#options = options
    this.#relaxMinValues = options.minValuesPolicy === 'BestEffort'
    const wellKnown = options.wellKnownLabels ?? wellKnownLabels
    const pools = [...snapshot.nodePools].sort(
      (a, b) =>
        b.nodePool.weight - a.nodePool.weight || compareText(b.nodePool.metadata.name, a.nodePool.metadata.name),
    )
    const daemonSets = [...snapshot.daemonSets].sort((a, b) => compareText(podName(a), podName(b)))
    const templates = pools.map(
      (pool) => new PoolTemplate(pool, { daemonSets, relaxMinValues: this.#relaxMinValues, wellKnown }),
    )
    this.#pools = templates.filter(({ types }) => types.length > 0)
    this.#prefersNoSchedule = pools.some(({ nodePool }) =>
      nodePool.template.spec.taints.some(({ effect }) => effect === 'PreferNoSchedule'),
    )
    const topology = topologyOf(snapshot, options, { templates, wellKnown })
    const types = pools.flatMap(({ instanceTypes }) => instanceTypes)
    this.#settings = { topology, reservations: reservationsOf(types, options), wellKnown }
    this.#nodes = [...snapshot.nodes]
      .sort((a, b) => Number(b.initialized) - Number(a.initialized) || compareText(a.name, b.name))
      .map((node) => new ExistingNode(node, topology))
  }

  run(): SchedulingPlan {
    const queue = new PodQueue(this.#snapshot.pods)
    for (let pod = queue.pop(); pod !== undefined; pod = queue.pop()) {
      if (this.#claims.length > (this.#options.maxNewClaims ?? Number.POSITIVE_INFINITY)) return this.#plan(true)
      if (this.#options.shouldStop?.() === true) return this.#plan(true)
      const refusal = this.#place(pod)
      if (refusal === undefined) {
        this.#refusals.delete(pod)
        continue
      }
      this.#refusals.set(pod, refusal)
      // It comes back with all its wishes.
      this.#settings.topology.update(pod, pod)
      queue.putBack(pod)
    }
    return this.#plan(false)
  }

  /** Gives up one wish after the other until there is a place. Returns why there is none in the end. */
  #place(original: Pod): Failure | undefined {
    const failure = this.#hopeless(original)
    if (failure !== undefined) return failure
    for (let pod = original; ; ) {
      const apart = this.#snapshot.apart?.get(original)
      const refusal = this.#attempt(this.#trial(original, pod), this.#nodesFor(original), apart)
      if (refusal === undefined) {
        this.#originals.set(pod, original)
        return undefined
      }
      const relaxed = refusal.isDeferred === true ? undefined : relax(pod, this.#prefersNoSchedule)
      if (relaxed === undefined) return refusal
      pod = relaxed
      this.#settings.topology.update(pod, original)
    }
  }

  #hopeless(pod: Pod): Failure | undefined {
    if (pod.resourceClaims.length > 0) return { cause: () => ({ kind: 'resource-claims' }) }
    const problem = this.#snapshot.podVolumes?.get(pod)?.error
    return problem && { cause: () => ({ kind: 'volumes', problem }) }
  }

  #trial(original: Pod, pod: Pod): Trial {
    return trialOf(pod, this.#snapshot.podVolumes?.get(original), this.#options.preferencePolicy === 'Ignore')
  }

  #nodesFor(pod: Pod): readonly ExistingNode[] {
    const { barred } = this.#snapshot
    if (barred?.pods.has(pod) !== true) return this.#nodes
    return this.#nodes.filter(({ node }) => !barred.places.has(node.name))
  }

  #attempt(trial: Trial, nodes: readonly ExistingNode[], apart: string | undefined): Failure | undefined {
    if (nodes.some((node) => node.add(trial))) return undefined
    // Fewest pods first; the sort keeps the order of equals, so that the plan does not depend on chance.
    this.#claims.sort((a, b) => a.pods.length - b.pods.length)
    const shared = this.#claims.filter((claim) => this.#apart.get(claim) === apart)
    if (shared.some((claim) => claim.add(trial) === undefined)) return undefined
    return this.#pools.length === 0 ? noneUsable : this.#open(trial, apart)
  }

  #open(trial: Trial, apart: string | undefined): Failure | undefined {
    const refusals: Refusal[] = []
    for (const pool of this.#pools) {
      const allowed = pool.withinLimits()
      if ('kind' in allowed) {
        refusals.push({ cause: () => allowed })
        continue
      }
      this.#hostnames += 1
      const hostname = `hostname-placeholder-${String(this.#hostnames).padStart(4, '0')}`
      const claim = new PlainClaim(pool, { hostname, types: allowed.types }, this.#settings)
      const refusal = claim.add(trial, this.#relaxMinValues)
      if (refusal === undefined) {
        this.#claims.push(claim)
        if (apart !== undefined) this.#apart.set(claim, apart)
        pool.minValuesRelaxed = isRelaxed(claim)
        pool.spend(claim.now.types)
        return undefined
      }
      refusals.push(refusal)
      if (refusal.isDeferred === true) break
    }
    return {
      cause: () => ({ kind: 'refused', refusals: refusals.map(({ cause }) => cause()) }),
      isDeferred: refusals.some(({ isDeferred }) => isDeferred === true),
    }
  }

  #plan(stopped: boolean): SchedulingPlan {
    const newNodeClaims: PlannedNodeClaim[] = []
    const failed: UnschedulablePod[] = []
    for (const claim of this.#claims) {
      const pods = claim.pods.map(this.#original)
      const done = finished(claim, pods, this.#settings.reservations.held(claim.now.hostname), {
        maxInstanceTypes: this.#options.maxInstanceTypes ?? maxInstanceTypes,
        relaxMinValues: this.#relaxMinValues,
        reservationIdLabel: reservationIdLabel(this.#options),
        wellKnown: this.#settings.wellKnown,
      })
      if (done.kind === 'claim') newNodeClaims.push(done.claim)
      else failed.push(...pods.map((pod) => ({ pod, cause: done.cause })))
    }
    const refused = [...this.#refusals].map(([pod, { cause }]) => ({ pod, cause: cause() }))
    return { newNodeClaims, existing: this.#existing(), unschedulable: [...refused, ...failed], stopped }
  }

  #existing(): SchedulingPlan['existing'] {
    return this.#nodes
      .filter(({ placed }) => placed.length > 0)
      .map(({ node, placed }) => ({
        node: node.name,
        ...(node.nodeClaim === undefined ? {} : { nodeClaim: node.nodeClaim }),
        pods: placed.map(this.#original),
      }))
  }

  readonly #original = (pod: Pod): Pod => this.#originals.get(pod) ?? pod
}

function topologyOf(
  snapshot: SchedulingSnapshot,
  { preferencePolicy }: SchedulingOptions,
  made: Pick<TopologyInput, 'templates' | 'wellKnown'>,
): Topology {
  const places = snapshot.nodes.map(({ joined, name, labels, taints, pods }) => ({
    facts: joined ?? { name, labels, taints },
    pods,
    isTracked: true,
    ...(joined === undefined ? {} : { placeLabels: labels }),
  }))
  const inOrder = [...snapshot.pods].sort(
    (a, b) =>
      Number(a.nodeName !== undefined) - Number(b.nodeName !== undefined) || compareText(podName(a), podName(b)),
  )
  return new Topology({
    ...made,
    pools: snapshot.nodePools,
    nodes: [...places, ...(snapshot.occupied ?? [])].sort((a, b) => compareText(a.facts.name, b.facts.name)),
    hostnames: snapshot.nodes.map(({ hostname }) => hostname),
    pods: inOrder.filter((pod) => snapshot.podVolumes?.get(pod)?.lookupFailed !== true),
    namespaceLabels: snapshot.namespaceLabels ?? new Map(),
    ignorePreferences: preferencePolicy === 'Ignore',
  })
}

/** Whether a minValues of the pool had to come down. */
function isRelaxed({ pool, now }: PlainClaim): boolean {
  return [...pool.requirements.values()].some(
    ({ key, minValues: before }) => before !== undefined && (now.requirements.get(key)?.minValues ?? before) < before,
  )
}

const reservationIdLabel = ({ reservationIdLabel: label }: SchedulingOptions) => label ?? labels.reservationId

function reservationsOf(types: readonly InstanceType[], options: SchedulingOptions): Reservations {
  return new Reservations(types, {
    isEnabled: options.reservedCapacity ?? true,
    mode: options.reservedOfferings ?? 'Strict',
    idLabel: reservationIdLabel(options),
    wellKnown: options.wellKnownLabels ?? wellKnownLabels,
  })
}
