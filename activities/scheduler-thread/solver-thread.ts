import type { Logger } from 'pino'
import type { Candidate } from '../../core/disruption/candidates.ts'
import type { Evaluation } from '../../core/disruption/evaluate.ts'
import type { Proposed, Validation } from '../../core/disruption/validate.ts'
import { type InstanceType, typeNamed } from '../../core/instance-type.ts'
import type { Condition } from '../../core/objects.ts'
import { isReschedulable } from '../../core/pods/pod-rules.ts'
import { labels } from '../../core/requirements/labels.ts'
import type { IndexedKind } from '../../core/scheduling/cluster-index.ts'
import type { Explanation } from '../../core/scheduling/explain/explanation.ts'
import { labelsOf, stateNodes } from '../../core/scheduling/state-nodes.ts'
import type { CachedKind, CachedObject } from '../kubernetes/cache/cached-kinds.ts'
import type { ClusterCache } from '../kubernetes/cache/cluster-cache.ts'
import { withoutTemplate } from '../kubernetes/cache/decode-buffer.ts'
import { keyOf } from '../kubernetes/cache/object-key.ts'
import { evaluationOf, type KeyedCandidate, type Objects, validationOf } from './keyed-evaluation.ts'
import { planWithPods, type ThreadPlan } from './keyed-plan.ts'
import type { EvaluationRequest, IndexChange, KnownType, PlanRequest } from './messages.ts'
import type { Quarantine } from './quarantine.ts'
import { SupervisedThread, type ThreadFault, type ThreadSettings } from './supervised-thread.ts'

export interface ThreadRequest extends Omit<PlanRequest, 'typeLists'> {
  /** What each NodePool that takes part can buy. Lists and types that are the same objects as before are not sent again. */
  readonly instanceTypes: ReadonlyMap<string, readonly InstanceType[]>
}

export interface EvaluationThreadRequest extends Omit<EvaluationRequest, 'typeLists' | 'together'> {
  /** As for a plan. */
  readonly instanceTypes: ThreadRequest['instanceTypes']
}

type Answer = Awaited<ReturnType<SupervisedThread['ask']>>

/** Most changes in a bundle. Changes of one turn of the event loop are sent together. */
const bundleSize = 2000

/** Time limit of an evaluation, which takes minutes in a very large cluster. */
const evaluationLimitMs = 10 * 60_000

/**
 * The scheduler in a thread of its own, so that a long pass holds up no heartbeat and no watch. The thread keeps an index of the cluster and
 * receives each change of the cache; a pass copies nothing. A thread that failed is replaced at the next plan and receives everything again,
 * except quarantined objects.
 */
export class SolverThread {
  readonly #cache: ClusterCache
  readonly #quarantine: Quarantine | undefined
  readonly #thread: SupervisedThread
  #changes: IndexChange[] = []
  #flushing: NodeJS.Immediate | undefined
  #lists = new Map<readonly InstanceType[], number>()
  #listCount = 0
  #unsubscribe: () => void = () => {}

  constructor(
    cache: ClusterCache,
    log: Logger,
    { quarantine, ...settings }: Omit<ThreadSettings, 'log' | 'onFault'> & { readonly quarantine?: Quarantine } = {},
  ) {
    this.#cache = cache
    this.#quarantine = quarantine
    const onFault = (fault: ThreadFault, isAsked: boolean) => {
      this.#forget()
      if (!isAsked) void quarantine?.crashed(fault)
    }
    this.#thread = new SupervisedThread({ ...settings, log, onFault })
  }

  /** Plans with the current state of the cache. Errors: `ThreadFault`. */
  async plan({ instanceTypes, ...request }: ThreadRequest): Promise<ThreadPlan> {
    const typeLists = this.#prepare(instanceTypes)
    const answer = await this.#thread.ask({ kind: 'plan', request: { ...request, typeLists } }, request.timeLimitMs)
    if (answer.kind !== 'plan') throw unexpected(answer)
    return planWithPods(answer.plan, this.#cache)
  }

  /**
   * Explains why pods of the last plan found no place, by the pods' names: the first ones, as far as the time allows; once for each plan. Errors: as of
   * a plan.
   */
  async explain(pods: readonly string[], timeLimitMs: number): Promise<ReadonlyMap<string, Explanation>> {
    if (!this.#thread.isRunning) return new Map()
    const answer = await this.#thread.ask({ kind: 'explain', request: { pods, timeLimitMs } }, timeLimitMs)
    if (answer.kind !== 'explanations') throw unexpected(answer)
    return answer.explanations
  }

  /** Evaluates what should be disrupted, with the current state of the cache. Errors: as of a plan. */
  async evaluate({ instanceTypes, ...request }: EvaluationThreadRequest): Promise<Evaluation> {
    const typeLists = this.#prepare(instanceTypes)
    const answer = await this.#evaluated({ ...request, typeLists })
    if (answer.kind !== 'evaluation') throw unexpected(answer)
    return evaluationOf(answer.evaluation, cachedObjects(this.#cache, instanceTypes))
  }

  /** Checks which proposals of one evaluation still hold, each after the earlier ones that do. Errors: as of a plan. */
  async validateTogether(
    { instanceTypes, ...request }: EvaluationThreadRequest,
    together: readonly Proposed[],
  ): Promise<readonly Validation[]> {
    const typeLists = this.#prepare(instanceTypes)
    const answer = await this.#evaluated({ ...request, typeLists, together })
    if (answer.kind !== 'validations') throw unexpected(answer)
    const objects = cachedObjects(this.#cache, instanceTypes)
    return answer.validations.map((validation) => validationOf(validation, objects))
  }

  /** Brings the thread up to date. Returns the numbers of the type lists. */
  #prepare(instanceTypes: ThreadRequest['instanceTypes']): ReadonlyMap<string, number> {
    this.start()
    this.#flush()
    const typeLists = new Map([...instanceTypes].map(([pool, types]) => [pool, this.#listOf(types)]))
    this.#forgetLists(new Set(instanceTypes.values()))
    return typeLists
  }

  #evaluated(request: EvaluationRequest): Promise<Answer> {
    return this.#thread.ask({ kind: 'evaluate', request }, evaluationLimitMs)
  }

  /** Starts the thread now rather than at the first plan, so that it receives the cluster while the cache does. */
  start(): void {
    if (this.#thread.isRunning) return
    this.#thread.start()
    const ends = [
      this.#cache.onChange(({ kind, key, after }) => this.#changed(kind, key, after)),
      this.#cache.virtualPods.onChange((key, pod) => this.#changed('Pod', key, pod)),
      this.#quarantine?.onChange((isConcerned) => this.#enter(isConcerned)),
    ]
    this.#unsubscribe = () => ends.forEach((end) => end?.())
    this.#enter(() => true)
  }

  /** Resolves when the thread has processed all changes so far. Errors: `ThreadFault`. */
  async idle(): Promise<void> {
    this.start()
    this.#flush()
    await this.#thread.ask({ kind: 'ping' }, evaluationLimitMs)
  }

  async stop(): Promise<void> {
    this.#forget()
    await this.#thread.stop()
  }

  #enter(isConcerned: (object: CachedObject) => boolean): void {
    for (const object of allObjects(this.#cache))
      if (isConcerned(object)) this.#changed(object.kind, keyOf(object.metadata), object)
  }

  #changed(kind: CachedKind, key: string, object: CachedObject | undefined): void {
    const indexed = indexedKind(kind)
    if (indexed === undefined) return
    const shown = decidedOn(object && this.#quarantine ? this.#quarantine.shown(object) : object)
    // Controllers of several kinds share one index.
    const indexKey = indexed === 'PodController' ? `${kind}/${key}` : key
    this.#changes.push({ kind: indexed, key: indexKey, object: shown as IndexChange['object'] })
    if (this.#changes.length >= bundleSize) this.#flush()
    else this.#flushing ??= setImmediate(() => this.#flush())
  }

  #flush(): void {
    clearImmediate(this.#flushing)
    this.#flushing = undefined
    if (this.#changes.length === 0) return
    const changes = this.#changes
    this.#changes = []
    this.#thread.send({ kind: 'changes', changes })
  }

  #listOf(types: readonly InstanceType[]): number {
    const known = this.#lists.get(types)
    if (known !== undefined) return known
    const list = this.#listCount++
    const sent = new Map<InstanceType, KnownType>()
    for (const [before, number] of this.#lists) before.forEach((type, at) => sent.set(type, { list: number, at }))
    this.#lists.set(types, list)
    this.#thread.send({ kind: 'types', list, types: types.map((type) => sent.get(type) ?? type) })
    return list
  }

  #forgetLists(used: ReadonlySet<readonly InstanceType[]>): void {
    for (const [types, list] of this.#lists) {
      if (used.has(types)) continue
      this.#lists.delete(types)
      this.#thread.send({ kind: 'forgetTypes', list })
    }
  }

  /** Resets what was sent: another thread needs everything. */
  #forget(): void {
    this.#unsubscribe()
    clearImmediate(this.#flushing)
    this.#flushing = undefined
    this.#changes = []
    this.#lists = new Map()
  }
}

/** What decisions read of an object: of a pod's conditions those that do not hold (`isProvisionable`, and pods that are not ready). */
function decidedOn(object: CachedObject | undefined): CachedObject | undefined {
  if (object?.kind !== 'Pod') return object && withoutTemplate(object)
  if (object.unschedulable === undefined && object.conditions.every(isNeeded)) return object
  const { unschedulable: _, ...pod } = object
  return { ...pod, conditions: object.conditions.filter(isNeeded) }
}

function isNeeded({ status, reason }: Condition): boolean {
  return status !== 'True' || reason === 'Unschedulable'
}

function unexpected({ kind }: Answer): Error {
  return new Error(`the scheduler answered with a ${kind} that nobody asked for`)
}

function* allObjects(cache: ClusterCache): Iterable<CachedObject> {
  yield* cache.pods.values()
  yield* cache.virtualPods.values()
  yield* cache.nodes.values()
  yield* cache.nodeClaims.values()
  yield* cache.nodePools.values()
  yield* cache.daemonSets.values()
  yield* cache.podDisruptionBudgets.values()
  yield* cache.namespaces.values()
  yield* cache.persistentVolumeClaims.values()
  yield* cache.persistentVolumes.values()
  yield* cache.storageClasses.values()
  yield* cache.csiNodes.values()
  yield* cache.services.values()
  yield* cache.replicaSets.values()
  yield* cache.statefulSets.values()
  yield* cache.replicationControllers.values()
}

const indexedKinds: Readonly<Partial<Record<CachedKind, IndexedKind>>> = {
  Pod: 'Pod',
  Node: 'Node',
  NodeClaim: 'NodeClaim',
  NodePool: 'NodePool',
  DaemonSet: 'DaemonSet',
  PodDisruptionBudget: 'PodDisruptionBudget',
  Namespace: 'Namespace',
  PersistentVolumeClaim: 'PersistentVolumeClaim',
  PersistentVolume: 'PersistentVolume',
  StorageClass: 'StorageClass',
  CSINode: 'CSINode',
  Service: 'Service',
  ReplicaSet: 'PodController',
  StatefulSet: 'PodController',
  ReplicationController: 'PodController',
}

function indexedKind(kind: CachedKind): IndexedKind | undefined {
  return indexedKinds[kind]
}

/** Looks up objects as the cache has them when the answer comes. */
function cachedObjects(cache: ClusterCache, instanceTypes: ReadonlyMap<string, readonly InstanceType[]>): Objects {
  const claims = new Map<string, Candidate | undefined>()
  const nodes = new Map(
    stateNodes({ nodes: [...cache.nodes.values()], nodeClaims: [...cache.nodeClaims.values()] }).flatMap((one) =>
      one.claim === undefined ? [] : [[one.claim.metadata.name, one] as const],
    ),
  )
  const find = ({ nodeClaim: name, price, disruptionCost }: KeyedCandidate): Candidate | undefined => {
    const one = nodes.get(name)
    const own = one && labelsOf(one)
    const nodePool = cache.nodePools.get(own?.[labels.nodePool] ?? '')
    if (one?.node === undefined || one.claim === undefined || nodePool === undefined) return undefined
    const pods = cache.pods.by('byNode', one.node.metadata.name)
    const types = instanceTypes.get(nodePool.metadata.name) ?? []
    return {
      nodeClaim: one.claim,
      node: one.node,
      nodePool,
      pods,
      reschedulable: pods.filter(isReschedulable),
      instanceType: typeNamed(types, own?.[labels.instanceType]),
      price,
      disruptionCost,
    }
  }
  return {
    candidate: (keyed) => {
      if (!claims.has(keyed.nodeClaim)) claims.set(keyed.nodeClaim, find(keyed))
      return claims.get(keyed.nodeClaim)
    },
    pod: (key) => cache.pods.get(key),
  }
}
