import type { Condition, ContainerPort, ObjectMeta, Pod, Toleration } from '../../../core/objects.ts'
import { boundedConstraints, type PodConstraints, podLimits } from '../../../core/pods/pod-limits.ts'
import { withValidPreferences } from '../../../core/pods/pod-preferences.ts'
import { podLimits as limitsOf, podRequests } from '../../../core/pods/pod-requests.ts'
import { annotations } from '../../../core/requirements/labels.ts'
import { integerQuantity } from '../../../core/values/quantity.ts'
import type { Json } from '../client/answers.ts'
import { decodeMeta, type Text } from './decode-meta.ts'

export interface ContainerJson {
  ports?: ContainerPort[]
  resources?: { requests?: Text; limits?: Text; claims?: { name: string }[] }
}

export interface PodSpecJson extends PodConstraints {
  nodeName?: string
  tolerations?: Toleration[]
  containers?: ContainerJson[]
  initContainers?: ContainerJson[]
  resourceClaims?: { name: string }[]
  volumes?: { persistentVolumeClaim?: { claimName: string }; ephemeral?: unknown; name: string }[]
  priority?: number
  priorityClassName?: string
  terminationGracePeriodSeconds?: number
}

interface PodStatusJson {
  phase?: Pod['phase']
  conditions?: Condition[]
  startTime?: string
  nominatedNodeName?: string
}

/** Annotations of pods that decisions read; the others are not kept. */
const keptAnnotations = [
  annotations.doNotDisrupt,
  'karpenter.sh/disruption-cost',
  'controller.kubernetes.io/pod-deletion-cost',
]

/**
 * Decodes a pod with its requests and limits, which count the pod itself as one of `pods`. The result is bounded (`podLimits`), however large the
 * pod is: lists are cut, and `excess` describes the missing part.
 */
export function decodePod(json: Json): Pod {
  const all = decodeMeta(json)
  const spec = (json['spec'] ?? {}) as PodSpecJson
  const status = (json['status'] ?? {}) as PodStatusJson
  const { tolerations = [] } = spec
  const hostPorts = (spec.containers ?? [])
    .flatMap((container) => container.ports ?? [])
    .filter((port) => (port.hostPort ?? 0) > 0)
  const persistentVolumeClaims = (spec.volumes ?? []).flatMap((volume) => claimName(all.name, volume))
  const resources = resourceNames(spec)
  const bounded = boundedConstraints(spec, [
    ['metadata.labels', Object.keys(all.labels).length, podLimits.labels],
    ['spec.tolerations', tolerations.length, podLimits.tolerations],
    ['spec.containers.resources', resources.size, podLimits.resources],
    ['spec.containers.ports.hostPort', hostPorts.length, podLimits.hostPorts],
    ['spec.volumes.persistentVolumeClaim', persistentVolumeClaims.length, podLimits.volumes],
  ])
  const { nodeSelector = {}, affinity, topologySpreadConstraints = [] } = bounded?.constraints ?? spec
  const priced = resources.size > podLimits.resources ? withResources(json, resources) : json
  return {
    kind: 'Pod',
    metadata: boundedMeta(all),
    phase: status.phase ?? 'Pending',
    conditions: keptConditions(status.conditions),
    requests: { ...podRequests(priced), pods: integerQuantity(1) },
    limits: { ...limitsOf(priced), pods: integerQuantity(1) },
    nodeSelector,
    tolerations: tolerations.slice(0, podLimits.tolerations),
    topologySpreadConstraints,
    hostPorts: hostPorts.slice(0, podLimits.hostPorts),
    persistentVolumeClaims: persistentVolumeClaims.slice(0, podLimits.volumes),
    resourceClaims: resourceClaims(spec),
    terminationGracePeriodSeconds: spec.terminationGracePeriodSeconds ?? 30,
    ...placement(spec, status),
    ...unschedulableOf(json, spec, status),
    ...(affinity === undefined ? {} : withValidPreferences(affinity)),
    ...(bounded === undefined ? {} : { excess: bounded.excess }),
    ...(spec.priority === undefined ? {} : { priority: spec.priority }),
    ...(spec.priorityClassName === undefined ? {} : { priorityClassName: spec.priorityClassName }),
    ...(status.startTime === undefined ? {} : { startTime: status.startTime }),
  }
}

/** Returns the conditions that decisions read, without their messages. */
function keptConditions(all: readonly Condition[] = []): readonly Condition[] {
  return all
    .filter(({ type }) => type === 'PodScheduled' || type === 'Ready')
    .map(({ type, status, reason, lastTransitionTime }) => ({
      type,
      status,
      ...(reason === undefined ? {} : { reason }),
      ...(lastTransitionTime === undefined ? {} : { lastTransitionTime }),
    }))
}

const scheduled = 'k:{"type":"PodScheduled"}'
const longestText = 2000

interface ManagedFieldsJson {
  readonly time?: string
  readonly fieldsV1?: { readonly 'f:status'?: { readonly 'f:conditions'?: Readonly<Record<string, unknown>> } }
}

/** Returns kube-scheduler's text. Its time is that of the write: that of the condition's transition does not move while the pod waits. */
function unschedulableOf(
  { metadata }: Json,
  { nodeName }: PodSpecJson,
  { conditions = [] }: PodStatusJson,
): Partial<Pod> {
  const found = conditions.find(({ type, reason }) => type === 'PodScheduled' && reason === 'Unschedulable')
  if (nodeName || found === undefined) return {}
  const { managedFields = [] } = metadata as { readonly managedFields?: readonly ManagedFieldsJson[] }
  const writes = managedFields.filter(
    ({ fieldsV1 }) => fieldsV1?.['f:status']?.['f:conditions']?.[scheduled] !== undefined,
  )
  const times = [found.lastTransitionTime, ...writes.map(({ time }) => time)].map((time) => Date.parse(time ?? ''))
  const atMs = Math.max(...times.filter((time) => !Number.isNaN(time)))
  return { unschedulable: { atMs, message: (found.message ?? '').slice(0, longestText) } }
}

/** Returns the node that a pod is bound to, or that the scheduler freed for it. Empty names are unset. */
function placement({ nodeName }: PodSpecJson, { nominatedNodeName }: PodStatusJson): Partial<Pod> {
  return { ...(nodeName ? { nodeName } : {}), ...(nominatedNodeName ? { nominatedNodeName } : {}) }
}

function boundedMeta(all: ObjectMeta): ObjectMeta {
  const kept = keptAnnotations.flatMap((key) => {
    const value = all.annotations[key]
    return value === undefined ? [] : [[key, value] as const]
  })
  const { labels, ownerReferences, finalizers } = all
  const isController = ({ controller }: (typeof ownerReferences)[number]) => controller === true
  return {
    ...all,
    labels: Object.keys(labels).length > podLimits.labels ? firstLabels(labels) : labels,
    annotations: Object.fromEntries(kept),
    finalizers: finalizers.slice(0, podLimits.ownerReferences),
    // The controller decides which kind of pod it is.
    ownerReferences:
      ownerReferences.length > podLimits.ownerReferences
        ? [...ownerReferences.filter(isController), ...ownerReferences.slice(0, podLimits.ownerReferences)]
        : ownerReferences,
  }
}

function firstLabels(labels: ObjectMeta['labels']): ObjectMeta['labels'] {
  return Object.fromEntries(Object.entries(labels).slice(0, podLimits.labels))
}

/** Returns names of the resources that containers request or are limited to, up to one more than are evaluated. */
function resourceNames({ containers = [], initContainers = [] }: PodSpecJson): ReadonlySet<string> {
  const names = new Set<string>()
  for (const { resources } of [...containers, ...initContainers]) {
    for (const name in resources?.requests) names.add(name)
    for (const name in resources?.limits) names.add(name)
  }
  return names
}

const ordinary = ['cpu', 'memory', 'ephemeral-storage']

/** Returns the pod with only the ordinary resources and the first of the others. */
function withResources(json: Json, names: ReadonlySet<string>): Json {
  const kept = new Set([...ordinary, ...[...names].slice(0, podLimits.resources)])
  const some = (amounts: Text | undefined) =>
    Object.fromEntries(Object.entries(amounts ?? {}).filter(([name]) => kept.has(name)))
  const cut = (containers: ContainerJson[] | undefined) =>
    (containers ?? []).map(({ resources, ...container }) => ({
      ...container,
      resources: { requests: some(resources?.requests), limits: some(resources?.limits) },
    }))
  const spec = (json['spec'] ?? {}) as PodSpecJson
  return { ...json, spec: { ...spec, containers: cut(spec.containers), initContainers: cut(spec.initContainers) } }
}

/** Returns the first resource claims: pods with any are not planned, so more are of no use. */
function resourceClaims(spec: PodSpecJson): readonly string[] {
  const ofContainers = [...(spec.initContainers ?? []), ...(spec.containers ?? [])].flatMap(
    ({ resources }) => resources?.claims ?? [],
  )
  const names = new Set([...(spec.resourceClaims ?? []), ...ofContainers].map(({ name }) => name))
  return [...names].slice(0, podLimits.resourceClaims)
}

function claimName(podName: string, volume: NonNullable<PodSpecJson['volumes']>[number]): string[] {
  if (volume.persistentVolumeClaim !== undefined) return [volume.persistentVolumeClaim.claimName]
  return volume.ephemeral === undefined ? [] : [`${podName}-${volume.name}`]
}
