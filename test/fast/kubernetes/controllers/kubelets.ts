import type { Json } from '../../../../activities/kubernetes/client/answers.ts'
import type { ApiServer } from '../api/api-server.ts'
import { metaOf } from '../api/objects.ts'
import { pathOf } from '../api/paths.ts'
import type { Controller } from './controller.ts'
import { podPathOf, setStatus } from './pods.ts'
import {
  conditionsOf,
  controllerOf,
  hasEnded,
  isDeleting,
  isReady,
  nodeNameOf,
  now,
  phaseOf,
  specOf,
  statusOf,
  withCondition,
} from './seen.ts'

const managed = 'kwok.x-k8s.io/node'
/** With this annotation a pod does not end when it is told to. */
const hangs = 'local.joiner.sh/hang'
/** A pod of a Job is done after so long. */
const jobMs = 1000

/** Whether a Node has a kubelet. */
export const hasKubelet = (node: Json) => metaOf(node).annotations?.[managed] !== undefined

const ready = { type: 'Ready', status: 'True', reason: 'KubeletReady', message: 'the node is ready' }
const pressures = [
  { type: 'MemoryPressure', status: 'False', reason: 'KubeletHasSufficientMemory', message: 'no memory pressure' },
  { type: 'DiskPressure', status: 'False', reason: 'KubeletHasNoDiskPressure', message: 'no disk pressure' },
  { type: 'PIDPressure', status: 'False', reason: 'KubeletHasSufficientPID', message: 'no PID pressure' },
]

/**
 * Kubelets as kwok plays them in the local cluster (`deploy/local/kwok-stages.yaml`): they make their Nodes ready, start pods, end those that are
 * deleted when their time is over, and let Jobs be done. `podStartMs`: from a pod's binding to its start.
 */
export function kubelets(server: ApiServer, { podStartMs }: { readonly podStartMs: number }): Controller {
  const startsAt = new Map<string, number>()
  return {
    watches: ['nodes', 'pods'],
    afterMs: 1,
    reconcile: () => {
      const names = new Set(
        server.objects
          .of('nodes')
          .filter(hasKubelet)
          .map((node) => metaOf(node).name),
      )
      for (const node of server.objects.of('nodes')) if (hasKubelet(node) && !isReady(node)) makeReady(server, node)
      const due: number[] = []
      const pods = server.objects.of('pods').filter((pod) => names.has(nodeNameOf(pod) ?? ''))
      for (const pod of pods) {
        const atMs = isDeleting(pod) ? endOf(pod) : nextOf(pod, startsAt, podStartMs)
        if (atMs === undefined) continue
        if (atMs > Date.now()) due.push(atMs)
        else if (isDeleting(pod)) end(server, pod)
        else if (statusOf(pod)['podIP'] === undefined) start(server, pod)
        else finish(server, pod)
      }
      const present = new Set(pods.map((pod) => metaOf(pod).uid))
      for (const uid of startsAt.keys()) if (!present.has(uid)) startsAt.delete(uid)
      return due.length === 0 ? undefined : Math.min(...due)
    },
  }
}

function makeReady(server: ApiServer, node: Json): void {
  const time = now()
  const conditions = [ready, ...pressures].reduce(
    (all, condition) => withCondition(all, { ...condition, lastHeartbeatTime: time }),
    conditionsOf(node),
  )
  setStatus(server, pathOf('nodes', metaOf(node).name), { conditions })
}

/** When a pod that is being deleted ends. */
function endOf(pod: Json): number | undefined {
  const { annotations = {}, deletionTimestamp = '' } = metaOf(pod)
  return hangs in annotations ? undefined : Date.parse(deletionTimestamp)
}

/** When a pod starts, or is done. */
function nextOf(pod: Json, startsAt: Map<string, number>, podStartMs: number): number | undefined {
  const { uid } = metaOf(pod)
  if (hasEnded(pod)) return undefined
  if (statusOf(pod)['podIP'] === undefined) {
    const atMs = startsAt.get(uid) ?? Date.now() + podStartMs
    startsAt.set(uid, atMs)
    return atMs
  }
  const isOfJob = controllerOf(pod)?.kind === 'Job' && phaseOf(pod) === 'Running'
  return isOfJob ? Date.parse(String(statusOf(pod)['startTime'])) + jobMs : undefined
}

function end(server: ApiServer, pod: Json): void {
  const path = podPathOf(pod)
  if ((metaOf(pod).finalizers ?? []).length > 0)
    server.change(path, undefined, (object) => ({ ...object, metadata: { ...metaOf(object), finalizers: [] } }))
  if (server.objects.find(path) !== undefined) server.delete(path, { gracePeriodSeconds: 0 })
}

const containersOf = (pod: Json) =>
  (specOf(pod) as { readonly containers?: readonly { readonly name?: string; readonly image?: string }[] })
    .containers ?? []

function start(server: ApiServer, pod: Json): void {
  const time = now()
  const conditions = ['Initialized', 'Ready', 'ContainersReady'].reduce(
    (all, type) => withCondition(all, { type, status: 'True', lastTransitionTime: time }),
    conditionsOf(pod),
  )
  const containerStatuses = containersOf(pod).map(({ name, image }) => ({
    name,
    image,
    ready: true,
    restartCount: 0,
    state: { running: { startedAt: time } },
  }))
  const running = { conditions, containerStatuses, hostIP: '127.0.0.1', podIP: '10.64.0.1', phase: 'Running' }
  setStatus(server, podPathOf(pod), { ...running, startTime: time })
}

/** Its conditions stay as they are: so does kwok. */
function finish(server: ApiServer, pod: Json): void {
  const time = now()
  const containerStatuses = containersOf(pod).map(({ name, image }) => ({
    name,
    image,
    ready: false,
    restartCount: 0,
    started: false,
    state: { terminated: { exitCode: 0, finishedAt: time, reason: 'Completed', startedAt: time } },
  }))
  setStatus(server, podPathOf(pod), { containerStatuses, phase: 'Succeeded' })
}
