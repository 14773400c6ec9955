import { isDeepStrictEqual } from 'node:util'
import { withinBounds } from '../../core/capacity-buffer/buffer-bounds.ts'
import type { BufferObjects, CapacityBuffer, FoundTemplate } from '../../core/capacity-buffer/capacity-buffer.ts'
import { type Resolution, resolveBuffer } from '../../core/capacity-buffer/resolve-buffer.ts'
import { virtualPods } from '../../core/capacity-buffer/virtual-pods.ts'
import type { Pod } from '../../core/objects.ts'
import { isHeavy } from '../../core/scheduling/pod-cost.ts'
import type { ClusterCache } from '../kubernetes/cache/cluster-cache.ts'
import { decodePod } from '../kubernetes/cache/decode-pod.ts'
import { keyOf } from '../kubernetes/cache/object-key.ts'
import type { Json } from '../kubernetes/client/answers.ts'

/** A buffer, what its references lead to, and its virtual pods. */
export interface BufferState {
  readonly buffer: CapacityBuffer
  readonly resolution: Resolution
  /** The same list while nothing changes. */
  readonly pods: readonly Pod[]
  /** Why its pods are not planned at all. */
  readonly unplanned?: string
}

const tooManyConstraints = 'the pod template has too many constraints and preferences for a buffer; use fewer'
const noPods: readonly Pod[] = []

/** Returns all buffers, by key, resolved with what the cache has now. Pods of `before` that are still the same are kept. A buffer that fails harms only itself. */
export function bufferStates(
  cache: ClusterCache,
  before: ReadonlyMap<string, BufferState>,
): ReadonlyMap<string, BufferState> {
  const objects = objectsOf(cache)
  const buffers = [...cache.capacityBuffers.values()].filter(({ metadata }) => metadata.deletionTimestamp === undefined)
  const resolved = buffers.map((buffer) => {
    const { metadata } = buffer
    return {
      key: keyOf(metadata),
      namespace: metadata.namespace ?? 'default',
      resolution: resolutionOf(buffer, objects),
    }
  })
  const bounded = withinBounds(resolved)
  return new Map(
    buffers.map((buffer) => {
      const key = keyOf(buffer.metadata)
      return [key, stateOf(buffer, bounded.get(key) as Resolution, before.get(key))]
    }),
  )
}

function resolutionOf(buffer: CapacityBuffer, objects: BufferObjects): Resolution {
  try {
    return resolveBuffer(buffer, objects)
  } catch (error) {
    return failed(error)
  }
}

function stateOf(buffer: CapacityBuffer, resolution: Resolution, before: BufferState | undefined): BufferState {
  if (resolution.kind === 'failed' || resolution.replicas === 0) return { buffer, resolution, pods: noPods }
  const { found, replicas } = resolution
  const known = before !== undefined && isSame(before, buffer, found) ? before.pods : noPods
  try {
    const pods = known.length === replicas ? known : podsOf(buffer, found, { count: replicas, known })
    return pods.some(isHeavy)
      ? { buffer, resolution, pods: noPods, unplanned: tooManyConstraints }
      : { buffer, resolution, pods }
  } catch (error) {
    return { buffer, resolution: failed(error), pods: noPods }
  }
}

function failed(error: unknown): Resolution {
  return { kind: 'failed', reason: 'ResolutionFailed', message: String(error).slice(0, 500) }
}

function isSame({ buffer, resolution }: BufferState, now: CapacityBuffer, found: FoundTemplate): boolean {
  return (
    resolution.kind === 'resolved' &&
    buffer.metadata.uid === now.metadata.uid &&
    (resolution.found.template === found.template || isDeepStrictEqual(resolution.found.template, found.template))
  )
}

/** Returns the pods, which share all but their names. A colon makes a name that no pod of the cluster has. */
function podsOf(
  buffer: CapacityBuffer,
  { template }: FoundTemplate,
  { count, known }: { readonly count: number; readonly known: readonly Pod[] },
): readonly Pod[] {
  const [json] = virtualPods(buffer, template, 1)
  const first = decodePod(json as unknown as Json)
  const { name, uid } = buffer.metadata
  const key = keyOf(buffer.metadata)
  return Array.from(
    { length: count },
    (_, at): Pod =>
      known[at] ?? {
        ...first,
        buffer: key,
        metadata: {
          ...first.metadata,
          name: `buffer:${name}:${at + 1}`,
          uid: `${uid}-${at + 1}`,
          resourceVersion: '0',
        },
      },
  )
}

function objectsOf(cache: ClusterCache): BufferObjects {
  return {
    podTemplate: (namespace, name) => cache.podTemplates.get(`${namespace}/${name}`)?.found,
    workload: (kind, namespace, name) => {
      const key = `${namespace}/${name}`
      if (kind === 'Deployment') return cache.deployments.get(key)?.found
      return (kind === 'StatefulSet' ? cache.statefulSets : cache.replicaSets).get(key)?.found
    },
  }
}
