import { kubeletAnnotation } from '../../core/node-class/kubelet-conversion.ts'
import { nodePoolHashVersion } from '../../core/node-pool/node-pool-hash.ts'
import type { NodePool } from '../../core/objects.ts'
import { annotations, terminationFinalizer } from '../../core/requirements/labels.ts'
import { formatResources } from '../../core/resources.ts'
import type { PlannedNodeClaim } from '../../core/scheduling/snapshot.ts'
import { defined } from '../../core/values/defined.ts'
import type { Json } from '../kubernetes/client/answers.ts'

const minValuesRelaxed = 'karpenter.sh/nodeclaim-min-values-relaxed'

const ofOneLife: ReadonlySet<string> = new Set([
  annotations.aksMachine,
  annotations.terminationTimestamp,
  annotations.rebootBound,
  annotations.rebootPreBootId,
])

/**
 * Whether an annotation is what only the life of a NodeClaim gives it. From a template it would say of each new NodeClaim that it stands for a machine
 * of others, so that it is left alone and planned again without end, or that it is a part of a command.
 */
const isOfOneLife = (key: string) => key.startsWith('joiner.sh/') || ofOneLife.has(key)

/** Returns the NodeClaim to create: the plan, and the metadata and spec that the pool's template gives to each of its nodes. */
export function claimBody(
  nodePool: NodePool,
  planned: PlannedNodeClaim,
  { name, annotations: added }: { readonly name: string; readonly annotations: Readonly<Record<string, string>> },
): Json {
  const { annotations: own, spec, hash } = nodePool.template
  const stamped = nodePool.metadata.annotations
  return {
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodeClaim',
    metadata: {
      name,
      labels: planned.labels,
      annotations: {
        ...Object.fromEntries(Object.entries(own).filter(([key]) => !isOfOneLife(key))),
        // Not the pool's annotation: it may lag behind an edit, and then the new node would seem to have drifted.
        ...(hash === undefined
          ? {}
          : { [annotations.nodePoolHash]: hash, [annotations.nodePoolHashVersion]: nodePoolHashVersion }),
        ...pick(stamped, kubeletAnnotation),
        [minValuesRelaxed]: String(planned.minValuesRelaxed ?? false),
        ...added,
      },
      finalizers: [terminationFinalizer],
      ownerReferences: [
        {
          apiVersion: 'karpenter.sh/v1',
          kind: 'NodePool',
          name: nodePool.metadata.name,
          uid: nodePool.metadata.uid,
          blockOwnerDeletion: true,
        },
      ],
    },
    spec: {
      requirements: planned.requirements,
      resources: { requests: formatResources(planned.requests) },
      nodeClassRef: spec.nodeClassRef,
      ...(spec.taints.length > 0 ? { taints: spec.taints } : {}),
      ...(spec.startupTaints.length > 0 ? { startupTaints: spec.startupTaints } : {}),
      ...defined({ expireAfter: spec.expireAfter, terminationGracePeriod: spec.terminationGracePeriod }),
    },
  }
}

function pick(from: Readonly<Record<string, string>>, key: string): Record<string, string> {
  const value = from[key]
  return value === undefined ? {} : { [key]: value }
}
