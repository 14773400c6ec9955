import type { CapacityBuffer, FoundTemplate, PodTemplateJson } from '../../../core/capacity-buffer/capacity-buffer.ts'
import type { Condition } from '../../../core/objects.ts'
import { parseResources } from '../../../core/resources.ts'
import type { Json } from '../client/answers.ts'
import { decodeMeta, type Text } from './decode-meta.ts'

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
  return {
    template: json['template'] ?? {},
    ...(generation === undefined ? {} : { generation }),
  }
}

/** Decodes a Deployment, StatefulSet or ReplicaSet as what a buffer needs of it. */
export function decodeWorkload(json: Json): FoundTemplate {
  const { template = {}, replicas = 1 } = (json['spec'] ?? {}) as {
    readonly template?: PodTemplateJson
    readonly replicas?: number
  }
  return { template, replicas }
}
