import type { Condition, ObjectMeta } from '../objects.ts'
import type { PodResourcesInput } from '../pods/pod-requests.ts'
import type { Resources } from '../resources.ts'

/** Spare capacity that is asked for (reference/karpenter-core.md 1.4, 3.15). */
export interface CapacityBuffer {
  readonly kind: 'CapacityBuffer'
  readonly metadata: ObjectMeta
  readonly provisioningStrategy?: string
  /** Name of a PodTemplate of the same namespace. */
  readonly podTemplate?: string
  readonly scalable?: ScalableRef
  readonly replicas?: number
  /** Of the replicas of the workload. */
  readonly percentage?: number
  readonly limits: Resources
  readonly status: BufferStatus
}

/** Most virtual pods. Each takes part in every pass and every what-if question, and a single buffer could ask for millions. */
export const bufferBounds = { perBuffer: 1000, inAll: 2000 } as const

interface ScalableRef {
  /** Empty: apps. */
  readonly apiGroup: string
  readonly kind: string
  readonly name: string
}

export interface BufferStatus {
  readonly provisioningStrategy?: string
  readonly podTemplate?: string
  readonly podTemplateGeneration?: number
  readonly replicas?: number
  readonly conditions: readonly Condition[]
}

/** A pod template as the API server holds it, with the fields that virtual pods are made of. */
export interface PodTemplateJson extends PodResourcesInput {
  readonly metadata?: { readonly labels?: Readonly<Record<string, string>> }
  readonly spec?: PodTemplateSpecJson
}

type PodTemplateSpecJson = NonNullable<PodResourcesInput['spec']> & { readonly volumes?: readonly VolumeJson[] | null }

export interface VolumeJson {
  readonly name: string
  readonly persistentVolumeClaim?: unknown
  readonly ephemeral?: unknown
}

/** What a buffer's reference leads to. */
export interface FoundTemplate {
  readonly template: PodTemplateJson
  /** Of a PodTemplate. */
  readonly generation?: number
  /** Of a workload; one that sets none has one. */
  readonly replicas?: number
}

/** An object that buffers refer to, as far as they need it. ReplicaSets and StatefulSets are `PodController`s. */
export interface BufferSource {
  readonly kind: 'PodTemplate' | 'Deployment'
  readonly metadata: ObjectMeta
  readonly found: FoundTemplate
}

/** The objects that buffers refer to, by namespace and name. */
export interface BufferObjects {
  readonly podTemplate: (namespace: string, name: string) => FoundTemplate | undefined
  readonly workload: (kind: WorkloadKind, namespace: string, name: string) => FoundTemplate | undefined
}

export const workloadKinds = ['Deployment', 'StatefulSet', 'ReplicaSet'] as const

export type WorkloadKind = (typeof workloadKinds)[number]
