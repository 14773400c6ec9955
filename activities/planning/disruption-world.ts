import type { EvaluationSettings } from '../../core/disruption/evaluate.ts'
import { type DisruptionWorld, disruptionWorld } from '../../core/disruption/world.ts'
import { wellKnownLabels } from '../../core/labels.ts'
import type { Pauses } from '../../core/pauses.ts'
import type { PlanningDeps } from './dependencies.ts'
import { podsToPlace } from './planning-snapshot.ts'
import { instanceTypes } from './solve.ts'

export interface WorldOptions {
  readonly pauses: Pauses
  /** A command that is being committed. */
  readonly commandId?: string
  /** Names of NodeClaims that proposals speak for. */
  readonly spokenFor?: ReadonlySet<string>
}

/** The cluster as disruption sees it, from the cache at this moment. */
export function worldOf(deps: PlanningDeps, { pauses, ...own }: WorldOptions): DisruptionWorld {
  const { cache } = deps
  // A pod that was bound, or is gone, keeps no node any more.
  deps.nominations.keepOnly(new Set(podsToPlace(deps).map((pod) => pod.metadata.uid)))
  const { view, simulator } = disruptionWorld(
    {
      pods: [...cache.pods.values()],
      nodes: [...cache.nodes.values()],
      nodeClaims: [...cache.nodeClaims.values()],
      nodePools: [...cache.nodePools.values()],
      daemonSets: [...cache.daemonSets.values()],
      podDisruptionBudgets: [...cache.podDisruptionBudgets.values()],
      namespaces: [...cache.namespaces.values()],
      services: [...cache.services.values()],
      controllers: [
        ...cache.replicaSets.values(),
        ...cache.statefulSets.values(),
        ...cache.replicationControllers.values(),
      ],
      persistentVolumeClaims: [...cache.persistentVolumeClaims.values()],
      persistentVolumes: [...cache.persistentVolumes.values()],
      storageClasses: [...cache.storageClasses.values()],
      csiNodes: [...cache.csiNodes.values()],
      instanceTypes: instanceTypes(deps),
    },
    {
      now: deps.now(),
      defaultSpread: deps.scheduling.defaultSpread,
      scheduling: deps.scheduling,
      nominated: deps.nominations.targets(deps.now()),
    },
  )
  return { view: { ...view, pauses, ...own }, simulator }
}

/** How nodes are disrupted, as the process was told. */
export function evaluationSettings(deps: PlanningDeps): EvaluationSettings {
  return {
    instanceTypes: instanceTypes(deps),
    wellKnown: wellKnownLabels,
    scheduling: deps.scheduling,
    spotToSpot: false,
    terminateFirst: false,
    maxMultiNodeCandidates: Number.POSITIVE_INFINITY,
    clock: deps.now,
  }
}
