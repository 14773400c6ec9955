import { randomInt } from 'node:crypto'
import { annotations, terminationFinalizer } from '../../core/labels.ts'
import type { NodePool } from '../../core/objects.ts'
import { formatResources } from '../../core/resources.ts'
import type { PlannedNodeClaim } from '../../core/scheduling/snapshot.ts'
import type { Json } from '../kubernetes/client.ts'
import { decodeNodeClaim } from '../kubernetes/decode.ts'
import { subject } from '../kubernetes/event-recorder.ts'
import { readPause } from '../kubernetes/pauses.ts'
import { resourcePath } from '../kubernetes/resources.ts'
import type { PlanningDeps } from './dependencies.ts'
import type { Fence } from './fence.ts'

/** Claims written between two looks at fence and pause. */
const batchSize = 10

export type CreationOutcome =
  | { readonly kind: 'created'; readonly names: readonly string[] }
  /** A pause came in between; the pods of what was not created stay pending. */
  | { readonly kind: 'paused'; readonly names: readonly string[] }

/**
 * Creates the claims of a plan in small batches and starts their lifecycles. Before each batch the fence and the pause are read from the API server.
 * A crash in between is harmless: the next attempt sees what was created as capacity on its way.
 * Errors: `FenceLostError` when another attempt has taken over.
 */
export async function createClaims(
  deps: PlanningDeps,
  fence: Fence,
  planned: readonly PlannedNodeClaim[],
): Promise<CreationOutcome> {
  const names: string[] = []
  for (let at = 0; at < planned.length; at += batchSize) {
    await fence.check()
    if ((await readPause(deps, 'provisioning', deps.now())) !== undefined) return { kind: 'paused', names }
    const batch = await Promise.all(planned.slice(at, at + batchSize).map((claim) => createClaim(deps, fence, claim)))
    names.push(...batch.filter((name) => name !== undefined))
  }
  return { kind: 'created', names }
}

async function createClaim(deps: PlanningDeps, fence: Fence, planned: PlannedNodeClaim): Promise<string | undefined> {
  const nodePool = deps.cache.nodePools.get(planned.nodePool)
  if (nodePool === undefined) return undefined
  const body = claimBody(nodePool, planned, `${planned.nodePool}-${randomSuffix()}`)
  // The clock tells when this process had stopped: then somebody else may be the planner now.
  if (!fence.isFresh) await fence.check()
  const json = await deps.client.create(resourcePath('nodeclaims'), body)
  deps.cache.upsert('NodeClaim', json)
  const claim = decodeNodeClaim(json)
  for (const pod of planned.pods) {
    deps.nominations.nominate(pod.metadata.uid, claim.metadata.name, deps.now())
    deps.events.record({
      about: subject(pod),
      type: 'Normal',
      reason: 'Nominated',
      message: `Pod should schedule on: nodeclaim/${claim.metadata.name}`,
    })
  }
  try {
    await deps.lifecycles.start(claim)
  } catch (error) {
    deps.log.warn(
      { nodeClaim: claim.metadata.name, err: error },
      'the lifecycle could not be started yet; the bridge starts it',
    )
  }
  return claim.metadata.name
}

function claimBody(nodePool: NodePool, planned: PlannedNodeClaim, name: string): Json {
  const { annotations: own, spec } = nodePool.template
  const stamped = nodePool.metadata.annotations
  return {
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodeClaim',
    metadata: {
      name,
      labels: planned.labels,
      annotations: {
        ...own,
        ...pick(stamped, annotations.nodePoolHash),
        ...pick(stamped, annotations.nodePoolHashVersion),
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
      ...(spec.expireAfter === undefined ? {} : { expireAfter: spec.expireAfter }),
      ...(spec.terminationGracePeriod === undefined ? {} : { terminationGracePeriod: spec.terminationGracePeriod }),
    },
  }
}

function pick(from: Readonly<Record<string, string>>, key: string): Record<string, string> {
  const value = from[key]
  return value === undefined ? {} : { [key]: value }
}

/** Five characters as Kubernetes' own generated names have. */
function randomSuffix(): string {
  const alphabet = 'bcdfghjklmnpqrstvwxz2456789'
  return Array.from({ length: 5 }, () => alphabet[randomInt(alphabet.length)]).join('')
}
