import { decodeNode } from '../../../../activities/kubernetes/cache/decode.ts'
import { decodePod } from '../../../../activities/kubernetes/cache/decode-pod.ts'
import type { Json } from '../../../../activities/kubernetes/client/answers.ts'
import type { Pod, Toleration } from '../../../../core/objects.ts'
import { untolerated } from '../../../../core/taints.ts'
import type { ApiServer } from '../api/api-server.ts'
import { metaOf } from '../api/objects.ts'
import { pathOf } from '../api/paths.ts'
import type { Controller } from './controller.ts'
import { createPod, hashOf, podPathOf, setStatus } from './pods.ts'
import { hasNodeAffinity } from './scheduler/node-affinity.ts'
import { byController, hasEnded, isDeleting, isReady, ownKey, type PodTemplate, type WorkloadSpec } from './seen.ts'

/** What daemons bear: they run on Nodes that others leave. */
const borne = [
  { key: 'node.kubernetes.io/not-ready', effect: 'NoExecute' },
  { key: 'node.kubernetes.io/unreachable', effect: 'NoExecute' },
  { key: 'node.kubernetes.io/disk-pressure', effect: 'NoSchedule' },
  { key: 'node.kubernetes.io/memory-pressure', effect: 'NoSchedule' },
  { key: 'node.kubernetes.io/pid-pressure', effect: 'NoSchedule' },
  { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' },
].map((one) => ({ ...one, operator: 'Exists' }) as Toleration)

/** Puts a pod of each DaemonSet on each Node that it wants and bears. */
export function daemonSets(server: ApiServer): Controller {
  return {
    watches: ['daemonsets', 'nodes', 'pods'],
    afterMs: 1,
    reconcile: () => {
      const pods = byController(server.objects.of('pods'), 'DaemonSet')
      for (const set of server.objects.of('daemonsets'))
        if (!isDeleting(set)) reconcile(server, set, pods.get(ownKey(set)) ?? [])
      return undefined
    },
  }
}

function reconcile(server: ApiServer, set: Json, pods: readonly Json[]): void {
  const { name, namespace = 'default', generation } = metaOf(set)
  const { template } = set['spec'] as WorkloadSpec
  const tolerant = withTolerations(template)
  const sample = decodePod({ metadata: { name, namespace, uid: '', ...template.metadata }, spec: tolerant.spec })
  const byNode = new Map<string, Json[]>()
  for (const pod of pods) byNode.set(nodeOf(pod), [...(byNode.get(nodeOf(pod)) ?? []), pod])
  let wanted = 0
  for (const node of server.objects.of('nodes')) {
    const own = (byNode.get(metaOf(node).name) ?? []).filter((pod) => !isDeleting(pod))
    const place = placeOf(sample, node)
    if (place !== 'leave') wanted += 1
    const [first, ...more] = place === 'leave' ? [] : own
    for (const pod of place === 'leave' ? own : more) server.delete(podPathOf(pod))
    if (first !== undefined && hasEnded(first)) server.delete(podPathOf(first))
    else if (place === 'start' && (byNode.get(metaOf(node).name) ?? []).length === 0)
      createPod(server, {
        owner: set,
        template: pinned(tolerant, metaOf(node).name),
        labels: { 'controller-revision-hash': hashOf(template), 'pod-template-generation': String(generation) },
      })
  }
  const names = new Set(server.objects.of('nodes').map((node) => metaOf(node).name))
  for (const pod of pods) if (!names.has(nodeOf(pod)) && !isDeleting(pod)) server.delete(podPathOf(pod))
  const ready = pods.filter((pod) => !isDeleting(pod) && isReady(pod)).length
  setStatus(server, pathOf('daemonsets', name, namespace), {
    observedGeneration: generation,
    desiredNumberScheduled: wanted,
    currentNumberScheduled: pods.length,
    numberReady: ready,
    numberAvailable: ready,
  })
}

/** Whether a daemon is to be started on a Node, may only go on there, or has to leave. */
function placeOf(pod: Pod, json: Json): 'start' | 'stay' | 'leave' {
  const node = decodeNode(json)
  if (!hasNodeAffinity(pod, node)) return 'leave'
  const missing = untolerated(node.taints, pod.tolerations)
  if (missing.some(({ effect }) => effect === 'NoExecute')) return 'leave'
  return missing.some(({ effect }) => effect === 'NoSchedule') ? 'stay' : 'start'
}

function withTolerations(template: PodTemplate): PodTemplate {
  const { spec = {} } = template
  const { tolerations = [], hostNetwork } = spec as { tolerations?: readonly Toleration[]; hostNetwork?: boolean }
  const network = { key: 'node.kubernetes.io/network-unavailable', operator: 'Exists', effect: 'NoSchedule' }
  return {
    ...template,
    spec: { ...spec, tolerations: [...tolerations, ...borne, ...(hostNetwork === true ? [network] : [])] },
  }
}

interface Affinity {
  readonly nodeAffinity?: Json
}

/** A daemon's Node is in its affinity, in place of the terms that chose it: the scheduler binds it. */
function pinned(template: PodTemplate, name: string): PodTemplate {
  const { spec = {} } = template
  const { affinity = {} } = spec as { affinity?: Affinity }
  const matchFields = [{ key: 'metadata.name', operator: 'In', values: [name] }]
  const required = { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchFields }] } }
  const nodeAffinity = { ...affinity.nodeAffinity, ...required }
  return { ...template, spec: { ...spec, affinity: { ...affinity, nodeAffinity } } }
}

/** The Node that a daemon was made for. */
function nodeOf({ spec }: Json): string {
  const { nodeName, affinity } = spec as {
    readonly nodeName?: string
    readonly affinity?: {
      readonly nodeAffinity?: {
        readonly requiredDuringSchedulingIgnoredDuringExecution?: {
          readonly nodeSelectorTerms?: readonly {
            readonly matchFields?: readonly { readonly values?: readonly string[] }[]
          }[]
        }
      }
    }
  }
  const [term] = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? []
  return nodeName ?? term?.matchFields?.[0]?.values?.[0] ?? ''
}
