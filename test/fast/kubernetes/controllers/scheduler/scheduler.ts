import type { Json } from '../../../../../activities/kubernetes/client/answers.ts'
import { timeText } from '../../../../../core/values/time.ts'
import type { ApiServer } from '../../api/api-server.ts'
import { metaOf } from '../../api/objects.ts'
import type { Controller } from '../controller.ts'
import { podPathOf } from '../pods.ts'
import {
  conditionOf,
  conditionsOf,
  hasEnded,
  isDeleting,
  nodeNameOf,
  now,
  specOf,
  statusOf,
  withCondition,
} from '../seen.ts'
import { refusals } from './filters.ts'
import { type Places, placesOf, podOf, put } from './places.ts'
import { bestOf } from './scores.ts'
import { Volumes } from './volumes.ts'

const watches = [
  'pods',
  'nodes',
  'namespaces',
  'persistentvolumeclaims',
  'persistentvolumes',
  'storageclasses',
  'csinodes',
]

/**
 * kube-scheduler with its default plugins, as far as they decide where a pod may be, and without preemption. Of equal nodes it takes the first by name,
 * where the real one takes any. `afterMs`: from a change to its next pass.
 */
export function scheduler(server: ApiServer, afterMs: number): Controller {
  return {
    watches,
    afterMs,
    reconcile: () => {
      const pending = server.objects.of('pods').filter(isPending).sort(inOrder)
      if (pending.length === 0) return undefined
      const places = placesOf(server.objects)
      const volumes = new Volumes(server)
      for (const pod of pending) schedule(server, pod, { places, volumes })
      return undefined
    },
  }
}

const isPending = (pod: Json) =>
  nodeNameOf(pod) === undefined &&
  !hasEnded(pod) &&
  !isDeleting(pod) &&
  [undefined, 'default-scheduler'].includes((specOf(pod) as { readonly schedulerName?: string }).schedulerName)

/** The most important first; those of one importance stay in the order in which they came. */
function inOrder(a: Json, b: Json): number {
  const importance = (pod: Json) => Number(specOf(pod)['priority'] ?? 0)
  return importance(b) - importance(a)
}

function schedule(server: ApiServer, json: Json, state: { readonly places: Places; readonly volumes: Volumes }): void {
  if ((specOf(json) as { readonly schedulingGates?: readonly unknown[] }).schedulingGates?.length) {
    report(server, json, 'SchedulingGated', 'Scheduling is blocked due to non-empty scheduling gates')
    return
  }
  const pod = podOf(json)
  const { all } = state.places
  const problem = all.length === 0 ? 'no nodes available to schedule pods' : state.volumes.problem(pod)
  const refused = problem === undefined ? all.map((place) => refusals(pod, place, state)) : []
  const best =
    problem === undefined
      ? bestOf(
          pod,
          all.filter((_, at) => refused[at]?.length === 0),
          state.places,
        )
      : undefined
  if (best === undefined) report(server, json, 'Unschedulable', messageOf(all.length, { problem, refused }))
  else if (state.volumes.bind(pod, best)) {
    server.bind(podPathOf(json), best.node.metadata.name)
    put(best, pod)
  }
}

interface Refused {
  readonly problem: string | undefined
  /** By node. */
  readonly refused: readonly (readonly string[])[]
}

/** How many nodes refused a pod for which reason, as kube-scheduler tells it. */
function messageOf(nodes: number, { problem, refused }: Refused): string {
  if (nodes === 0) return problem ?? ''
  const counts = new Map<string, number>()
  for (const reason of refused.flat()) counts.set(reason, (counts.get(reason) ?? 0) + 1)
  const reasons =
    problem ??
    [...counts]
      .map(([reason, count]) => `${count} ${reason}`)
      .sort()
      .join(', ')
  const text = `0/${nodes} nodes are available: ${reasons}.`
  return `${text} preemption: 0/${nodes} nodes are available: ${nodes} Preemption is not helpful for scheduling.`
}

/** Writes down why a pod is nowhere, unless that is what was written last. */
function report(server: ApiServer, pod: Json, reason: string, message: string): void {
  const before = conditionOf(pod, 'PodScheduled')
  if (before?.reason === reason && before.message === message) return
  const condition = { type: 'PodScheduled', status: 'False', reason, message, lastTransitionTime: now() }
  server.change(podPathOf(pod), undefined, (object) => ({
    ...object,
    metadata: { ...metaOf(object), managedFields: [written()] },
    status: { ...statusOf(object), conditions: withCondition(conditionsOf(object), condition) },
  }))
}

/** Joiner reads from it when a pod was last looked at: the time of the condition's transition stays. */
const written = () => ({
  manager: 'kube-scheduler',
  operation: 'Update',
  apiVersion: 'v1',
  time: timeText(Date.now()),
  fieldsType: 'FieldsV1',
  fieldsV1: { 'f:status': { 'f:conditions': { 'k:{"type":"PodScheduled"}': { '.': {}, 'f:message': {} } } } },
  subresource: 'status',
})
