import type { CapacityBuffer, PodTemplateJson, VolumeJson } from './capacity-buffer.ts'

/** Marks a pod that exists only in plans. */
const virtualPodAnnotation = 'karpenter.sh/capacity-buffer-fake-pod'
const bufferNameAnnotation = 'karpenter.sh/capacity-buffer-name'
const bufferNamespaceAnnotation = 'karpenter.sh/capacity-buffer-namespace'

const lowestPriority = -(2 ** 31)

/**
 * Returns the pods that a buffer keeps room for, as the API server would hold them; they exist only in plans (reference/karpenter-core.md 3.15).
 * Volumes that would need a claim are left out, since nothing is provisioned for these pods.
 */
export function virtualPods(
  buffer: CapacityBuffer,
  template: PodTemplateJson,
  count: number,
): readonly VirtualPodJson[] {
  const { name, namespace = 'default', uid, creationTimestamp } = buffer.metadata
  const spec = virtualSpec(template.spec ?? {})
  return Array.from({ length: count }, (_, index) => ({
    kind: 'Pod',
    metadata: {
      name: `capacity-buffer-${name}-${index + 1}`,
      namespace,
      uid: `${uid}-${index + 1}`,
      creationTimestamp,
      labels: template.metadata?.labels ?? {},
      annotations: {
        [virtualPodAnnotation]: 'true',
        [bufferNameAnnotation]: name,
        [bufferNamespaceAnnotation]: namespace,
      },
    },
    spec,
    status: { phase: 'Pending', conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }] },
  }))
}

export interface VirtualPodJson {
  readonly kind: 'Pod'
  readonly metadata: {
    readonly name: string
    readonly namespace: string
    readonly uid: string
    readonly creationTimestamp: string
    readonly labels: Readonly<Record<string, string>>
    readonly annotations: Readonly<Record<string, string>>
  }
  readonly spec: Readonly<Record<string, unknown>>
  readonly status: {
    readonly phase: 'Pending'
    readonly conditions: readonly { readonly type: string; readonly status: string; readonly reason: string }[]
  }
}

interface ContainerJson {
  readonly volumeMounts?: readonly { readonly name: string }[] | null
}

function virtualSpec(spec: NonNullable<PodTemplateJson['spec']>): Readonly<Record<string, unknown>> {
  const isLeftOut = (volume: VolumeJson) => volume.persistentVolumeClaim !== undefined || volume.ephemeral !== undefined
  const volumes = spec.volumes ?? []
  const leftOut = new Set(volumes.filter(isLeftOut).map(({ name }) => name))
  const mounted = (container: object) => {
    const { volumeMounts } = container as ContainerJson
    return volumeMounts === undefined || volumeMounts === null
      ? container
      : { ...container, volumeMounts: volumeMounts.filter(({ name }) => !leftOut.has(name)) }
  }
  const {
    nodeName: _bound,
    priorityClassName: _class,
    ...rest
  } = spec as typeof spec & Readonly<Record<string, unknown>>
  return {
    ...rest,
    priority: lowestPriority,
    volumes: volumes.filter(({ name }) => !leftOut.has(name)),
    containers: (spec.containers ?? []).map(mounted),
    ...(spec.initContainers === undefined || spec.initContainers === null
      ? {}
      : { initContainers: spec.initContainers.map(mounted) }),
  }
}
