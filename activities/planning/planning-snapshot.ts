import type { InstanceType } from '../../core/instance-type.ts'
import { kubeletConversion } from '../../core/kubelet-conversion.ts'
import type { NodePool, Pod } from '../../core/objects.ts'
import { podsToPlace as podsToPlaceOf, schedulingSnapshot } from '../../core/scheduling/cluster.ts'
import type { SchedulingSnapshot } from '../../core/scheduling/snapshot.ts'
import type { PlanningDeps } from './dependencies.ts'

/** Pods that need a place: those the scheduler gave up on, and those on nodes that are leaving. */
export function podsToPlace(deps: PlanningDeps): readonly Pod[] {
  return podsToPlaceOf(objectsOf(deps), deps.now())
}

/** Everything that a placement depends on, from the cache at this moment. */
export function planningSnapshot(deps: PlanningDeps): SchedulingSnapshot {
  const objects = objectsOf(deps)
  const { daemonSets, nodePools } = deps.cache
  const known = [...nodePools.values()].filter(({ template }) => hasNodeClass(deps, template.spec.nodeClassRef.name))
  return schedulingSnapshot(
    {
      ...objects,
      nodePools: known,
      daemonSets: [...daemonSets.values()],
      instanceTypes: new Map(known.map((nodePool) => [nodePool.metadata.name, instanceTypesOf(deps, nodePool)])),
    },
    { now: deps.now() },
  )
}

function objectsOf({ cache }: PlanningDeps) {
  return {
    pods: [...cache.pods.values()],
    nodes: [...cache.nodes.values()],
    nodeClaims: [...cache.nodeClaims.values()],
    podDisruptionBudgets: [...cache.podDisruptionBudgets.values()],
  }
}

const hasNodeClass = ({ cache }: PlanningDeps, name: string) => cache.nodeClasses.get(name) !== undefined

function instanceTypesOf({ cache, catalogue }: PlanningDeps, nodePool: NodePool): readonly InstanceType[] {
  const nodeClass = cache.nodeClasses.get(nodePool.template.spec.nodeClassRef.name)
  if (nodeClass === undefined) return []
  return catalogue.instanceTypesFor(nodeClass, kubeletConversion(nodePool.metadata.annotations))
}
