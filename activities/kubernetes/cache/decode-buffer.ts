import type {
  BufferSource,
  CapacityBuffer,
  FoundTemplate,
  PodTemplateJson,
} from '../../../core/capacity-buffer/capacity-buffer.ts'
import type { Condition, ObjectMeta } from '../../../core/objects.ts'
import type { PodController } from '../../../core/pods/related-objects.ts'
import { parseResources } from '../../../core/resources.ts'
import type { Json } from '../client/answers.ts'
import { decodeMeta, type Text } from './decode-meta.ts'
import { decodePodController } from './decode-storage.ts'

interface BufferSpecJson {
  readonly provisioningStrategy?: string
  readonly podTemplateRef?: { readonly name: string }
  readonly scalableRef?: { readonly apiGroup?: string; readonly kind: string; readonly name: string }
  readonly replicas?: number
  readonly percentage?: number
  readonly limits?: Text
}

interface BufferStatusJson {
  readonly provisioningStrategy?: string
  readonly podTemplateRef?: { readonly name: string }
  readonly podTemplateGeneration?: number
  readonly replicas?: number
  readonly conditions?: readonly Condition[]
}

export function decodeCapacityBuffer(json: Json): CapacityBuffer {
  const spec = (json['spec'] ?? {}) as BufferSpecJson
  const status = (json['status'] ?? {}) as BufferStatusJson
  const { provisioningStrategy, podTemplateRef, scalableRef, replicas, percentage } = spec
  return {
    kind: 'CapacityBuffer',
    metadata: decodeMeta(json),
    ...(provisioningStrategy === undefined ? {} : { provisioningStrategy }),
    ...(podTemplateRef === undefined ? {} : { podTemplate: podTemplateRef.name }),
    ...(scalableRef === undefined ? {} : { scalable: { ...scalableRef, apiGroup: scalableRef.apiGroup ?? '' } }),
    ...(replicas === undefined ? {} : { replicas }),
    ...(percentage === undefined ? {} : { percentage }),
    limits: parseResources(spec.limits),
    status: {
      ...(status.provisioningStrategy === undefined ? {} : { provisioningStrategy: status.provisioningStrategy }),
      ...(status.podTemplateRef === undefined ? {} : { podTemplate: status.podTemplateRef.name }),
      ...(status.podTemplateGeneration === undefined ? {} : { podTemplateGeneration: status.podTemplateGeneration }),
      ...(status.replicas === undefined ? {} : { replicas: status.replicas }),
      conditions: status.conditions ?? [],
    },
  }
}

export function decodePodTemplate(json: Json): FoundTemplate {
  const { generation } = decodeMeta(json)
  return { template: json['template'] ?? {}, ...(generation === undefined ? {} : { generation }) }
}

/** Decodes a Deployment, StatefulSet or ReplicaSet as what a buffer needs of it. */
export function decodeWorkload(json: Json): FoundTemplate {
  const { template = {}, replicas = 1 } = (json['spec'] ?? {}) as {
    readonly template?: PodTemplateJson
    readonly replicas?: number
  }
  return { template, replicas }
}

/** Decodes a PodTemplate or a Deployment, which may be large and numerous: only what virtual pods are made of is kept. */
export function decodeBufferSource(json: Json): BufferSource {
  const kind = json['kind'] as BufferSource['kind']
  const found = kind === 'PodTemplate' ? decodePodTemplate(json) : decodeWorkload(json)
  return { kind, metadata: bareMeta(decodeMeta(json)), found: { ...found, template: placedParts(found.template) } }
}

/** Decodes a ReplicaSet or a StatefulSet likewise, with what default spread constraints need of it. */
export function decodePodMaker(json: Json): PodController {
  const found = decodeWorkload(json)
  return { ...decodePodController(json), found: { ...found, template: placedParts(found.template) } }
}

const podMakers: ReadonlySet<string> = new Set(['ReplicaSet', 'StatefulSet'] satisfies PodController['kind'][])

/** Returns a controller of pods as those see it who do not make virtual pods; other objects as they are. */
export function withoutTemplate<T extends { readonly kind: string }>(object: T): T {
  if (!podMakers.has(object.kind)) return object
  const { found: _found, ...rest } = object as T & Pick<PodController, 'found'>
  return rest as unknown as T
}

function bareMeta({ labels: _labels, annotations: _annotations, ...rest }: ObjectMeta): ObjectMeta {
  return { ...rest, labels: {}, annotations: {}, finalizers: [], ownerReferences: [] }
}

/** Fields of a pod's spec, and of its containers, that decide where it can run. */
const specFields = [
  'nodeSelector',
  'affinity',
  'tolerations',
  'topologySpreadConstraints',
  'overhead',
  'resources',
  'resourceClaims',
] as const
const containerFields = ['name', 'restartPolicy', 'resources', 'ports'] as const

/** Returns a template without what no placement reads: commands, environments, probes, volumes that virtual pods do not have. */
function placedParts({ metadata, spec = {} }: PodTemplateJson): PodTemplateJson {
  const containers = (all: readonly object[] | null | undefined) =>
    (all ?? []).map((one) => picked(one, containerFields))
  return {
    ...(metadata?.labels === undefined ? {} : { metadata: { labels: metadata.labels } }),
    spec: {
      ...picked(spec, specFields),
      containers: containers(spec.containers),
      ...(spec.initContainers ? { initContainers: containers(spec.initContainers) } : {}),
    },
  }
}

function picked(from: object, fields: readonly string[]): object {
  return Object.fromEntries(Object.entries(from).filter(([field]) => fields.includes(field)))
}
