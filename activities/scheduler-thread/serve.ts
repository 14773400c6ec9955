import { parentPort, workerData } from 'node:worker_threads'
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
import { wellKnownLabels } from '../../core/requirements/labels.ts'
import { ClusterIndex } from '../../core/scheduling/cluster-index.ts'
import { explainedPlan } from '../../core/scheduling/schedule.ts'
import type { SchedulingSnapshot } from '../../core/scheduling/snapshot.ts'
import { SolverMemory } from '../../core/scheduling/solver/memory.ts'
import { Breadcrumb } from './breadcrumb.ts'
import { podsByZone } from './effective-zone.ts'
import { keyedEvaluation, keyedValidation } from './keyed-evaluation.ts'
import { LastPass } from './last-pass.ts'
import type { EvaluationRequest, FromSolver, KeyedPlan, PlanRequest, ThreadData, ToSolver } from './messages.ts'

/** Time that pods with many constraints get in a pass, after all others. */
const heavyLimitMs = 500

const index = new ClusterIndex()
const memory = new SolverMemory()
/** What a message copied is shared again. */
const parts = new SharedParts()
const typeLists = new Map<number, readonly InstanceType[]>()
/** Types by pool. It stays the same map until something changes, so that existing places need not be rebuilt. */
let typesByPool: ReadonlyMap<string, readonly InstanceType[]> = new Map()
const lastPass = new LastPass()
/** Records what the thread is working on. */
let breadcrumb = new Breadcrumb()
const inHand = (pod: Pod | undefined) => {
  if (pod === undefined) breadcrumb.clear()
  else breadcrumb.set('planning', quarantineId('Pod', podName(pod)))
}

type Schedule = typeof explainedPlan

/**
 * Answers the messages of `SolverThread`: keeps its own index of the cluster from the changes it receives, and plans on request. `scheduler`
 * replaces Joiner's own. Errors: this is no thread of `SolverThread`.
 */
export function serveSolver(scheduler: Schedule = explainedPlan): void {
  const port = parentPort
  if (port === null) throw new Error('the solver runs in a thread; it is started by SolverThread')
  breadcrumb = new Breadcrumb((workerData as ThreadData).breadcrumb)
  port.on('message', (message: ToSolver) => {
    const answer = handled(message, scheduler)
    if (answer !== undefined) port.postMessage(answer)
  })
}

function handled(message: ToSolver, scheduler: Schedule): FromSolver | undefined {
  try {
    const answer = handle(message, scheduler)
    breadcrumb.clear()
    return answer
  } catch (error) {
    return error instanceof Error
      ? { kind: 'failed', message: error.message, stack: error.stack }
      : { kind: 'failed', message: String(error) }
  }
}

function handle(message: ToSolver, scheduler: Schedule): FromSolver | undefined {
  switch (message.kind) {
    case 'changes':
      for (const { kind, key, object } of message.changes) {
        breadcrumb.set('reading', kind === 'PodController' ? key : quarantineId(kind, key))
        index.apply(kind, key, object?.kind === 'Pod' ? parts.of(object) : object)
      }
      return undefined
    case 'types':
      typeLists.set(message.list, message.types)
      return undefined
    case 'forgetTypes':
      typeLists.delete(message.list)
      return undefined
    case 'plan':
      return { kind: 'plan', plan: plan(message.request, scheduler) }
    case 'explain':
      return { kind: 'explanations', explanations: lastPass.explain(message.request, inHand) }
    case 'evaluate':
      return evaluated(message.request)
    case 'ping':
      return { kind: 'pong' }
  }
}

function evaluated({ together, ...request }: EvaluationRequest): FromSolver {
  const { now, typeLists: lists, options, defaultSpread, nominated, reserved, pauses, ...rest } = request
  const { repairs, staticCapacity, ...own } = rest
  typesByPool = typesOf(lists)
  const source = index.source(typesByPool, { now, defaultSpread, inHand }, ({ metadata }) => lists.has(metadata.name))
  const world = disruptionWorld(source, typesByPool, {
    now,
    scheduling: { ...options, inHand },
    nominated,
    memory,
    forced: own.forced === true,
    view: {
      pauses: new Pauses(pauses),
      ...(repairs && { repairs }),
      ...(reserved && { reserved }),
    },
  })
  const settings = {
    ...own,
    instanceTypes: typesByPool,
    wellKnown: wellKnownLabels,
    scheduling: { ...options, inHand },
    policy: staticCapacity ? joinerPolicy : withoutStaticCapacity,
    clock: () => performance.now(),
  }
  if (together !== undefined)
    return { kind: 'validations', validations: validateTogether(together, world, settings).map(keyedValidation) }
  return { kind: 'evaluation', evaluation: keyedEvaluation(evaluate(world, settings)) }
}

function plan(request: PlanRequest, scheduler: Schedule): KeyedPlan {
  const { now, typeLists: lists, options, defaultSpread, timeLimitMs } = request
  const startedAt = performance.now()
  typesByPool = typesOf(lists)
  const all = index.snapshot(typesByPool, { now, defaultSpread, inHand }, ({ metadata }) => lists.has(metadata.name))
  const snapshot = withPodsOf(all, request)
  const readyAt = performance.now()
  const shouldStop = () => performance.now() - startedAt > timeLimitMs
  const heavyPodsBegin = () => {
    const endsAt = performance.now() + heavyLimitMs
    return () => performance.now() < endsAt
  }
  const settings = { ...options, shouldStop, heavyPodsBegin, inHand }
  const explained = scheduler(snapshot, settings, memory)
  const { newNodeClaims, existing, unschedulable, postponed = [], ...rest } = explained.plan
  lastPass.keep(explained)
  return {
    newNodeClaims: newNodeClaims.map((claim) => ({ ...claim, pods: claim.pods.map(podName) })),
    existing: existing.map((place) => ({ ...place, pods: place.pods.map(podName) })),
    unschedulable: unschedulable.map(({ pod, cause }) => ({ pod: podName(pod), cause })),
    postponed: postponed.map(podName),
    ...rest,
    snapshotMs: Math.round(readyAt - startedAt),
    solveMs: Math.round(performance.now() - readyAt),
    ignored: realPods([...(snapshot.ignored?.keys() ?? [])]).length,
    zones: podsByZone({ ...snapshot, pods: realPods(snapshot.pods) }),
  }
}

/** Returns the snapshot with only the requested pods to place. */
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

function typesOf(lists: PlanRequest['typeLists']): typeof typesByPool {
  return sameOr(typesByPool, new Map([...lists].map(([pool, list]) => [pool, typeLists.get(list) ?? []])))
}

function sameOr<Value>(before: ReadonlyMap<string, Value>, after: ReadonlyMap<string, Value>) {
  const isSame = before.size === after.size && [...after].every(([key, value]) => before.get(key) === value)
  return isSame ? before : after
}
