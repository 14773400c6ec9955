import { parentPort, workerData } from 'node:worker_threads'
import { repairRules } from '../../api/reason-pattern.ts'
import { realPods } from '../../core/capacity-buffer/buffer-pods.ts'
import { evaluate } from '../../core/disruption/evaluate.ts'
import { joinerPolicy, withoutStaticCapacity } from '../../core/disruption/policy.ts'
import { validateTogether } from '../../core/disruption/validate.ts'
import { disruptionWorld } from '../../core/disruption/world.ts'
import type { InstanceType } from '../../core/instance-type.ts'
import type { Pod } from '../../core/objects.ts'
import { Pauses } from '../../core/pauses/pauses.ts'
import { podName } from '../../core/pods/pod-rules.ts'
import { SharedParts } from '../../core/pods/shared-parts.ts'
import { quarantineId } from '../../core/quarantine.ts'
import { labels, wellKnownLabels } from '../../core/requirements/labels.ts'
import { intersect, operatorOf, type Requirement } from '../../core/requirements/requirement.ts'
import { podRequirements, requirements } from '../../core/requirements/requirements.ts'
import { ClusterIndex } from '../../core/scheduling/cluster-index.ts'
import type { Explanation } from '../../core/scheduling/explain/explanation.ts'
import { isHeavy } from '../../core/scheduling/pod-cost.ts'
import { type ExplainedPlan, explainedPlan } from '../../core/scheduling/schedule.ts'
import type { PodVolumes, SchedulingSnapshot } from '../../core/scheduling/snapshot.ts'
import { SolverMemory } from '../../core/scheduling/solver/memory.ts'
import { Breadcrumb } from './breadcrumb.ts'
import { keyedEvaluation, keyedValidation, withKeys } from './keyed-evaluation.ts'
import type {
  EvaluationRequest,
  ExplainRequest,
  FromSolver,
  KeyedPlan,
  KnownType,
  PlanRequest,
  ThreadData,
  ToSolver,
} from './messages.ts'

/** Time that pods with many constraints get in a pass, after all others. */
const heavyLimitMs = 500

type Schedule = typeof explainedPlan
type TypesByPool = ReadonlyMap<string, readonly InstanceType[]>

/** Where messages come from and answers go to: a thread's port. */
export interface SolverPort {
  on(event: 'message', listener: (message: ToSolver) => void): unknown
  postMessage(answer: FromSolver): void
}

/** Makes this thread the one that a `SolverThread` started. `scheduler` replaces Joiner's own. Errors: this is no thread of `SolverThread`. */
export function serveThread(scheduler?: Schedule): void {
  if (parentPort === null) throw new Error('the solver runs in a thread; it is started by SolverThread')
  serveSolver(parentPort, new Breadcrumb((workerData as ThreadData).breadcrumb), scheduler)
}

/**
 * Answers the messages of `SolverThread`: keeps its own index of the cluster from the changes it receives, and plans on request. `breadcrumb`
 * records what it is working on.
 */
export function serveSolver(port: SolverPort, breadcrumb: Breadcrumb, scheduler: Schedule = explainedPlan): void {
  const solver = new Solver(breadcrumb, scheduler)
  port.on('message', (message) => {
    const answer = solver.handled(message)
    if (answer !== undefined) port.postMessage(answer)
  })
}

/** What one thread knows. */
class Solver {
  readonly #breadcrumb: Breadcrumb
  readonly #scheduler: Schedule
  readonly #index = new ClusterIndex()
  readonly #memory = new SolverMemory()
  /** What a message copied is shared again. */
  readonly #parts = new SharedParts()
  readonly #typeLists = new Map<number, readonly InstanceType[]>()
  /** Types by pool. It stays the same map until something changes, so that existing places need not be rebuilt. */
  #typesByPool: TypesByPool = new Map()
  readonly #lastPass = new LastPass()
  readonly #inHand = (pod: Pod | undefined) => {
    if (pod === undefined) this.#breadcrumb.clear()
    else this.#breadcrumb.set('planning', quarantineId('Pod', podName(pod)))
  }

  constructor(breadcrumb: Breadcrumb, scheduler: Schedule) {
    this.#breadcrumb = breadcrumb
    this.#scheduler = scheduler
  }

  handled(message: ToSolver): FromSolver | undefined {
    try {
      const answer = this.#handle(message)
      this.#breadcrumb.clear()
      return answer
    } catch (error) {
      return error instanceof Error
        ? { kind: 'failed', message: error.message, stack: error.stack }
        : { kind: 'failed', message: String(error) }
    }
  }

  #handle(message: ToSolver): FromSolver | undefined {
    switch (message.kind) {
      case 'changes':
        for (const { kind, key, object } of message.changes) {
          this.#breadcrumb.set('reading', kind === 'PodController' ? key : quarantineId(kind, key))
          this.#index.apply(kind, key, object?.kind === 'Pod' ? this.#parts.of(object) : object)
        }
        return undefined
      case 'types':
        this.#typeLists.set(
          message.list,
          message.types.map((one) => ('at' in one ? this.#known(one) : one)),
        )
        return undefined
      case 'forgetTypes':
        this.#typeLists.delete(message.list)
        return undefined
      case 'plan':
        return { kind: 'plan', plan: this.#plan(message.request) }
      case 'explain':
        return { kind: 'explanations', explanations: this.#lastPass.explain(message.request, this.#inHand) }
      case 'evaluate':
        return this.#evaluated(message.request)
      case 'ping':
        return { kind: 'pong' }
    }
  }

  #known({ list, at }: KnownType): InstanceType {
    const type = this.#typeLists.get(list)?.[at]
    if (type === undefined) throw new Error(`type ${at} of list ${list} was never sent to the scheduler`)
    return type
  }

  #evaluated({ together, ...request }: EvaluationRequest): FromSolver {
    const { now, typeLists: lists, options, defaultSpread, nominated, reserved, pauses, ...rest } = request
    const { repairs, isClockWrong = false, staticCapacity, ...own } = rest
    const inHand = this.#inHand
    const scheduling = { ...options, inHand }
    const instanceTypes = this.#typesOf(lists)
    const source = this.#index.source(instanceTypes, { now, defaultSpread, inHand }, ({ metadata }) =>
      lists.has(metadata.name),
    )
    const world = disruptionWorld(source, instanceTypes, {
      now,
      scheduling,
      nominated,
      memory: this.#memory,
      forced: own.forced === true,
      view: {
        pauses: new Pauses(pauses),
        ...(repairs && { repairs: repairRules(repairs), isClockWrong }),
        ...(reserved && { reserved }),
      },
    })
    const settings = {
      ...own,
      instanceTypes,
      wellKnown: wellKnownLabels,
      scheduling,
      policy: staticCapacity ? joinerPolicy : withoutStaticCapacity,
      clock: () => performance.now(),
    }
    if (together !== undefined)
      return { kind: 'validations', validations: validateTogether(together, world, settings).map(keyedValidation) }
    return { kind: 'evaluation', evaluation: keyedEvaluation(evaluate(world, settings)) }
  }

  #plan(request: PlanRequest): KeyedPlan {
    const { now, typeLists: lists, options, defaultSpread, timeLimitMs } = request
    const startedAt = performance.now()
    const inHand = this.#inHand
    const all = this.#index.snapshot(this.#typesOf(lists), { now, defaultSpread, inHand }, ({ metadata }) =>
      lists.has(metadata.name),
    )
    const snapshot = withPodsOf(all, request)
    const readyAt = performance.now()
    const shouldStop = () => performance.now() - startedAt > timeLimitMs
    const heavyPodsBegin = () => {
      const endsAt = performance.now() + heavyLimitMs
      return () => performance.now() < endsAt
    }
    const settings = { ...options, shouldStop, heavyPodsBegin, inHand }
    const explained = this.#scheduler(snapshot, settings, this.#memory)
    const { newNodeClaims, existing, unschedulable, postponed = [], ...rest } = explained.plan
    this.#lastPass.keep(explained)
    return {
      newNodeClaims: newNodeClaims.map(withKeys),
      existing: existing.map(withKeys),
      unschedulable: unschedulable.map(({ pod, cause }) => ({ pod: podName(pod), cause })),
      postponed: postponed.map(podName),
      ...rest,
      snapshotMs: Math.round(readyAt - startedAt),
      solveMs: Math.round(performance.now() - readyAt),
      ignored: realPods([...(snapshot.ignored?.keys() ?? [])]).length,
      zones: podsByZone({ ...snapshot, pods: realPods(snapshot.pods) }),
    }
  }

  #typesOf(lists: PlanRequest['typeLists']): TypesByPool {
    const types = new Map([...lists].map(([pool, list]) => [pool, this.#typeLists.get(list) ?? []]))
    this.#typesByPool = sameOr(this.#typesByPool, types)
    return this.#typesByPool
  }
}

function withPodsOf(snapshot: SchedulingSnapshot, { leftOut, apart }: PlanRequest): SchedulingSnapshot {
  if (leftOut.size === 0 && apart.size === 0) return snapshot
  const pods = snapshot.pods.filter((pod) => !leftOut.has(podName(pod)))
  const groups = pods.flatMap((pod) => {
    const group = apart.get(podName(pod))
    return group === undefined ? [] : [[pod, group] as const]
  })
  const ignored = new Map([...(snapshot.ignored ?? [])].filter(([pod]) => !leftOut.has(podName(pod))))
  return { ...snapshot, pods, ignored, apart: new Map(groups) }
}

function sameOr<Value>(before: ReadonlyMap<string, Value>, after: ReadonlyMap<string, Value>) {
  const isSame = before.size === after.size && [...after].every(([key, value]) => before.get(key) === value)
  return isSame ? before : after
}

/** Counts pods by the zone they can go to: its name, `flexible` where several are left, `none` where none is. */
function podsByZone({ pods, podVolumes }: SchedulingSnapshot): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const pod of pods) {
    const zone = effectiveZone(pod, podVolumes?.get(pod))
    counts.set(zone, (counts.get(zone) ?? 0) + 1)
  }
  return counts
}

/** Returns the zone that remains after a pod's requirements and its volumes. */
function effectiveZone(pod: Pod, volumes: PodVolumes | undefined): string {
  const isFree = volumes === undefined && pod.affinity?.nodeAffinity === undefined
  if (isFree && Object.keys(pod.nodeSelector).length === 0) return 'flexible'
  const own = podRequirements(pod, { strict: true }).get(labels.zone)
  const reachable = (volumes?.alternatives ?? []).map((one) => requirements(one).get(labels.zone))
  const zones = (reachable.length === 0 ? [undefined] : reachable).map((theirs) => both(own, theirs))
  const named = new Set<string>()
  for (const one of zones) {
    if (one === undefined || (operatorOf(one) !== 'In' && operatorOf(one) !== 'DoesNotExist')) return 'flexible'
    for (const zone of one.values) named.add(zone)
  }
  const [first] = named
  return named.size > 1 ? 'flexible' : (first ?? 'none')
}

function both(a: Requirement | undefined, b: Requirement | undefined): Requirement | undefined {
  return a === undefined || b === undefined ? (a ?? b) : intersect(a, b)
}

/** The last pass of the thread, kept until it was asked why pods found no place. Explanations come after the plan was answered and so delay no pod. */
class LastPass {
  #pass: ExplainedPlan | undefined
  #pods: ReadonlyMap<string, Pod> = new Map()

  keep(pass: ExplainedPlan): void {
    const { unschedulable } = pass.plan
    this.#pass = unschedulable.length === 0 ? undefined : pass
    this.#pods = new Map(unschedulable.map(({ pod }) => [podName(pod), pod]))
  }

  /** Explains pods while the time lasts, by name. Leaves out those with so many constraints that one of them could take all of it. */
  explain(
    { pods, timeLimitMs }: ExplainRequest,
    inHand: (pod: Pod | undefined) => void,
  ): ReadonlyMap<string, Explanation> {
    const found = new Map<string, Explanation>()
    const endsAt = performance.now() + timeLimitMs
    for (const name of pods) {
      const pod = this.#pods.get(name)
      if (pod === undefined || isHeavy(pod)) continue
      if (performance.now() >= endsAt) break
      inHand(pod)
      const explanation = this.#pass?.explanation(pod)
      if (explanation !== undefined) found.set(name, explanation)
    }
    inHand(undefined)
    this.#pass = undefined
    this.#pods = new Map()
    return found
  }
}
