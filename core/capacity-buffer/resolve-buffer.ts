import { type ConditionChange, type ConditionContext, withCondition } from '../conditions.ts'
import { specRequests } from '../pods/pod-requests.ts'
import { defined } from '../values/defined.ts'
import { quantityMilliValue } from '../values/quantity.ts'
import { entryOf } from '../values/records.ts'
import {
  type BufferObjects,
  type BufferStatus,
  bufferBounds,
  type CapacityBuffer,
  type FoundTemplate,
  type WorkloadKind,
  workloadKinds,
} from './capacity-buffer.ts'

/** What a buffer's references lead to. */
export type Resolution =
  /** `wanted`: set where bounds allow fewer pods than the buffer is for. */
  | { readonly kind: 'resolved'; readonly found: FoundTemplate; readonly replicas: number; readonly wanted?: number }
  | { readonly kind: 'failed'; readonly reason: string; readonly message: string }

/** Finds a buffer's pod template and counts its pods (reference/karpenter-core.md 3.15). A PodTemplate counts before a workload. */
export function resolveBuffer(buffer: CapacityBuffer, objects: BufferObjects): Resolution {
  const { metadata, podTemplate, scalable } = buffer
  const namespace = metadata.namespace ?? 'default'
  if (podTemplate !== undefined) {
    const found = objects.podTemplate(namespace, podTemplate)
    if (found === undefined) return failed('PodTemplateNotFound', `podtemplates "${podTemplate}" not found`)
    return { kind: 'resolved', found, replicas: bufferReplicas(buffer, found) }
  }
  if (scalable === undefined) return failed('ResolutionFailed', 'Neither podTemplateRef nor scalableRef is set')
  if (scalable.apiGroup !== '' && scalable.apiGroup !== 'apps')
    return failed('ResolutionFailed', `unsupported scalableRef API group "${scalable.apiGroup}"`)
  if (!isWorkloadKind(scalable.kind)) return failed('ResolutionFailed', `unsupported kind "${scalable.kind}"`)
  const found = objects.workload(scalable.kind, namespace, scalable.name)
  if (found === undefined)
    return failed('ScalableRefNotFound', `${scalable.kind.toLowerCase()}s.apps "${scalable.name}" not found`)
  return { kind: 'resolved', found, replicas: bufferReplicas(buffer, found) }
}

function isWorkloadKind(kind: string): kind is WorkloadKind {
  return workloadKinds.some((known) => known === kind)
}

function failed(reason: string, message: string) {
  return { kind: 'failed', reason, message } as const
}

/** Returns a buffer's status after its resolution. One that failed keeps what it said of the last template. */
export function resolvedStatus(
  buffer: CapacityBuffer,
  resolution: Resolution,
  context: ConditionContext,
): BufferStatus {
  const { provisioningStrategy, podTemplate, status } = buffer
  const { provisioningStrategy: _before, podTemplate: _template, podTemplateGeneration: _generation, ...rest } = status
  const strategy = provisioningStrategy === undefined ? {} : { provisioningStrategy }
  const conditions = withCondition(status.conditions, readiness(resolution), context)
  if (resolution.kind === 'failed')
    return {
      ...rest,
      ...strategy,
      ...defined({ podTemplate: status.podTemplate, podTemplateGeneration: status.podTemplateGeneration }),
      conditions,
    }
  const { found, replicas } = resolution
  return {
    ...strategy,
    ...(podTemplate === undefined ? {} : { podTemplate, ...defined({ podTemplateGeneration: found.generation }) }),
    replicas,
    conditions,
  }
}

function bound({ replicas, wanted }: Extract<Resolution, { kind: 'resolved' }>): string {
  return wanted === undefined
    ? ''
    : `; room is kept for ${replicas} of ${wanted} pods: at most ${bufferBounds.perBuffer} for one buffer and ${bufferBounds.inAll} for all, which namespaces share evenly`
}

function readiness(resolution: Resolution): ConditionChange {
  const type = 'ReadyForProvisioning'
  if (resolution.kind === 'resolved')
    return {
      type,
      status: 'True',
      reason: 'Resolved',
      message: `Pod template resolved successfully${bound(resolution)}`,
    }
  const { reason, message } = resolution
  return { type, status: 'False', reason, message }
}

/**
 * Returns how many pods a buffer keeps room for: the larger of its replicas and its percentage of the workload, as far as its limits go; the limits
 * alone where neither is given (reference/karpenter-core.md 3.15).
 */
function bufferReplicas(buffer: CapacityBuffer, found: FoundTemplate): number {
  const { replicas } = buffer
  const share = shareOf(buffer, found)
  const wanted = [replicas, share].filter((count) => count !== undefined)
  const most = mostWithin(buffer, found)
  if (wanted.length === 0) return most ?? 0
  return Math.min(Math.max(...wanted), most ?? Number.POSITIVE_INFINITY)
}

/** A percentage above zero asks for one pod at least. A workload without replicas asks for none. */
function shareOf({ percentage }: CapacityBuffer, { replicas = 0 }: FoundTemplate): number | undefined {
  if (percentage === undefined || replicas === 0) return undefined
  return percentage === 0 ? 0 : Math.max(1, Math.ceil((percentage * replicas) / 100))
}

/** Undefined: no limit is of a resource that the pods request. */
function mostWithin({ limits }: CapacityBuffer, { template }: FoundTemplate): number | undefined {
  const requests = specRequests(template)
  const counts = Object.entries(limits).flatMap(([name, limit]) => {
    const request = entryOf(requests, name)
    if (request === undefined || request.nano <= 0n) return []
    return [Number(quantityMilliValue(limit) / quantityMilliValue(request))]
  })
  return counts.length === 0 ? undefined : Math.max(0, Math.min(...counts))
}
