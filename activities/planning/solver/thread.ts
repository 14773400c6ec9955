// The solver's thread: it keeps its own index of the cluster, told of changes, and plans on request.
import { parentPort } from 'node:worker_threads'
import type { InstanceType } from '../../../core/instance-type.ts'
import { podName } from '../../../core/pod-rules.ts'
import { ClusterIndex } from '../../../core/scheduling/cluster-index.ts'
import { schedule } from '../../../core/scheduling/schedule.ts'
import { SolverMemory } from '../../../core/scheduling/solver/memory.ts'
import { podsByZone } from '../effective-zone.ts'
import type { FromSolver, KeyedPlan, PlanRequest, ToSolver } from './messages.ts'

const port = parentPort
if (port === null) throw new Error('this file is the solver thread; it is started by SolverThread')

const index = new ClusterIndex()
const memory = new SolverMemory()
const typeLists = new Map<number, readonly InstanceType[]>()
/** Types by pool, the same map as long as nothing changed: places know by it that they need not be made anew. */
let typesByPool: ReadonlyMap<string, readonly InstanceType[]> = new Map()

port.on('message', (message: ToSolver) => {
  switch (message.kind) {
    case 'changes':
      for (const { kind, key, object } of message.changes) index.apply(kind, key, object)
      return
    case 'types':
      typeLists.set(message.list, message.types)
      return
    case 'forgetTypes':
      typeLists.delete(message.list)
      return
    case 'plan':
      port.postMessage(answer(message.request))
      return
    case 'ping':
      port.postMessage({ kind: 'pong' } satisfies FromSolver)
  }
})

function answer(request: PlanRequest): FromSolver {
  try {
    return { kind: 'plan', plan: plan(request) }
  } catch (error) {
    return error instanceof Error
      ? { kind: 'failed', message: error.message, stack: error.stack }
      : { kind: 'failed', message: String(error) }
  }
}

function plan({ now, typeLists: lists, options, defaultSpread, timeLimitMs }: PlanRequest): KeyedPlan {
  const startedAt = performance.now()
  typesByPool = sameOr(typesByPool, new Map([...lists].map(([pool, list]) => [pool, typeLists.get(list) ?? []])))
  const snapshot = index.snapshot(typesByPool, { now, defaultSpread }, ({ metadata }) => lists.has(metadata.name))
  const readyAt = performance.now()
  const shouldStop = () => performance.now() - startedAt > timeLimitMs
  const { newNodeClaims, existing, unschedulable, ...rest } = schedule(snapshot, { ...options, shouldStop }, memory)
  return {
    newNodeClaims: newNodeClaims.map((claim) => ({ ...claim, pods: claim.pods.map(podName) })),
    existing: existing.map((place) => ({ ...place, pods: place.pods.map(podName) })),
    unschedulable: unschedulable.map(({ pod, message }) => ({ pod: podName(pod), message })),
    ...rest,
    snapshotMs: Math.round(readyAt - startedAt),
    solveMs: Math.round(performance.now() - readyAt),
    ignored: snapshot.ignored?.size ?? 0,
    zones: podsByZone(snapshot),
  }
}

function sameOr<Value>(before: ReadonlyMap<string, Value>, after: ReadonlyMap<string, Value>) {
  const isSame = before.size === after.size && [...after].every(([key, value]) => before.get(key) === value)
  return isSame ? before : after
}
