import type { InstanceType } from '../../core/instance-type.ts'
import { kubeletConversion } from '../../core/kubelet-conversion.ts'
import type { NodePool, Pod, PodController } from '../../core/objects.ts'
import { podsToPlace as podsToPlaceOf, schedulingSnapshot } from '../../core/scheduling/cluster.ts'
import type { SchedulingSnapshot } from '../../core/scheduling/snapshot.ts'
import { type CachedKind, keyOf } from '../kubernetes/cluster-cache.ts'
import type { PlanningDeps } from './dependencies.ts'

/** Pods that need a place: those the scheduler gave up on, and those on nodes that are leaving. */
export function podsToPlace(deps: PlanningDeps): readonly Pod[] {
  return podsToPlaceOf(objectsOf(deps), deps.now())
}

/** Everything that a placement depends on, from the cache at this moment. */
export function planningSnapshot(deps: PlanningDeps): SchedulingSnapshot {
  const { cache, scheduling } = deps
  const known = [...cache.nodePools.values()].filter(({ template }) =>
    hasNodeClass(deps, template.spec.nodeClassRef.name),
  )
  return schedulingSnapshot(
    {
      ...objectsOf(deps),
      nodePools: known,
      daemonSets: [...cache.daemonSets.values()],
      namespaces: [...cache.namespaces.values()],
      persistentVolumeClaims: [...cache.persistentVolumeClaims.values()],
      persistentVolumes: [...cache.persistentVolumes.values()],
      storageClasses: [...cache.storageClasses.values()],
      csiNodes: [...cache.csiNodes.values()],
      services: [...cache.services.values()],
      controllers: scheduling.defaultSpread.length === 0 ? [] : controllersOf(deps),
      instanceTypes: new Map(known.map((nodePool) => [nodePool.metadata.name, instanceTypesOf(deps, nodePool)])),
    },
    { now: deps.now(), defaultSpread: scheduling.defaultSpread },
  )
}

/**
 * Kinds whose lag could mis-plan: pods, nodes and claims always; volumes only when a pod waits whose volume is not bound as far as is known,
 * since a volume that was bound a moment ago ties its pod to a zone.
 */
export function laggingKinds(deps: PlanningDeps): readonly CachedKind[] {
  const { persistentVolumeClaims, persistentVolumes } = deps.cache
  const isBound = (pod: Pod, name: string) => {
    const claim = persistentVolumeClaims.get(keyOf({ ...pod.metadata, name }))
    return claim?.volumeName !== undefined && persistentVolumes.get(claim.volumeName) !== undefined
  }
  const isUnbound = (pod: Pod) => pod.persistentVolumeClaims.some((name) => !isBound(pod, name))
  const volumes = podsToPlace(deps).some(isUnbound) ? (['PersistentVolumeClaim', 'PersistentVolume'] as const) : []
  return ['Pod', 'Node', 'NodeClaim', ...volumes]
}

function objectsOf({ cache }: PlanningDeps) {
  return {
    pods: [...cache.pods.values()],
    nodes: [...cache.nodes.values()],
    nodeClaims: [...cache.nodeClaims.values()],
    podDisruptionBudgets: [...cache.podDisruptionBudgets.values()],
  }
}

/** The controllers of pods that need a place: a cluster has many more, and each pod looks for its own among them. */
function controllersOf(deps: PlanningDeps): readonly PodController[] {
  const { replicaSets, statefulSets, replicationControllers } = deps.cache
  const stores = { ReplicaSet: replicaSets, StatefulSet: statefulSets, ReplicationController: replicationControllers }
  const found = new Set<PodController>()
  for (const { metadata } of podsToPlace(deps)) {
    const owner = metadata.ownerReferences.find(({ controller }) => controller === true)
    const store = owner === undefined ? undefined : stores[owner.kind as keyof typeof stores]
    const controller = store?.get(keyOf({ ...metadata, name: owner?.name ?? '' }))
    if (controller !== undefined) found.add(controller)
  }
  return [...found]
}

const hasNodeClass = ({ cache }: PlanningDeps, name: string) => cache.nodeClasses.get(name) !== undefined

function instanceTypesOf({ cache, catalogue }: PlanningDeps, nodePool: NodePool): readonly InstanceType[] {
  const nodeClass = cache.nodeClasses.get(nodePool.template.spec.nodeClassRef.name)
  if (nodeClass === undefined) return []
  return catalogue.instanceTypesFor(nodeClass, kubeletConversion(nodePool.metadata.annotations))
}
